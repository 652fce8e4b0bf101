// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/render"
)

// drifted is one object that differs, or that could not be compared.
type drifted struct {
	key     corev1alpha1.ObjectKey
	changes []corev1alpha1.FieldChange
	missing bool
	// replaced is true when another object has the name of the one that was applied.
	replaced bool
	err      error
}

// findings are what a comparison of all objects came to.
type findings struct {
	drifted []drifted
	// compared is how many objects there are.
	compared int
	// failed are the objects that could not be compared.
	failed []drifted
	// underWay is true when the inventory does not name every object as last applied with
	// the digest that is desired: a sync has begun.
	underWay bool
}

// compare compares every object and remembers which are clean.
func (c *Controller) compare(ctx context.Context, release *corev1alpha1.Release, inventory Pages,
	want *desired.Desired, t *Target, m *memory,
) findings {
	comparer := &compare.Comparer{Target: t, Installation: c.Installation, Release: release, Applied: true, GivenUp: (&marks{Controller: c}).givenUp}
	entries := map[corev1alpha1.ObjectKey]corev1alpha1.InventoryEntry{}
	for _, entry := range inventory.Entries() {
		entries[identity(entry.ObjectKey)] = entry
	}
	objects := want.Objects
	if release.Status.Rollback != nil { // what it left out is another Release's; the rest was applied, by the condition
		objects = slices.DeleteFunc(slices.Clone(objects), func(object render.Object) bool {
			return entries[identity(object.Key())].Digest == ""
		})
	}
	found := findings{compared: len(objects)}
	for _, object := range objects {
		found.underWay = found.underWay || entries[identity(object.Key())].Digest != object.Digest
	}
	if found.underWay {
		return found
	}
	outcomes := make([]*drifted, len(objects))
	versions := make([]string, len(objects))
	var places []int
	var keys []corev1alpha1.ObjectKey
	for i, object := range objects {
		version, seen := c.version(ctx, t, object.Key())
		switch {
		case seen && !m.full && inventory.asApplied(release, entries[identity(object.Key())], version):
		case seen && !m.full && m.isClean(object.Key(), object.Digest, version):
			versions[i] = version
		default:
			places, keys = append(places, i), append(keys, object.Key())
		}
	}
	comparer.Each(ctx, keys, func(n int, live *unstructured.Unstructured) {
		i := places[n]
		entry := entries[identity(keys[n])]
		outcomes[i], versions[i] = compareOne(ctx, comparer, t, objects[i], entry.UID, live)
		if inventory.asApplied(release, entry, versions[i]) {
			versions[i] = "" // the inventory knows that
		}
	})
	m.clean = map[uint64]bool{}
	for i, outcome := range outcomes {
		switch {
		case outcome == nil && versions[i] == "":
		case outcome == nil:
			m.setClean(objects[i].Key(), objects[i].Digest, versions[i])
		case outcome.err != nil:
			found.failed = append(found.failed, *outcome)
		default:
			found.drifted = append(found.drifted, *outcome)
		}
	}
	return found
}

// compareOne returns nil and the live resourceVersion when the object is as desired, and is the
// one that was applied: what has another UID would never be deleted.
func compareOne(ctx context.Context, comparer *compare.Comparer, t *Target, object render.Object, applied types.UID, listed *unstructured.Unstructured) (*drifted, string) {
	if object.Object.GetAnnotations()[corev1alpha1.AnnotationDrift] == "ignore" {
		return nil, anyVersion
	}
	outcome := comparer.CompareListed(ctx, object, listed)
	replaced := outcome.Live != nil && applied != "" && outcome.Live.GetUID() != applied
	if outcome.Action == corev1alpha1.ActionUnchanged && !replaced {
		return nil, outcome.Live.GetResourceVersion()
	}
	return &drifted{
		key: object.Key(), changes: outcome.Changes, err: t.Blame(outcome.Err),
		missing: outcome.Action == corev1alpha1.ActionCreate, replaced: replaced,
	}, ""
}

// describedObjects is how many objects a message names.
const describedObjects = 3

// describe names the first few objects with their fields.
func describe(found []drifted) string {
	var parts []string
	for i, one := range found {
		if i == describedObjects {
			parts = append(parts, fmt.Sprintf("%d more", len(found)-i))
			break
		}
		parts = append(parts, objectName(one.key)+" "+one.difference())
	}
	return strings.Join(parts, ", ")
}

// difference names a field, one that another field manager has before others.
func (d drifted) difference() string {
	switch {
	case d.err != nil:
		return "could not be compared: " + d.err.Error()
	case d.missing:
		return "is missing"
	case d.replaced:
		return "was replaced by another object of its name"
	case len(d.changes) == 0:
		return "differs"
	}
	told := d.changes[max(slices.IndexFunc(d.changes, func(c corev1alpha1.FieldChange) bool { return c.Manager != "" }), 0)]
	text := "differs in " + told.Path
	if told.Manager != "" {
		text += " (field manager " + told.Manager + ")"
	}
	if more := len(d.changes) - 1; more > 0 {
		text += " and " + count(more, "more field")
	}
	return text
}
