// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// annotationDeletion on a ReleaseInventory says that objects of its Release, which is being deleted
// and has hooks around that, may have been deleted. Its value is why hooks are left out for good that
// only the content has which was applied; "" when none are. It is written before the first object is
// deleted, since the status may be lost with the process that did it.
const annotationDeletion = "convoy.kumodo.io/deletion-began"

// deletionBegan gives what the inventory says of the deletion of this very Release.
func (s *scope) deletionBegan() (lack string, began bool) {
	if s.inventory == nil || s.release.DeletionTimestamp.IsZero() {
		return "", false
	}
	uid, lack, _ := strings.Cut(s.inventory.Annotations[annotationDeletion], " ")
	if types.UID(uid) != s.release.UID {
		return "", false
	}
	return lack, true
}

// noteDeletion notes that the deletion of objects begins, or that it goes on without hooks.
func (c *Controller) noteDeletion(ctx context.Context, s *scope) error {
	if lack, began := s.deletionBegan(); s.applied().DeleteHooks == 0 || began && (lack != "" || s.lack == "") {
		return nil
	}
	if err := c.writeUnwritten(ctx, s); err != nil {
		return err
	}
	noted := s.pages[0].DeepCopy()
	metav1.SetMetaDataAnnotation(&noted.ObjectMeta, annotationDeletion, strings.TrimSpace(string(s.release.UID)+" "+shorten(s.lack)))
	written, err := c.rewritePage(ctx, s, s.pages[0], noted)
	if err != nil {
		return err
	}
	pages := slices.Clone(s.pages)
	pages[0] = written
	s.setPages(pages)
	return nil
}

// runPreDelete runs the preDelete hooks, unless objects have been deleted: what such a hook is to save
// is not whole then.
func (c *Controller) runPreDelete(ctx context.Context, s *scope) outcome {
	if _, began := s.deletionBegan(); began {
		return next()
	}
	return c.runHooks(corev1alpha1.HookPreDelete)(ctx, s)
}
