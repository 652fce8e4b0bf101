// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxNamed bounds how much of a long cycle a message names.
const maxNamed = 20

// mayMakeCycle says whether an update can make a Release wait for itself: one that changes what the
// Release waits for, or what waits for it. old is nil for a new Release. What is in a cycle already can
// change otherwise, and what is being deleted is delivered no more.
func mayMakeCycle(r, old *corev1alpha1.Release) bool {
	if old == nil {
		return true
	}
	same := func(a, b corev1alpha1.Dependency) bool { return a.Name == b.Name }
	return r.DeletionTimestamp.IsZero() &&
		(r.Spec.Wave != old.Spec.Wave || !slices.EqualFunc(r.Spec.DependsOn, old.Spec.DependsOn, same))
}

// dependencyCycles refuses dependencies, and a wave, that lead back to the Release: it would wait for
// itself. Two writes at the same moment can still make a cycle between them; the controllers see that
// one, and say so in a condition.
func dependencyCycles(ctx context.Context, releases Reader, r *corev1alpha1.Release) field.ErrorList {
	if r.Name == "" {
		return nil
	}
	s := newSearch(ctx, releases, r)
	start, spec := &step{release: r}, field.NewPath("spec")
	var errs field.ErrorList
	for i, dependency := range r.Spec.DependsOn {
		if dependency.Name == r.Name || dependency.Name == "" {
			continue // reported for itself
		}
		if end := s.follow(ctx, s.dependency(ctx, start, dependency.Name)); end != nil {
			errs = append(errs, field.Invalid(spec.Child("dependsOn").Index(i).Child("name"), dependency.Name, end.cycle()))
		}
	}
	if end := s.follow(ctx, s.lowerWaves(start)); end != nil {
		errs = append(errs, field.Invalid(spec.Child("wave"), r.Spec.Wave, end.cycle()))
	}
	return errs
}

// step is a Release on a way from the target of a search, and how it was come by.
type step struct {
	release *corev1alpha1.Release
	from    *step // waits for release; nil at the start
	byWave  bool  // because of its wave; else by spec.dependsOn
}

// cycle describes the way to a step, which leads back to the start.
func (s *step) cycle() string {
	var names, waves []string
	for ; s.from != nil; s = s.from {
		names = append(names, s.release.Name)
		if s.byWave {
			r, lower := s.from.release, s.release
			waves = append(waves, fmt.Sprintf("%s waits for %s on Cluster %s, because the spec.wave of %s is %d, and that of %s is %d",
				r.Name, lower.Name, r.Spec.ClusterRef.Name, r.Name, r.Spec.Wave, lower.Name, lower.Spec.Wave))
		}
	}
	names = append(names, s.release.Name)
	slices.Reverse(names)
	slices.Reverse(waves)
	text := "makes a cycle: " + strings.Join(shorten(names), " -> ")
	if len(waves) > 0 {
		text += "; " + strings.Join(shorten(waves), "; ") + "; the other steps are spec.dependsOn"
	}
	return text
}

// shorten leaves out the middle of what is too long to be read.
func shorten(list []string) []string {
	if len(list) <= maxNamed {
		return list
	}
	more := fmt.Sprintf("(%d more)", len(list)-maxNamed)
	return slices.Concat(list[:maxNamed/2], []string{more}, list[len(list)-maxNamed/2:])
}

// search follows what Releases wait for. It comes by each Release once: what it has seen does not lead
// to the target, or it would have stopped there.
type search struct {
	releases Reader
	target   *corev1alpha1.Release
	whole    bool // whether all Releases of the namespace were read
	known    map[string]*corev1alpha1.Release
	seen     map[string]bool
	// waiting are the Releases of a cluster, by wave and name, that others may wait for because of their
	// wave, and that no step led to by that yet: those that wait for more than lower waves, which wait for
	// nothing that is not waited for here, and the target.
	waiting map[string][]*corev1alpha1.Release
}

// newSearch reads the cluster of the target. What waits for the target there is there as a rule, and the
// rest of the namespace is read only if a way leads out of it.
func newSearch(ctx context.Context, releases Reader, target *corev1alpha1.Release) *search {
	cluster := target.Spec.ClusterRef.Name
	s := &search{
		releases: releases, target: target,
		known:   map[string]*corev1alpha1.Release{target.Name: target},
		seen:    map[string]bool{},
		waiting: map[string][]*corev1alpha1.Release{cluster: {target}},
	}
	s.read(ctx, fields.OneTermEqualSelector("spec.clusterRef.name", cluster))
	return s
}

// read adds Releases to those that are known. They come from the watch cache, which shares what they
// point to: they are not to be changed. If it cannot be read, a cycle is left to the controllers.
func (s *search) read(ctx context.Context, selector fields.Selector) {
	list, err := s.releases.List(ctx, &metainternalversion.ListOptions{ResourceVersion: "0", FieldSelector: selector})
	if err != nil {
		return
	}
	items := list.(*corev1alpha1.ReleaseList).Items
	for i := range items {
		r := &items[i]
		if s.known[r.Name] != nil {
			continue
		}
		s.known[r.Name] = r
		if cluster := r.Spec.ClusterRef.Name; len(r.Spec.DependsOn) > 0 && r.DeletionTimestamp.IsZero() {
			s.waiting[cluster] = append(s.waiting[cluster], r)
		}
	}
	for _, waiting := range s.waiting {
		slices.SortFunc(waiting, func(a, b *corev1alpha1.Release) int {
			return cmp.Or(cmp.Compare(a.Spec.Wave, b.Spec.Wave), cmp.Compare(a.Name, b.Name))
		})
	}
}

// follow gives the last step of the shortest way from some steps to the target; nil when there is none.
func (s *search) follow(ctx context.Context, steps []*step) *step {
	for len(steps) > 0 {
		at := steps[0]
		steps = steps[1:]
		if at.release == s.target {
			return at
		}
		if s.seen[at.release.Name] {
			continue
		}
		s.seen[at.release.Name] = true
		for _, dependency := range at.release.Spec.DependsOn {
			steps = append(steps, s.dependency(ctx, at, dependency.Name)...)
		}
		steps = append(steps, s.lowerWaves(at)...)
	}
	return nil
}

// dependency gives the step to a Release that is depended on; none if there is no such Release yet, which
// waits for nothing.
func (s *search) dependency(ctx context.Context, from *step, name string) []*step {
	if s.known[name] == nil && !s.whole {
		s.whole = true
		s.read(ctx, fields.Everything())
	}
	r := s.known[name]
	if r == nil || s.seen[name] {
		return nil
	}
	return []*step{{release: r, from: from}}
}

// lowerWaves gives the steps to the Releases of lower waves on the cluster of one.
func (s *search) lowerWaves(from *step) []*step {
	cluster, wave := from.release.Spec.ClusterRef.Name, from.release.Spec.Wave
	waiting := s.waiting[cluster]
	lower, _ := slices.BinarySearchFunc(waiting, wave, func(r *corev1alpha1.Release, wave int32) int { return cmp.Compare(r.Spec.Wave, wave) })
	s.waiting[cluster] = waiting[lower:]
	steps := make([]*step, lower)
	for i, r := range waiting[:lower] {
		steps[i] = &step{release: r, from: from, byWave: true}
	}
	return steps
}
