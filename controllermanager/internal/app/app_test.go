// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"kumodo.io/convoy/internal/doctest"
)

func TestPageTellsOfEveryFlag(t *testing.T) {
	cmd := NewCommand()
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	doctest.Flags(t, "docs/binaries/convoy-controller-manager.md", cmd.Flags(), cmd.Flags())
}
