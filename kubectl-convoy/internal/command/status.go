// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
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
		ValidArgsFunction: env.completeRelease,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return oneRelease(cmd, args)
			case len(args) == 1 && allNamespaces:
				return fmt.Errorf("a Release is in one namespace: give its name with --namespace, or --all-namespaces without a name")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, namespace, err := env.connect()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return env.statusOf(cmd.Context(), client, namespace, args[0], format)
			}
			if allNamespaces {
				namespace = metav1.NamespaceAll
			}
			return env.statusOfAll(cmd.Context(), client, namespace, format)
		},
	}
	output.AddFlag(cmd, &format)
	cmd.Flags().BoolVarP(&allNamespaces, "all-namespaces", "A", false, "Show the Releases of all namespaces.")
	return cmd
}

func (e *environment) statusOfAll(ctx context.Context, client versioned.Interface, namespace, format string) error {
	releases, err := client.CoreV1alpha1().Releases(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := setKind(releases); err != nil {
		return err
	}
	return output.Print(e.Out, format, releases, func(w io.Writer) error {
		switch {
		case len(releases.Items) > 0:
			return output.Releases(w, releases, namespace == metav1.NamespaceAll)
		case namespace == metav1.NamespaceAll:
			fmt.Fprintln(e.ErrOut, "No Releases found.")
		default:
			fmt.Fprintf(e.ErrOut, "No Releases found in namespace %s.\n", namespace)
		}
		return nil
	})
}

func (e *environment) statusOf(ctx context.Context, client versioned.Interface, namespace, name, format string) error {
	release, err := client.CoreV1alpha1().Releases(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("status of Release %s/%s: %w", namespace, name, err)
	}
	if err := setKind(release); err != nil {
		return err
	}
	// An inventory may have several pages, each an object.
	pages, err := client.CoreV1alpha1().ReleaseInventories(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.releaseRef.name=" + name})
	if apierrors.IsForbidden(err) {
		pages, err = &corev1alpha1.ReleaseInventoryList{}, nil
	}
	if err != nil {
		return fmt.Errorf("inventory of Release %s/%s: %w", namespace, name, err)
	}
	return output.Print(e.Out, format, release, func(w io.Writer) error { return output.Release(w, release, pages.Items) })
}
