// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kumodo.io/convoy/e2e/bench/parallel"
)

// requestsAtOnce is how many requests convoy has under way to one cluster at most, as it is
// configured by default: --cluster-concurrency Releases of --apply-concurrency objects.
const requestsAtOnce = 8 * 8

// applyBare applies objects as they are, and gives the time it takes.
func (t *trial) applyBare(ctx context.Context, objects []*unstructured.Unstructured) (time.Duration, error) {
	started := time.Now()
	err := parallel.Do(ctx, requestsAtOnce, len(objects), func(ctx context.Context, n int) error {
		object := objects[n]
		_, err := t.resource(object).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "bare", Force: true})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("apply by the bare client: %w", err)
	}
	return time.Since(started), nil
}

// deleteBare deletes objects.
func (t *trial) deleteBare(ctx context.Context, objects []*unstructured.Unstructured) error {
	return parallel.Do(ctx, requestsAtOnce, len(objects), func(ctx context.Context, n int) error {
		return t.resource(objects[n]).Delete(ctx, objects[n].GetName(), metav1.DeleteOptions{})
	})
}

func (t *trial) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	gvk := object.GroupVersionKind()
	plural := strings.ToLower(gvk.Kind) + "s"
	return t.target.Resource(schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: plural}).Namespace(object.GetNamespace())
}
