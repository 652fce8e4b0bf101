// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"github.com/spf13/cobra"

	"kumodo.io/convoy/doctest"
)

func TestPagesNameFlagsThatThereAre(t *testing.T) {
	doctest.CommandLines(t, "convoy-apiserver", func() *cobra.Command {
		cmd, err := NewCommand()
		if err != nil {
			t.Fatal(err)
		}
		return cmd
	})
}
