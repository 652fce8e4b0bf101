// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newHealth is `kubectl convoy health`.
func newHealth(env *environment) *cobra.Command {
	var format string
	var tree bool
	cmd := &cobra.Command{
		Use:   "health RELEASE",
		Short: "Show how each object of a Release is, and which rule says so",
		Long: "Show how each object of a Release is now, why, since when, and which rule says so: one of a HealthRuleSet\n" +
			"or GlobalHealthRuleSet, or what is built in.\n\n" +
			"A Release that is called test is asked for with: kubectl convoy health -- test\n\n" +
			"Exit status: 0 when all objects are healthy or suspended, 1 when one is not, 2 when it could not be told.",
		Example:           "  kubectl convoy health web\n  kubectl convoy health web --tree",
		Args:              asError(oneRelease),
		ValidArgsFunction: env.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			health, err := compare(env, args[0], "health", func(releases releaseInterface, name string) (*corev1alpha1.ReleaseHealth, error) {
				return releases.Health(cmd.Context(), name, corev1alpha1.ReleaseHealthOptions{Tree: tree})
			})
			if err != nil {
				return err
			}
			err = output.Print(env.Out, format, health, func(w io.Writer) error { return output.Health(w, health) })
			if err != nil {
				return &exitCode{exitError, err}
			}
			return wellness(health)
		},
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "Show under each object those that it owns in turn, as ReplicaSets, Pods and Jobs. They do not count.")
	output.AddFlag(cmd, &format)
	cmd.AddCommand(newHealthTest(env))
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitCode{exitError, err} })
	return cmd
}

// wellness is the exit code of a Release's health. What nobody knows is never well.
func wellness(health *corev1alpha1.ReleaseHealth) error {
	switch health.Status {
	case corev1alpha1.HealthHealthy, corev1alpha1.HealthSuspended:
		return nil
	case corev1alpha1.HealthUnknown:
		if health.Summary.Unknown == 0 {
			return &exitCode{exitError, fmt.Errorf("nothing of Release %s/%s is applied yet", health.Namespace, health.Name)}
		}
		return &exitCode{exitError, fmt.Errorf("the health of %s is not known", output.Count(int(health.Summary.Unknown), "object"))}
	}
	return &exitCode{exitDifferent, nil}
}
