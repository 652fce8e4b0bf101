// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
)

// oneOfReleases is a Release that a command is about to change, in both forms: what is not
// known to this version of the plugin is kept in the other one.
type oneOfReleases struct {
	chosen
	release *corev1alpha1.Release
	client  dynamic.Interface
}

// changeRelease runs a command that changes one Release: change gets the Release as it is, and
// the arguments behind its name.
func (e *environment) changeRelease(flags *changeFlags, change func(ctx context.Context, release *oneOfReleases, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := flags.check(); err != nil {
			return err
		}
		release, err := e.release(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return change(cmd.Context(), release, args[1:])
	}
}

// seeRelease runs a command that shows something of one Release.
func (e *environment) seeRelease(see func(ctx context.Context, client versioned.Interface, namespace, name string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, namespace, err := e.connect()
		if err != nil {
			return err
		}
		return see(cmd.Context(), client, namespace, args[0])
	}
}

// release reads the Release that a command is about to change.
func (e *environment) release(ctx context.Context, name string) (*oneOfReleases, error) {
	client, namespace, err := e.connectAnyKind()
	if err != nil {
		return nil, err
	}
	object, err := client.Resource(releaseKind.resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("Release %s/%s: %w", namespace, name, err)
	}
	release, err := typed[corev1alpha1.Release](object)
	if err != nil {
		return nil, err
	}
	return &oneOfReleases{chosen{releaseKind, object}, release, client}, nil
}

// inventory reads the pages of a Release's inventory: it may have several, each an object.
func inventory(ctx context.Context, client versioned.Interface, namespace, name string) ([]corev1alpha1.ReleaseInventory, error) {
	pages, err := client.CoreV1alpha1().ReleaseInventories(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.releaseRef.name=" + name})
	if err != nil {
		return nil, fmt.Errorf("inventory of Release %s/%s: %w", namespace, name, err)
	}
	return pages.Items, nil
}
