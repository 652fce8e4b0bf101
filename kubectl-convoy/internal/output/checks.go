// SPDX-License-Identifier: Apache-2.0

package output

import (
	"io"

	"kumodo.io/convoy/kubectl-convoy/internal/check"
)

// Checks writes a report, a line for each check below its section, and under what failed what to do.
func Checks(w io.Writer, report *check.Report) error {
	lines := &lineWriter{w: w}
	colour := TakesColour(w)
	marks := map[check.Status]string{
		check.OK: paint("✔", Good, colour), check.Failed: paint("✗", Bad, colour), check.Skipped: paint("-", Faint, colour),
	}
	section := ""
	for _, one := range report.Checks {
		if one.Section != section {
			if section != "" {
				lines.print("")
			}
			section = one.Section
			lines.print("%s", paint(section, Bold, colour))
		}
		lines.print("%s %s", marks[one.Status], oneLine(one.Message))
		if one.Do != "" {
			lines.print("    → %s", one.Do)
		}
	}
	return lines.err
}
