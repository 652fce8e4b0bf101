// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newCheck is `kubectl convoy check`.
func newCheck(env *environment) *cobra.Command {
	var from installation
	var before bool
	var format string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check whether convoy can be installed, or whether all of it works",
		Long: "Check whether all of convoy works: its API, its processes, who works on which shard, etcd, certificates, and\n" +
			"whether Clusters and sources answer. With --pre, before an installation, whether the host is fit for it and you\n" +
			"have the rights. What fails is told with what to do, and makes the exit status 1; what you may not read is\n" +
			"skipped (-). Nothing is changed.",
		Example:           "  kubectl convoy check --pre\n  kubectl convoy check\n  kubectl convoy check -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := from.dial(env); err != nil {
				return err
			}
			checker := &checker{installation: &from}
			checker.host(cmd.Context(), before)
			if !before {
				checker.installed(cmd.Context())
			}
			report := &checker.report
			if err := output.Print(env.Out, format, report, func(w io.Writer) error { return output.Checks(w, report) }); err != nil {
				return err
			}
			if report.Failed > 0 {
				return fmt.Errorf("%d of %s failed", report.Failed, output.Count(len(report.Checks), "check"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&before, "pre", false, "Check what an installation needs, before there is one.")
	from.addFlags(cmd, env)
	output.AddFlag(cmd, &format)
	return cmd
}
