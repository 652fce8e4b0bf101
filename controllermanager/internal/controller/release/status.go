// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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
	releases := c.config.Client.CoreV1alpha1().Releases(s.key.Namespace)
	for tries := 0; ; tries++ {
		written, err := releases.UpdateStatus(ctx, s.release, metav1.UpdateOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			c.latestReleases.wrote(written)
			return nil
		case !apierrors.IsConflict(err) || tries == maxStatusTries:
			return fmt.Errorf("writing the status of Release %s: %w", s.key, err)
		}
		current, getErr := releases.Get(ctx, s.key.Name, metav1.GetOptions{})
		if getErr != nil || !s.goesOnTopOf(current) {
			return fmt.Errorf("writing the status of Release %s: %w", s.key, err)
		}
	}
}

// maxStatusTries is how often a status is written again on top of what others wrote.
const maxStatusTries = 5

// goesOnTopOf brings the scope's status on top of a Release that was written meanwhile, if
// that changed nothing that the pass went by in the status: what was applied is on record
// though somebody edits the spec just then, or the observer says what it found.
func (s *scope) goesOnTopOf(current *corev1alpha1.Release) bool {
	before, now := s.before.DeepCopy(), current.Status.DeepCopy()
	for _, status := range []*corev1alpha1.ReleaseStatus{before, now} {
		meta.RemoveStatusCondition(&status.Conditions, corev1alpha1.ConditionInSync)
	}
	if current.UID != s.release.UID || !sameStatus(before, now) {
		return false
	}
	meta.RemoveStatusCondition(&s.release.Status.Conditions, corev1alpha1.ConditionInSync)
	if inSync := meta.FindStatusCondition(current.Status.Conditions, corev1alpha1.ConditionInSync); inSync != nil {
		s.release.Status.Conditions = append(s.release.Status.Conditions, *inSync)
	}
	s.release.ResourceVersion = current.ResourceVersion
	return true
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
