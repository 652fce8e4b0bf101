// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newValues is `kubectl convoy values`.
func newValues(env *environment) *cobra.Command {
	var revision, format string
	var all, showOrigin bool
	cmd := &cobra.Command{
		Use:   "values RELEASE",
		Short: "Show the values that a Release's chart is rendered with",
		Long: "Show the values that the chart of a Release is rendered with, as YAML: those of valuesFiles, valuesFrom\n" +
			"and values, merged. With --all, the chart's own defaults too; with --show-origin, which of them set\n" +
			"each value. What comes from a Secret is masked. Nothing is rendered.",
		Example:           "  kubectl convoy values web\n  kubectl convoy values web --show-origin\n  kubectl convoy values web --all --revision v1.2.0 -o json",
		Args:              oneRelease,
		ValidArgsFunction: env.completeRelease,
		RunE: env.seeRelease(func(ctx context.Context, client versioned.Interface, namespace, name string) error {
			values, err := client.CoreV1alpha1().Releases(namespace).Values(ctx, name, corev1alpha1.ReleaseValuesOptions{Revision: revision})
			if err != nil {
				return fmt.Errorf("values of Release %s/%s: %w", namespace, name, err)
			}
			if err := setKind(values); err != nil {
				return err
			}
			if !all {
				if err := output.WithoutDefaults(values); err != nil {
					return err
				}
			}
			return output.Print(env.Out, format, values, func(w io.Writer) error {
				switch {
				case len(values.Origins) > 0:
					return output.Values(w, values, showOrigin)
				case all:
					fmt.Fprintf(env.ErrOut, "The chart of Release %s/%s has no values.\n", namespace, name)
				default:
					fmt.Fprintf(env.ErrOut, "Release %s/%s sets no values; --all shows the chart's own.\n", namespace, name)
				}
				return nil
			})
		}),
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "Show the defaults of the chart and its subcharts too.")
	cmd.Flags().BoolVar(&showOrigin, "show-origin", false, "Show behind each value which file, object or field set it. With --output it is there in any case.")
	cmd.Flags().StringVar(&revision, "revision", "", "Revision of the source, in any form that status.source.revision takes; by default what a sync would take now.")
	output.AddFlag(cmd, &format)
	return cmd
}
