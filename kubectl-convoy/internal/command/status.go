// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newStatus is `kubectl convoy status`.
func newStatus(env *environment) *cobra.Command {
	var format string
	var allNamespaces bool
	cmd := &cobra.Command{
		Use:   "status [RELEASE]",
		Short: "Show the state of one Release, or of all",
		Long: "Show the state of one Release: its conditions, what it waits for, and its objects that are not\n" +
			"healthy. Without a name, show one line for each Release of the namespace.",
		Example:           "  kubectl convoy status\n  kubectl convoy status -A\n  kubectl convoy status web",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: env.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, namespace, err := env.connect()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if allNamespaces {
					namespace = metav1.NamespaceAll
				}
				releases, err := client.CoreV1alpha1().Releases(namespace).List(cmd.Context(), metav1.ListOptions{})
				if err != nil {
					return err
				}
				if err := setKind(releases); err != nil {
					return err
				}
				return output.Print(env.Out, format, releases, func(w io.Writer) error { return output.Releases(w, releases, allNamespaces) })
			}
			release, err := client.CoreV1alpha1().Releases(namespace).Get(cmd.Context(), args[0], metav1.GetOptions{})
			if err != nil {
				return err
			}
			if err := setKind(release); err != nil {
				return err
			}
			inventory, err := client.CoreV1alpha1().ReleaseInventories(namespace).Get(cmd.Context(), args[0], metav1.GetOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
				inventory, err = nil, nil
			}
			if err != nil {
				return err
			}
			return output.Print(env.Out, format, release, func(w io.Writer) error { return output.Release(w, release, inventory) })
		},
	}
	output.AddFlag(cmd, &format)
	cmd.Flags().BoolVarP(&allNamespaces, "all-namespaces", "A", false, "Show the Releases of all namespaces.")
	return cmd
}
