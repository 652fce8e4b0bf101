// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"strings"

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
	err     error
}

// findings are what a comparison of all objects came to.
type findings struct {
	drifted []drifted
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
	comparer := &compare.Comparer{Target: t, Installation: c.Installation, Release: release}
	entries := map[corev1alpha1.ObjectKey]corev1alpha1.InventoryEntry{}
	for _, entry := range inventory.Entries() {
		entries[identity(entry.ObjectKey)] = entry
	}
	found := findings{}
	for _, object := range want.Objects {
		found.underWay = found.underWay || entries[identity(object.Key())].Digest != object.Digest
	}
	if found.underWay {
		return found
	}
	outcomes := make([]*drifted, len(want.Objects))
	versions := make([]string, len(want.Objects))
	compare.Parallel(len(want.Objects), func(i int) {
		object := want.Objects[i]
		version, seen := c.version(ctx, t, object.Key())
		known := m.clean[object.Key()] == (cleanAt{object.Digest, version}) || inventory.asApplied(release, entries[identity(object.Key())], version)
		if seen && known {
			versions[i] = version
			return
		}
		outcomes[i], versions[i] = compareOne(ctx, comparer, t, object)
	})
	m.clean = map[corev1alpha1.ObjectKey]cleanAt{}
	for i, outcome := range outcomes {
		switch {
		case outcome == nil:
			m.clean[want.Objects[i].Key()] = cleanAt{want.Objects[i].Digest, versions[i]}
		case outcome.err != nil:
			found.failed = append(found.failed, *outcome)
		default:
			found.drifted = append(found.drifted, *outcome)
		}
	}
	return found
}

// compareOne returns nil and the live resourceVersion when the object is as desired.
func compareOne(ctx context.Context, comparer *compare.Comparer, t *Target, object render.Object) (*drifted, string) {
	if object.Object.GetAnnotations()[corev1alpha1.AnnotationDrift] == "ignore" {
		return nil, anyVersion
	}
	outcome := comparer.Compare(ctx, object)
	if outcome.Action == corev1alpha1.ActionUnchanged {
		return nil, outcome.Live.GetResourceVersion()
	}
	return &drifted{
		key: object.Key(), changes: outcome.Changes, err: t.Blame(outcome.Err),
		missing: outcome.Action == corev1alpha1.ActionCreate,
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

func (d drifted) difference() string {
	switch {
	case d.err != nil:
		return "could not be compared: " + d.err.Error()
	case d.missing:
		return "is missing"
	case len(d.changes) == 0:
		return "differs"
	case len(d.changes) == 1:
		return "differs in " + d.changes[0].Path
	}
	return fmt.Sprintf("differs in %s and %s", d.changes[0].Path, count(len(d.changes)-1, "more field"))
}
