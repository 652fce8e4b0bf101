// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/proxy"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
)

// Reader reads Releases of the namespace in the context.
type Reader interface {
	Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error)
	List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error)
}

// lateReader is a Reader for a storage that is built after what reads from it. Nothing is
// read before the server serves.
type lateReader struct {
	Reader
}

// NewStorage gives the storages of the kind, by resource and subresource, and what reads
// Releases for others.
func NewStorage(backend resource.Backend, shards shardlabel.Labeler, observer *proxy.Proxy) (map[string]rest.Storage, Reader, error) {
	reader := &lateReader{}
	described := kind(shards, reader)
	whole, status, err := resource.NewStorage(described, backend)
	if err != nil {
		return nil, nil, err
	}
	reader.Reader = whole
	storages := map[string]rest.Storage{
		"releases":           whole,
		"releases/status":    status,
		"releases/sync":      &syncREST{releases: whole, clock: backend.Clock},
		"releases/pin":       resource.NewPartStorage(described, whole, pinPart()),
		"releases/mutations": resource.NewPartStorage(described, whole, mutationsPart()),
		"releases/lifecycle": resource.NewPartStorage(described, whole, lifecyclePart(backend.Clock)),
	}
	for _, o := range observed(whole, observer) {
		storages["releases/"+o.subresource] = o
	}
	return storages, reader, nil
}

func pinPart() resource.Part[*corev1alpha1.Release] {
	return resource.Part[*corev1alpha1.Release]{
		Path: []string{"spec", "pin"},
		Take: func(to, from *corev1alpha1.Release) { to.Spec.Pin = from.Spec.Pin },
	}
}

func mutationsPart() resource.Part[*corev1alpha1.Release] {
	return resource.Part[*corev1alpha1.Release]{
		Path: []string{"spec", "mutations"},
		Take: func(to, from *corev1alpha1.Release) { to.Spec.Mutations = from.Spec.Mutations },
	}
}
