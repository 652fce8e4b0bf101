// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
)

// pageName is the name of a page of a Release's inventory: the first has that of the Release,
// the others have a number behind it, which no Release may have.
func pageName(release string, page int) string {
	if page == 0 {
		return release
	}
	return fmt.Sprintf("%s.%d", release, page)
}

// bound gives the pages of an inventory as one, shared and not to be changed. A further page
// counts for the first one's generation: the whole has been judged when each of them has.
func bound(pages []*corev1alpha1.ReleaseInventory) *corev1alpha1.ReleaseInventory {
	if len(pages) == 0 {
		return nil
	}
	whole := *pages[0]
	if len(pages) == 1 {
		return pages[0]
	}
	whole.Spec.Entries, whole.Status.Health = nil, nil
	for _, page := range pages {
		whole.Spec.Entries = append(whole.Spec.Entries, page.Spec.Entries...)
		whole.Status.Health = append(whole.Status.Health, page.Status.Health...)
		if page.Status.ObservedGeneration != page.Generation {
			whole.Status.ObservedGeneration = 0
		}
		if !page.DeletionTimestamp.IsZero() {
			whole.DeletionTimestamp = page.DeletionTimestamp
		}
	}
	slices.SortStableFunc(whole.Spec.Entries, func(a, b corev1alpha1.InventoryEntry) int {
		return strings.Compare(inventory.Key(a), inventory.Key(b))
	})
	return &whole
}

// newestPages gives the newest known pages of a Release's inventory, shared and not to be
// changed; none when there is no inventory.
func (c *Controller) newestPages(release *corev1alpha1.Release) []*corev1alpha1.ReleaseInventory {
	var pages []*corev1alpha1.ReleaseInventory
	for {
		page := c.newestPage(release, pageName(release.Name, len(pages)))
		if page == nil {
			return pages
		}
		pages = append(pages, page)
	}
}

func (c *Controller) newestPage(release *corev1alpha1.Release, name string) *corev1alpha1.ReleaseInventory {
	var cached *corev1alpha1.ReleaseInventory
	page := c.latestInventories.newest(types.NamespacedName{Namespace: release.Namespace, Name: name}, func() *corev1alpha1.ReleaseInventory {
		cached = c.cachedInventory(release.Namespace, name)
		return cached
	})
	if page != nil && cached == nil && page.Spec.ReleaseRef.UID != release.UID {
		return nil // what was written for another Release of the name
	}
	return page
}

// cachedPages gives the pages of an inventory as the informer has them.
func (c *Controller) cachedPages(release types.NamespacedName) []*corev1alpha1.ReleaseInventory {
	var pages []*corev1alpha1.ReleaseInventory
	for {
		page := c.cachedInventory(release.Namespace, pageName(release.Name, len(pages)))
		if page == nil {
			return pages
		}
		pages = append(pages, page)
	}
}

// readPages reads the pages of an inventory from the host.
func (c *Controller) readPages(ctx context.Context, release types.NamespacedName) ([]*corev1alpha1.ReleaseInventory, error) {
	var pages []*corev1alpha1.ReleaseInventory
	for {
		page, err := c.config.Client.CoreV1alpha1().ReleaseInventories(release.Namespace).
			Get(ctx, pageName(release.Name, len(pages)), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return pages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the inventory of Release %s: %w", release, err)
		}
		pages = append(pages, page)
	}
}

// setPages makes pages those of the scope, which says nothing else of the inventory then.
func (s *scope) setPages(pages []*corev1alpha1.ReleaseInventory) {
	s.pages, s.inventory, s.unwritten = pages, bound(pages), false
}

// writePages brings the pages in line with entries. Entries stay on their pages, so that a
// process that dies between two writes loses none. The first page comes last, because the
// mark of the request that the entries answer says that all of them do; where there is none
// yet, it comes first, because the others are found by it.
func (c *Controller) writePages(ctx context.Context, s *scope, divided [][]corev1alpha1.InventoryEntry, mark string) error {
	if len(s.pages) == 0 {
		if err := c.createPage(ctx, s, divided[0], ""); err != nil {
			return err
		}
	}
	for n := 1; n < len(divided); n++ {
		var err error
		if n < len(s.pages) {
			err = c.updatePage(ctx, s, n, divided[n], "")
		} else {
			err = c.createPage(ctx, s, divided[n], "")
		}
		if err != nil {
			return err
		}
	}
	if err := c.updatePage(ctx, s, 0, divided[0], mark); err != nil {
		return err
	}
	for len(s.pages) > len(divided) {
		if err := c.dropLastPage(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// createPage adds a page.
func (c *Controller) createPage(ctx context.Context, s *scope, entries []corev1alpha1.InventoryEntry, mark string) error {
	page := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: pageName(s.key.Name, len(s.pages))}}
	own(page, s.release)
	page.Spec.Entries = entries
	if len(s.pages) > 0 && len(validation.IsValidLabelValue(s.key.Name)) == 0 {
		page.Labels = map[string]string{corev1alpha1.LabelInventoryOf: s.key.Name}
	}
	if mark != "" {
		metav1.SetMetaDataAnnotation(&page.ObjectMeta, annotationRequest, mark)
	}
	written, err := c.config.Client.CoreV1alpha1().ReleaseInventories(s.key.Namespace).Create(ctx, page, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) && c.config.Elsewhere != nil {
		return c.labelPage(ctx, s, page.Name)
	}
	if err != nil {
		return fmt.Errorf("creating the inventory of Release %s: %w", s.key, err)
	}
	c.latestInventories.wrote(written)
	s.setPages(append(slices.Clone(s.pages), written))
	return nil
}

// updatePage writes a page whose entries, or mark, are not as they should be.
func (c *Controller) updatePage(ctx context.Context, s *scope, n int, entries []corev1alpha1.InventoryEntry, mark string) error {
	changed := s.pages[n].DeepCopy()
	own(changed, s.release)
	changed.Spec.Entries = entries
	if mark != "" {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, annotationRequest, mark)
	}
	if equality.Semantic.DeepEqual(changed, s.pages[n]) {
		return nil
	}
	written, err := c.rewritePage(ctx, s, s.pages[n], changed)
	if err != nil {
		return err
	}
	pages := slices.Clone(s.pages)
	pages[n] = written
	s.setPages(pages)
	return nil
}

// rewritePage writes a changed page, unless another one has written its spec since. The
// observer writes the status of the same object meanwhile, which does not count: the
// generation is what the patch is made for.
func (c *Controller) rewritePage(ctx context.Context, s *scope, known, changed *corev1alpha1.ReleaseInventory) (*corev1alpha1.ReleaseInventory, error) {
	patch, err := pagePatch(known, changed)
	if err != nil {
		return nil, fmt.Errorf("writing the inventory of Release %s: %w", s.key, err)
	}
	written, err := c.config.Client.CoreV1alpha1().ReleaseInventories(s.key.Namespace).
		Patch(ctx, known.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	if apierrors.IsInvalid(err) && c.outdated(ctx, known) {
		err = apierrors.NewConflict(corev1alpha1.Resource("releaseinventories"), known.Name, errors.New("its spec was written by another one"))
	}
	if err != nil {
		if apierrors.IsNotFound(err) {
			c.latestInventories.forget(nameOf(known))
		}
		return nil, fmt.Errorf("writing the inventory of Release %s: %w", s.key, err)
	}
	c.latestInventories.wrote(written)
	return written, nil
}

// outdated tells whether a page is another one, or has another spec, than is known: what a
// patch for the known one is refused for is not told from other faults.
func (c *Controller) outdated(ctx context.Context, known *corev1alpha1.ReleaseInventory) bool {
	current, err := c.config.Client.CoreV1alpha1().ReleaseInventories(known.Namespace).Get(ctx, known.Name, metav1.GetOptions{})
	return err == nil && (current.UID != known.UID || current.Generation != known.Generation)
}

// operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// pagePatch is the JSON patch that makes a known page a changed one, and fails when the page is
// another one, or has another spec, than is known.
func pagePatch(known, changed *corev1alpha1.ReleaseInventory) ([]byte, error) {
	operations := []operation{{"test", "/metadata/uid", known.UID}, {"test", "/metadata/generation", known.Generation}}
	for _, part := range []struct {
		path         string
		before, wish any
	}{
		{"/metadata/ownerReferences", known.OwnerReferences, changed.OwnerReferences},
		{"/metadata/finalizers", known.Finalizers, changed.Finalizers},
		{"/metadata/annotations", known.Annotations, changed.Annotations},
		{"/spec", known.Spec, changed.Spec},
	} {
		if !equality.Semantic.DeepEqual(part.before, part.wish) {
			operations = append(operations, operation{"add", part.path, part.wish})
		}
	}
	return json.Marshal(operations)
}

// dropLastPage deletes the last page together with its finalizer.
func (c *Controller) dropLastPage(ctx context.Context, s *scope) error {
	client := c.config.Client.CoreV1alpha1().ReleaseInventories(s.key.Namespace)
	last := s.pages[len(s.pages)-1]
	changed := last.DeepCopy()
	changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == corev1alpha1.FinalizerRelease })
	released, err := c.rewritePage(ctx, s, last, changed)
	if err == nil && released.DeletionTimestamp.IsZero() {
		err = client.Delete(ctx, last.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &released.UID}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the inventory of Release %s: %w", s.key, err)
	}
	c.latestInventories.forget(nameOf(last))
	s.setPages(s.pages[:len(s.pages)-1])
	return nil
}
