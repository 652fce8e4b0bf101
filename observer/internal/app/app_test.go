// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"kumodo.io/convoy/doctest"
)

func TestPageTellsOfEveryFlag(t *testing.T) {
	cmd := NewCommand()
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	doctest.Flags(t, "docs/binaries/convoy-observer.md", cmd.Flags(), cmd.Flags())
	doctest.Reference(t, "docs/binaries/convoy-observer-flags.md", `# All flags of convoy-observer

As `+"`--help`"+` tells them. What there is to know of them is in [convoy-observer.md](convoy-observer.md).
`, []doctest.Section{{Title: "Flags", Flags: cmd.Flags()}})
}

func TestPagesNameFlagsThatThereAre(t *testing.T) {
	doctest.CommandLines(t, "convoy-observer", NewCommand)
}
