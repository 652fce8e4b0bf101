// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/observer/internal/compare"
)

// write brings the inventory's status in line with the results, if it is not yet. It is
// written at the resourceVersion that was read: for a newer inventory the results do not
// count, and the conflict brings another pass.
func (c *HealthController) write(ctx context.Context, inventory *corev1alpha1.ReleaseInventory, results []judgement) error {
	status := statusOf(inventory, results, metav1.NewTime(c.Clock.Now().Truncate(time.Second)))
	if sameStatus(status, inventory.Status) {
		return nil
	}
	c.wrote(ReleaseOf(inventory))
	updated := inventory.DeepCopy()
	updated.Status = status
	_, err := c.Client.CoreV1alpha1().ReleaseInventories(inventory.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("status of ReleaseInventory %s/%s: %w", inventory.Namespace, inventory.Name, err)
	}
	return nil
}

// sameStatus compares what each pass compares. Reflection, which allocates for each field, is left to
// what there is once.
func sameStatus(a, b corev1alpha1.ReleaseInventoryStatus) bool {
	same := slices.EqualFunc(a.Health, b.Health, func(a, b corev1alpha1.ObjectHealth) bool {
		since := a.Since.Equal(b.Since)
		a.Since, b.Since = nil, nil
		return since && a == b
	})
	a.Health, b.Health = nil, nil
	return same && equality.Semantic.DeepEqual(a, b)
}

func statusOf(inventory *corev1alpha1.ReleaseInventory, results []judgement, now metav1.Time) corev1alpha1.ReleaseInventoryStatus {
	status := corev1alpha1.ReleaseInventoryStatus{ObservedGeneration: inventory.Generation, Summary: &corev1alpha1.HealthSummary{}}
	before, room := written(inventory), roomForMessages
	if n := len(inventory.Spec.Entries); n > 0 {
		status.Health = make([]corev1alpha1.ObjectHealth, n)
	}
	for i, entry := range inventory.Spec.Entries {
		one := corev1alpha1.ObjectHealth{
			ObjectKey: entry.ObjectKey, Status: results[i].Status, Message: clip(results[i].Message), Since: &now,
		}
		if room -= len(one.Message); room < 0 {
			one.Message = "" // the first ones tell what is wrong
		}
		if old, ok := before(i, entry.ObjectKey); ok && old.Status == one.Status && old.Since != nil {
			one.Since = old.Since
		}
		if entry.Hook == "" {
			health.Count(status.Summary, one.Status)
		}
		status.Health[i] = one
	}
	return status
}

// written finds the health of entries in the inventory's status.
func written(inventory *corev1alpha1.ReleaseInventory) func(i int, key corev1alpha1.ObjectKey) (corev1alpha1.ObjectHealth, bool) {
	find := finder(inventory.Status.Health, func(one *corev1alpha1.ObjectHealth) corev1alpha1.ObjectKey { return identity(one.ObjectKey) })
	return func(i int, key corev1alpha1.ObjectKey) (corev1alpha1.ObjectHealth, bool) {
		return find(i, identity(key))
	}
}

const (
	// messageLimit bounds a message in the inventory, of which thousands share one object.
	messageLimit = 512
	// roomForMessages is what the entries of a page and their health leave of what etcd takes for
	// one object.
	roomForMessages = 256 << 10
)

func clip(message string) string { return shortenTo(message, messageLimit) }

// Report is the answer of the health subresource: the live objects judged now, and what of
// the render is not applied yet as missing. Hooks, and objects that left the render, are
// listed and do not count. Errors: those of Connect, and those of a target that does not
// answer or does not accept the credentials.
func (c *HealthController) Report(ctx context.Context, release *corev1alpha1.Release) (*corev1alpha1.ReleaseHealth, error) {
	report := &corev1alpha1.ReleaseHealth{Status: corev1alpha1.HealthUnknown, Objects: []corev1alpha1.ObjectHealthDetail{}}
	pages, err := c.Inventory(ctx, nameOf(release))
	if apierrors.IsNotFound(err) {
		if report.Summary.Missing = unlisted(release, nil); report.Summary.Missing > 0 {
			report.Status = corev1alpha1.HealthMissing
		}
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := c.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	reader, around := &compare.Comparer{Target: t, Installation: c.Installation, Release: release}, c.surroundings(release, t)
	var counted []corev1alpha1.HealthStatus
	for _, page := range pages {
		before := written(page)
		for i, result := range c.judge(ctx, release, page, around, reader).results {
			if ofTarget(result.err) {
				return nil, result.err
			}
			entry := page.Spec.Entries[i]
			if counts(release, entry) {
				counted = append(counted, result.Status)
				health.Count(&report.Summary, result.Status)
			}
			said, _ := before(i, entry.ObjectKey)
			report.Objects = append(report.Objects, detailOf(entry, result, said))
		}
	}
	for range unlisted(release, pages.Entries()) {
		counted = append(counted, corev1alpha1.HealthMissing)
		health.Count(&report.Summary, corev1alpha1.HealthMissing)
	}
	report.Status = health.Worst(counted...)
	return report, nil
}

// detailOf is the judgement of an entry for people; before is what the inventory's status has of
// the object.
func detailOf(entry corev1alpha1.InventoryEntry, result judgement, before corev1alpha1.ObjectHealth) corev1alpha1.ObjectHealthDetail {
	detail := corev1alpha1.ObjectHealthDetail{
		ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: entry.ObjectKey, Status: result.Status, Message: result.Message},
		Rule:         result.Rule,
	}
	if before.Status == detail.Status {
		detail.Since = before.Since
	}
	if entry.Hook != "" {
		detail.Message = strings.TrimSuffix("object of hook "+entry.Hook+": "+result.Message, ": ")
	}
	return detail
}

// counts tells the entries whose objects the Release consists of. One without a digest is
// either to be applied, which is so until a sync is complete, or left the render.
func counts(release *corev1alpha1.Release, entry corev1alpha1.InventoryEntry) bool {
	return entry.Hook == "" && (entry.Digest != "" || incomplete(release))
}

// incomplete tells whether something of the render is not applied: a sync is under way, or
// failed. What waits for its sync to begin is not, unless nothing was ever applied.
func incomplete(release *corev1alpha1.Release) bool {
	return !meta.IsStatusConditionTrue(release.Status.Conditions, corev1alpha1.ConditionApplied)
}

// unlisted is how many objects of the render the inventory does not list: it is written
// when the sync begins, and entries are taken back of objects that the target refused.
func unlisted(release *corev1alpha1.Release, entries []corev1alpha1.InventoryEntry) int32 {
	if release.Status.Render == nil || !incomplete(release) {
		return 0
	}
	missing := release.Status.Render.Objects
	for _, entry := range entries {
		if entry.Hook == "" {
			missing--
		}
	}
	return max(missing, 0)
}
