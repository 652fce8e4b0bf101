// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"

	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Requester asks the host cluster for what the generated client has no methods for.
type Requester interface {
	// Sync asks for a sync of a Release and gives the Release as it is then.
	Sync(ctx context.Context, namespace, name string) (*corev1alpha1.Release, error)
	// WriteLifecycle writes status.lifecycle of a Release at its resourceVersion.
	WriteLifecycle(ctx context.Context, release *corev1alpha1.Release) error
}

// NewRequester makes a Requester of a client for core.convoy.kumodo.io.
func NewRequester(client rest.Interface) Requester {
	return subresources{client: client}
}

type subresources struct{ client rest.Interface }

func (s subresources) Sync(ctx context.Context, namespace, name string) (*corev1alpha1.Release, error) {
	release := &corev1alpha1.Release{}
	err := s.client.Post().Namespace(namespace).Resource("releases").Name(name).SubResource("sync").Do(ctx).Into(release)
	return release, err
}

func (s subresources) WriteLifecycle(ctx context.Context, release *corev1alpha1.Release) error {
	return s.client.Put().Namespace(release.Namespace).Resource("releases").Name(release.Name).SubResource("lifecycle").
		Body(release).Do(ctx).Error()
}
