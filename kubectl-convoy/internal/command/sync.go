// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// newSync is `kubectl convoy sync`.
func newSync(env *environment) *cobra.Command {
	var force, wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "sync RELEASE",
		Short: "Ask for a sync of a Release",
		Long: "Ask for a sync of a Release: its source is looked at now, and every object is applied once more.\n\n" +
			"With --force, objects whose immutable fields changed are deleted and created again.\n" +
			"With --wait, the command ends when the sync is done and the Release is Ready, or with status 1 when\n" +
			"it is not within --timeout. What the sync waits for is told on the standard error stream; where a\n" +
			"person has to approve it, with the command that does. A Release that is suspended is not waited for.",
		Example:           "  kubectl convoy sync web\n  kubectl convoy sync web --wait --timeout 2m\n  kubectl convoy sync web --force",
		Args:              oneRelease,
		ValidArgsFunction: env.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, namespace, err := env.connect()
			if err != nil {
				return err
			}
			release, err := client.CoreV1alpha1().Releases(namespace).Sync(cmd.Context(), args[0], corev1alpha1.ReleaseSyncOptions{Force: force})
			if err != nil {
				return fmt.Errorf("sync of Release %s/%s: %w", namespace, args[0], err)
			}
			fmt.Fprintf(env.Out, "release.core.convoy.kumodo.io/%s sync requested\n", release.Name)
			if !wait {
				return nil
			}
			return env.waitForSync(cmd.Context(), client, release, timeout)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "Delete and create again the objects whose immutable fields changed.")
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait until the Release is Ready.")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "How long to wait, with --wait.")
	return cmd
}
