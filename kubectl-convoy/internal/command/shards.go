// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"

	"github.com/spf13/cobra"

	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newShards is `kubectl convoy shards`.
func newShards(env *environment) *cobra.Command {
	var from installation
	var format string
	cmd := &cobra.Command{
		Use:   "shards",
		Short: "Show who works on which shard, and how much",
		Long: "Show which replica of convoy-controller-manager and of convoy-observer works on which shard, how many Clusters\n" +
			"and Releases each has, and what is wrong with that: shards on which nobody works, replicas with different\n" +
			"numbers of shards, and Clusters with so many Releases that they weigh more than the share of a replica.\n\n" +
			"A replica that has not been heard of for a minute, by the clock of this machine, counts for gone.",
		Example:           "  kubectl convoy shards\n  kubectl convoy shards -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := from.dial(env); err != nil {
				return err
			}
			report, err := from.sharding(cmd.Context())
			if err != nil {
				return err
			}
			return output.Print(env.Out, format, report, func(w io.Writer) error { return output.Shards(w, report) })
		},
	}
	from.addFlags(cmd, env)
	output.AddFlag(cmd, &format)
	return cmd
}
