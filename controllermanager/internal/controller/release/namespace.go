// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
)

var namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// createNamespace creates the target namespace where that is wanted and something is about
// to be applied: objects, those that a request makes due, or hooks. The namespace is not the
// Release's: it is in no inventory and is never pruned.
func (c *Controller) createNamespace(ctx context.Context, s *scope) outcome {
	due := len(s.unapplied()) > 0 || !s.requestWrittenAhead() || len(s.result.Hooks) > 0 && s.runsHooks(corev1alpha1.HookPreSync)
	if !s.release.Spec.CreateNamespace || !due {
		return next()
	}
	name := s.release.Spec.TargetNamespace
	if name == "" {
		name = s.release.Namespace
	}
	if err := ensureNamespace(ctx, s.target, name); err != nil {
		err = fmt.Errorf("creating namespace %s on the target: %w", name, clusterconn.Classify(err))
		return fail(corev1alpha1.ConditionApplied, targetReason(err), err)
	}
	return next()
}

// ensureNamespace creates a namespace that does not exist. An identity that may not create
// namespaces is no hindrance where it exists, nor where that cannot be told because the identity
// may not read it either: then the objects tell.
func ensureNamespace(ctx context.Context, target Target, name string) error {
	namespaces := target.Dynamic().Resource(namespaceResource)
	_, readErr := namespaces.Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(readErr) && !apierrors.IsForbidden(readErr) {
		return readErr
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	namespace.SetName(name)
	_, err := namespaces.Create(ctx, namespace, metav1.CreateOptions{FieldManager: corev1alpha1.FieldManager})
	if apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) && apierrors.IsForbidden(readErr) {
		return nil
	}
	return err
}
