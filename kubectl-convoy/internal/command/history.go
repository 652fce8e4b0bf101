// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newHistory is `kubectl convoy history`.
func newHistory(env *environment) *cobra.Command {
	var id string
	var flags output.TableFlags
	cmd := &cobra.Command{
		Use:   "history RELEASE",
		Short: "Show what a Release applied before",
		Long: "Show the past renders of a Release and how each ended, newest first. With --id, show the objects of\n" +
			"one of them as they were rendered; values of Secrets are masked.",
		Example:           "  kubectl convoy history web\n  kubectl convoy history web --id 3",
		Args:              oneRelease,
		ValidArgsFunction: env.completeRelease,
		RunE: env.seeRelease(func(ctx context.Context, client versioned.Interface, namespace, name string) error {
			history, err := client.CoreV1alpha1().Releases(namespace).History(ctx, name, corev1alpha1.ReleaseHistoryOptions{ID: id})
			if err != nil {
				return fmt.Errorf("history of Release %s/%s: %w", namespace, name, err)
			}
			if err := setKind(history); err != nil {
				return err
			}
			if flags.ForPeople() {
				switch {
				case id != "" && len(history.Objects) == 0:
					fmt.Fprintf(env.ErrOut, "History id %s has no objects.\n", id)
					return nil
				case id != "":
					return output.Documents(env.Out, history.Objects)
				case len(history.Entries) == 0:
					fmt.Fprintf(env.ErrOut, "Release %s/%s has no history yet.\n", namespace, name)
					return nil
				}
			}
			return flags.Print(env.Out, history, func() *output.Table { return output.History(history) })
		}),
	}
	cmd.Flags().StringVar(&id, "id", "", "Id of one entry, whose objects are shown.")
	_ = cmd.RegisterFlagCompletionFunc("id", env.completeHistory)
	flags.Add(cmd)
	return cmd
}
