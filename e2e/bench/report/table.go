// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// negligible are costs that the tables leave out.
const negligible = 0.05

// Print writes the report as tables: times and ratios, what each operation costs, and the
// other figures.
func (r *Report) Print(to io.Writer) error {
	fmt.Fprintf(to, "\n%s %s: %s\n", r.ID, r.Name, r.About)
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		fmt.Fprintf(to, "%s: %v\n", name, r.Settings[name])
	}
	for _, part := range []func(io.Writer){r.printTimes, r.printCosts, r.printFigures} {
		table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
		part(table)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) printTimes(to io.Writer) {
	if len(r.Comparisons) == 0 {
		return
	}
	fmt.Fprintf(to, "\n%s against %s\n", r.Ours, r.Reference)
	row(to, "work", "measure", "unit", "n", "p50 ours", "p50 ref", "p99 ours", "p99 ref", "ratio p50", "(rounds)", "ratio p99", "target")
	for _, c := range r.Comparisons {
		target := ""
		if c.Target > 0 {
			target = "<= " + number(c.Target)
		}
		if c.Missed() {
			target += " missed"
		}
		row(to, c.Work, c.Measure, c.Unit, strconv.Itoa(c.Ours.Count), number(c.Ours.P50), number(c.Reference.P50),
			number(c.Ours.P99), number(c.Reference.P99), ratioText(c.P50), ratioText(c.Lowest)+".."+ratioText(c.Highest), ratioText(c.P99), target)
	}
}

func (r *Report) printCosts(to io.Writer) {
	headed := false
	for _, c := range r.Comparisons {
		for _, cost := range c.Costs {
			if max(cost.Ours, cost.Reference) < negligible {
				continue
			}
			if !headed {
				fmt.Fprintln(to, "\ncost of one operation")
				row(to, "work", "of", "what", "unit", "ours", "ref")
				headed = true
			}
			row(to, c.Work, cost.Of, cost.What, cost.Unit, number(cost.Ours), number(cost.Reference))
		}
	}
}

func (r *Report) printFigures(to io.Writer) {
	if len(r.Figures) == 0 {
		return
	}
	fmt.Fprintln(to, "\nfigures")
	row(to, "of", "what", "unit", "value")
	for _, f := range r.Figures {
		row(to, f.Of, f.What, f.Unit, number(f.Value))
	}
}

func row(to io.Writer, cells ...string) {
	fmt.Fprintln(to, strings.Join(cells, "\t")+"\t")
}

// number shows three digits at least, and none that means nothing.
func number(value float64) string {
	switch size := max(value, -value); {
	case size == 0:
		return "0"
	case size >= 100:
		return strconv.FormatFloat(value, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	case size >= 0.1:
		return strconv.FormatFloat(value, 'f', 2, 64)
	default:
		return strconv.FormatFloat(value, 'g', 2, 64)
	}
}

func ratioText(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return strconv.FormatFloat(ratio, 'f', 2, 64)
}
