// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kumodo.io/convoy/doctest"
)

func rootCommand() *cobra.Command { return newRoot(genericiooptions.NewTestIOStreamsDiscard()) }

func TestPageTellsOfEveryCommand(t *testing.T) {
	doctest.Manual(t, "docs/binaries/kubectl-convoy-commands.md", `# All commands and flags of kubectl convoy

As `+"`--help`"+` tells them. What they do in more words, with the flags of all commands, is in [kubectl-convoy.md](kubectl-convoy.md).
`, rootCommand())
}

func TestPagesNameCommandsThatThereAre(t *testing.T) {
	doctest.CommandLines(t, "kubectl convoy", rootCommand)
}
