// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"regexp"
	"strings"

	"kumodo.io/convoy/doctest"
)

// step is a block of commands of a page, and what it shows.
type step struct {
	doctest.Block
	// shows are lines of the output, in this order, with … for whatever.
	shows []string
}

// steps gives the commands of a page in their order. A block of text behind one is its output.
func steps(page, text string) ([]step, error) {
	var all []step
	for _, block := range doctest.Blocks(page, text) {
		switch {
		case block.Language == "sh":
			all = append(all, step{Block: block})
		case block.Language == "text" && len(all) > 0 && all[len(all)-1].shows == nil:
			all[len(all)-1].shows = strings.Split(strings.TrimSpace(block.Text), "\n")
		default:
			return nil, fmt.Errorf("%s:%d: a block that is neither commands nor their output", page, block.Line)
		}
	}
	return all, nil
}

// mark begins the output of a step.
const mark = "@@ line "

// script gives the steps as one, which ends at the first that fails. What stands before a block,
// as <!-- exit: 1 -->, is the status with which its last command has to end.
func script(all []step) string {
	var out strings.Builder
	out.WriteString("set -euo pipefail\n")
	for _, step := range all {
		fmt.Fprintf(&out, "printf '\\n%s%%d\\n' %d\n", mark, step.Line)
		status := exitPattern.FindStringSubmatch(step.Remark)
		if status == nil {
			out.WriteString(step.Text)
			continue
		}
		fmt.Fprintf(&out, "status=0\n{\n%s} || status=$?\ntest \"$status\" = %s\n", step.Text, status[1])
	}
	return out.String()
}

var exitPattern = regexp.MustCompile(`^<!-- exit: ([0-9]+) -->$`)

// missing gives the first line that an output has not after those before it, "" when it has all.
func missing(output string, lines []string) string {
	for _, line := range lines {
		var pattern strings.Builder
		for i, word := range strings.Fields(line) {
			if i > 0 {
				pattern.WriteString(`\s+`)
			}
			pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(word), "…", ".*"))
		}
		place := regexp.MustCompile(`(?m)^\s*` + pattern.String() + `\s*$`).FindStringIndex(output)
		if place == nil {
			return line
		}
		output = output[place[1]:]
	}
	return ""
}
