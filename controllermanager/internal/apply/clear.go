// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
)

// clear applies the object after taking away what others put beside the desired fields, where
// the server says that the two cannot be together: server-side apply leaves it there, such as
// the tcpSocket that somebody made of the httpGet of a probe, or the port 81 that has the name
// of port 80. The error is the server's last answer when taking away does not help.
//
// An object that somebody changes meanwhile is looked at again, and applied as it is first: what
// was in the way may be gone, or convoy's by now.
//
// Where conflicts with other managers are not overridden, nothing of theirs is taken.
func (d *delivery) clear(ctx context.Context, cause error) (*unstructured.Unstructured, error) {
	for range maxReads {
		live, err := d.client.Get(ctx, d.key.Name, metav1.GetOptions{})
		if absent(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := d.free(ctx, live); outdated(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		body := withIgnored(d.desired, live, d.ignored)
		applied, err := d.patch(ctx, body, at(live))
		if apierrors.IsInvalid(err) && !outdated(err) {
			cause = err
			applied, err = d.applyCleared(ctx, live, body, cause)
		}
		if !outdated(err) && !absent(err) {
			return applied, err
		}
	}
	return nil, &WaitingError{For: "the object to be left alone for a moment: it changed whenever it was about to be applied", cause: cause}
}

// applyCleared applies over an object that was read without what is in the way of it, which cause
// says.
func (d *delivery) applyCleared(ctx context.Context, live, body *unstructured.Unstructured, cause error) (*unstructured.Unstructured, error) {
	fields, _, err := managed.InTheWay(live, body, cause, func(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		patch, err := managed.Replacement(live.Object, object.Object)
		if err != nil {
			return nil, err
		}
		return d.client.Patch(ctx, d.key.Name, types.JSONPatchType, patch, metav1.PatchOptions{
			FieldManager: corev1alpha1.FieldManager, DryRun: []string{metav1.DryRunAll},
		})
	}, apierrors.IsInvalid)
	if err != nil {
		return nil, err
	}
	if conflicts := conflictsIn(live, fields); !d.override && len(conflicts) > 0 {
		return nil, &ConflictError{Conflicts: conflicts, cause: cause}
	}
	return d.applyWithout(ctx, live, body, fields)
}

// applyWithout applies over an object that was read, without some of its fields. They are
// convoy's first, and go with the apply as what it desires no more: whoever dies in between
// leaves an object that is as it was.
func (d *delivery) applyWithout(ctx context.Context, live, body *unstructured.Unstructured, fields *fieldpath.Set) (*unstructured.Unstructured, error) {
	entries, err := managed.HandedOver(live, fields)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(managing(live, entries))
	if err != nil {
		return nil, fmt.Errorf("encoding a change of managed fields: %w", err)
	}
	live, err = d.client.Patch(ctx, d.key.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: corev1alpha1.FieldManager})
	if err != nil {
		return nil, err
	}
	return d.patch(ctx, body, at(live))
}

// conflictsIn names fields of a live object with those who wrote them.
func conflictsIn(live *unstructured.Unstructured, fields *fieldpath.Set) []FieldConflict {
	var conflicts []FieldConflict
	fields.Iterate(func(path fieldpath.Path) {
		if managers := managed.Managers(live, path); len(managers) > 0 { // else it is a default, and nobody's
			conflicts = append(conflicts, FieldConflict{Field: path.String(), Manager: strings.Join(managers, ", ")})
		}
	})
	return conflicts
}
