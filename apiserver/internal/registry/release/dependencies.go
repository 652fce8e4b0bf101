// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxWalk bounds how many Releases are looked at in search of a cycle.
const maxWalk = 1000

// dependencyCycles refuses dependencies, and a wave, that lead back to the Release: it would wait for
// itself. Two writes at the same moment can still make a cycle between them; the controllers see that
// one, and say so in a condition.
func dependencyCycles(ctx context.Context, releases Reader, r *corev1alpha1.Release) field.ErrorList {
	if r.Name == "" {
		return nil
	}
	walk := walker{releases: releases, target: r, seen: map[string]bool{r.Name: true}, clusters: map[string][]corev1alpha1.Release{}}
	spec := field.NewPath("spec")
	var errs field.ErrorList
	for i, dependency := range r.Spec.DependsOn {
		if dependency.Name == r.Name || dependency.Name == "" {
			continue // reported for itself
		}
		if way := walk.from(ctx, dependency.Name); way != nil {
			errs = append(errs, field.Invalid(spec.Child("dependsOn").Index(i).Child("name"), dependency.Name, cycle(r, nil, way)))
		}
	}
	for _, lower := range walk.lowerWaves(ctx, r) {
		if way := walk.from(ctx, lower.Name); way != nil {
			return append(errs, field.Invalid(spec.Child("wave"), r.Spec.Wave, cycle(r, waitsFor(r, &lower), way)))
		}
	}
	return errs
}

// cycle describes the way from a Release back to itself. why is what the first step is for, if that is
// not spec.dependsOn.
func cycle(r *corev1alpha1.Release, why []string, way []hop) string {
	names := []string{r.Name}
	for _, hop := range way {
		names = append(names, hop.name)
		why = append(why, hop.why...)
	}
	text := "makes a cycle: " + strings.Join(names, " -> ")
	if len(why) > 0 {
		text += "; " + strings.Join(why, "; ") + "; the other steps are spec.dependsOn"
	}
	return text
}

// hop is a Release on a way, and why it waits for the next one.
type hop struct {
	name string
	why  []string
}

// waitsFor says that a Release waits for one of a lower wave.
func waitsFor(r, lower *corev1alpha1.Release) []string {
	return []string{fmt.Sprintf("%s waits for %s on Cluster %s, because the spec.wave of %s is %d, and that of %s is %d",
		r.Name, lower.Name, r.Spec.ClusterRef.Name, r.Name, r.Spec.Wave, lower.Name, lower.Spec.Wave)}
}

// walker follows what Releases wait for. What it has seen does not lead to the target, or it would
// have stopped there.
type walker struct {
	releases Reader
	target   *corev1alpha1.Release
	seen     map[string]bool
	clusters map[string][]corev1alpha1.Release // their Releases that wait for others by spec.dependsOn
}

// from gives the way from a Release to the target, both included; nil when there is none.
func (w *walker) from(ctx context.Context, name string) []hop {
	if name == w.target.Name {
		return []hop{{name: name}}
	}
	if w.seen[name] || len(w.seen) >= maxWalk {
		return nil
	}
	w.seen[name] = true
	obj, err := w.releases.Get(ctx, name, &metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return nil // what does not exist yet waits for nothing
	}
	r := obj.(*corev1alpha1.Release)
	for _, dependency := range r.Spec.DependsOn {
		if way := w.from(ctx, dependency.Name); way != nil {
			return append([]hop{{name: name}}, way...)
		}
	}
	for _, lower := range w.lowerWaves(ctx, r) {
		if way := w.from(ctx, lower.Name); way != nil {
			return append([]hop{{name, waitsFor(r, &lower)}}, way...)
		}
	}
	return nil
}

// lowerWaves gives the Releases of lower waves on the cluster of one, by name, that may lead to the
// target: those that wait for more than lower waves, which wait for nothing that is not waited for here,
// and the target.
func (w *walker) lowerWaves(ctx context.Context, r *corev1alpha1.Release) []corev1alpha1.Release {
	cluster := r.Spec.ClusterRef.Name
	candidates, known := w.clusters[cluster]
	if !known {
		list, err := w.releases.List(ctx, &metainternalversion.ListOptions{
			ResourceVersion: "0", FieldSelector: fields.OneTermEqualSelector("spec.clusterRef.name", cluster),
		})
		if err == nil {
			candidates = slices.DeleteFunc(list.(*corev1alpha1.ReleaseList).Items, func(other corev1alpha1.Release) bool {
				return other.Name == w.target.Name || len(other.Spec.DependsOn) == 0 || !other.DeletionTimestamp.IsZero()
			})
		}
		if w.target.Spec.ClusterRef.Name == cluster {
			candidates = append(candidates, *w.target)
		}
		slices.SortFunc(candidates, func(a, b corev1alpha1.Release) int { return cmp.Compare(a.Name, b.Name) })
		w.clusters[cluster] = candidates
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(other corev1alpha1.Release) bool { return other.Spec.Wave >= r.Spec.Wave })
}
