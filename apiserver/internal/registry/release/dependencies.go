// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxWalk bounds how many Releases are looked at in search of a cycle.
const maxWalk = 1000

// dependencyCycles refuses dependencies that lead back to the Release. Two writes at the
// same moment can still make a cycle between them; the controllers see that one, and say so
// in a condition.
func dependencyCycles(ctx context.Context, releases Reader, r *corev1alpha1.Release) field.ErrorList {
	if len(r.Spec.DependsOn) == 0 || r.Name == "" {
		return nil
	}
	walk := walker{releases: releases, target: r.Name, seen: map[string]bool{}}
	var errs field.ErrorList
	for i, dependency := range r.Spec.DependsOn {
		if dependency.Name == r.Name || dependency.Name == "" {
			continue // reported for itself
		}
		if way := walk.from(ctx, dependency.Name); way != nil {
			way = append([]string{r.Name}, way...)
			errs = append(errs, field.Invalid(field.NewPath("spec", "dependsOn").Index(i).Child("name"), dependency.Name,
				fmt.Sprintf("makes a cycle: %s", strings.Join(way, " -> "))))
		}
	}
	return errs
}

// walker follows dependencies. What it has seen does not lead to the target, or it would
// have stopped there.
type walker struct {
	releases Reader
	target   string
	seen     map[string]bool
}

// from gives the way from a Release to the target, both included; nil when there is none.
func (w *walker) from(ctx context.Context, name string) []string {
	if name == w.target {
		return []string{name}
	}
	if w.seen[name] || len(w.seen) >= maxWalk {
		return nil
	}
	w.seen[name] = true
	obj, err := w.releases.Get(ctx, name, &metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return nil // what does not exist yet depends on nothing
	}
	for _, dependency := range obj.(*corev1alpha1.Release).Spec.DependsOn {
		if way := w.from(ctx, dependency.Name); way != nil {
			return append([]string{name}, way...)
		}
	}
	return nil
}
