// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// writeStatus writes the status if it says something new. A Release that was deleted
// meanwhile is no error.
func (c *Controller) writeStatus(ctx context.Context, s *scope) error {
	if equality.Semantic.DeepEqual(s.sync(), &corev1alpha1.SyncStatus{}) {
		s.release.Status.Sync = nil
	}
	if sameStatus(s.before, &s.release.Status) {
		return nil
	}
	written, err := c.config.Client.CoreV1alpha1().Releases(s.key.Namespace).UpdateStatus(ctx, s.release, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status of Release %s: %w", s.key, err)
	}
	c.latestReleases.wrote(written)
	return nil
}

// sameStatus compares all but when the source was last looked at, which alone is not worth
// a write.
func sameStatus(a, b *corev1alpha1.ReleaseStatus) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, status := range []*corev1alpha1.ReleaseStatus{a, b} {
		if status.Source != nil {
			status.Source.CheckedAt = nil
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}

// patchFinalizers replaces the Release's finalizers. The scope goes on with the metadata
// that the API server answered with.
func (c *Controller) patchFinalizers(ctx context.Context, s *scope, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": s.release.UID, "resourceVersion": s.release.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return fmt.Errorf("encoding the finalizers of Release %s: %w", s.key, err)
	}
	patched, err := c.config.Client.CoreV1alpha1().Releases(s.key.Namespace).
		Patch(ctx, s.key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("writing the finalizers of Release %s: %w", s.key, err)
	}
	c.latestReleases.wrote(patched)
	s.release.ObjectMeta = *patched.ObjectMeta.DeepCopy()
	return nil
}
