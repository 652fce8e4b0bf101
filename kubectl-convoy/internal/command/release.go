// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

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
