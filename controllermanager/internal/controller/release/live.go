// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
)

// readLive reads an object of the target; nil when it, or its kind, does not exist.
func readLive(ctx context.Context, target Target, key corev1alpha1.ObjectKey) (*unstructured.Unstructured, error) {
	mapping, err := target.Mapping(ctx, kindOf(key))
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, clusterconn.Classify(err)
	}
	var client dynamic.ResourceInterface = target.Dynamic().Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = target.Dynamic().Resource(mapping.Resource).Namespace(key.Namespace)
	}
	live, err := client.Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", objectName(key), clusterconn.Classify(err))
	}
	return live, nil
}
