// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/stand"
)

// compared gives a comparison for each measure of an operation; the first has the costs.
func compared(o operation, ours, reference *record) []report.Comparison {
	var result []report.Comparison
	for i, m := range o.measures {
		c := report.Compare(o.name, m.name, "ms", ours.samples[i], reference.samples[i])
		c.Target = m.target
		if i == 0 {
			c.Costs = costs(ours, reference)
		}
		result = append(result, c)
	}
	return result
}

// costs gives those of one operation: the median over the rounds, so that what the servers
// do of their own accord now and then is not counted. Less than nothing is nothing.
func costs(ours, reference *record) []report.Cost {
	var result []report.Cost
	for _, key := range slices.SortedFunc(maps.Keys(ours.costs[0]), compareKeys) {
		result = append(result, report.Cost{Of: key.Of, What: key.What, Unit: key.Unit,
			Ours: max(0, ours.cost(key)), Reference: max(0, reference.cost(key))})
	}
	return result
}

func (r *record) cost(key meter.Key) float64 {
	var rounds []float64
	for _, costs := range r.costs {
		rounds = append(rounds, costs[key])
	}
	return report.Median(rounds)
}

func compareKeys(a, b meter.Key) int {
	return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.What, b.What))
}

// profile writes profiles of the servers while an operation runs on each subject, if that is
// asked for.
func (t *trial) profile(ctx context.Context, o operation) error {
	if t.settings.Profile == "" {
		return nil
	}
	n := 1 << 20 // beyond the numbers of the rounds
	for _, s := range t.both(0) {
		var answer bytes.Buffer
		err := stand.Profile(ctx, t.settings.Profile, o.name+"-"+s.name, profileTime, t.servers, func(ctx context.Context) error {
			n++
			_, err := o.do(ctx, s, &answer, n)
			return err
		})
		if err != nil {
			return err
		}
		if o.after != nil {
			if err := o.after(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}
