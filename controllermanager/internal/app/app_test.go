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
	doctest.Flags(t, "docs/binaries/convoy-controller-manager.md", cmd.Flags(), cmd.Flags())
	doctest.Reference(t, "docs/binaries/convoy-controller-manager-flags.md", `# All flags of convoy-controller-manager

As `+"`--help`"+` tells them. What there is to know of them is in [convoy-controller-manager.md](convoy-controller-manager.md).
`, []doctest.Section{{Title: "Flags", Flags: cmd.Flags()}})
}

func TestPagesNameFlagsThatThereAre(t *testing.T) {
	doctest.CommandLines(t, "convoy-controller-manager", NewCommand)
}
