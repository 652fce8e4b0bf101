// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/spf13/cobra"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Version of this binary; set by the linker in a release build.
var Version = "v0.9.0"

// newVersion is `kubectl convoy version`.
func newVersion(env *environment) *cobra.Command {
	var clientOnly bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of the plugin and of the host cluster",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(env.Out, "Client: %s\n", Version)
			if clientOnly {
				return nil
			}
			client, _, err := env.connect()
			if err != nil {
				return err
			}
			server, err := client.Discovery().ServerVersion()
			if err != nil {
				return fmt.Errorf("version of the host cluster: %w", err)
			}
			fmt.Fprintf(env.Out, "Host cluster: %s\n", server.GitVersion)
			groupVersion := corev1alpha1.SchemeGroupVersion.String()
			if _, err := client.Discovery().ServerResourcesForGroupVersion(groupVersion); err != nil {
				return fmt.Errorf("%s is not served by the host cluster, is convoy installed there? %w", groupVersion, err)
			}
			fmt.Fprintf(env.Out, "API: %s\n", groupVersion)
			return nil
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "Show the version of the plugin only; ask no server.")
	return cmd
}
