// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxCircle bounds how many Releases are looked at in search of a circle.
const maxCircle = 100

// maxCircles bounds how many circles are looked at of which each may turn out to be none.
const maxCircles = 3

// toldCircle has an outcome that waits for other Releases say so if one of them waits for this one in
// turn. The API server refuses such circles, but two writes at the same moment can make one, and it did
// not refuse all of them always. Expressions are people's, and may be costly: only those of a circle that
// was found are evaluated.
func (c *Controller) toldCircle(ctx context.Context, s *scope, out outcome) outcome {
	if out.kind != waits {
		return out
	}
	met := map[hop]bool{}
	for range maxCircles {
		circle := c.circleOf(ctx, s.release, met)
		if len(circle) == 0 {
			return out
		}
		i := slices.IndexFunc(circle, func(w *waitingFor) bool { return !c.waits(ctx, w) })
		if i < 0 {
			names := []string{s.key.Name}
			for _, wait := range circle {
				names = append(names, wait.on.Name)
			}
			out.message += "; they wait for each other: " + strings.Join(names, " -> ") + ": change spec.dependsOn or spec.wave of one of them"
			return out
		}
		met[circle[i].hop()] = true
	}
	return out
}

// waits evaluates the expression of a dependency, if it has one.
func (c *Controller) waits(ctx context.Context, w *waitingFor) bool {
	if w.by.ReadyExpr == "" {
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	_, ok, err := c.dependencyReady(w.by, w.on)
	return !ok && err == nil
}

// waitingFor is a Release that the one before it on a way may wait for: by a dependency with an expression,
// if that is not true.
type waitingFor struct {
	from *waitingFor // nil at the beginning of the way
	on   *corev1alpha1.Release
	by   corev1alpha1.Dependency
}

// hop names what waits, and for what.
type hop struct{ from, on string }

func (w *waitingFor) hop() hop { return hop{w.from.on.Name, w.on.Name} }

// circleOf gives a shortest way from a Release back to itself along what each may wait for, as far as that
// is known here; nil when there is none. met are the dependencies whose expression is known to be true.
func (c *Controller) circleOf(ctx context.Context, release *corev1alpha1.Release, met map[hop]bool) []*waitingFor {
	lower := map[string][]*corev1alpha1.Release{} // of each Cluster those that were not come to yet
	seen := map[string]bool{}
	queue := []*waitingFor{{on: release}}
	for len(queue) > 0 && ctx.Err() == nil {
		from := queue[0]
		queue = queue[1:]
		for _, next := range c.mayWaitFor(release, from, lower) {
			if next.by.Name != "" && met[next.hop()] {
				continue
			}
			if next.on.Name == release.Name {
				var circle []*waitingFor
				for ; next.from != nil; next = next.from {
					circle = append(circle, next)
				}
				slices.Reverse(circle)
				return circle
			}
			if !seen[next.on.Name] && len(seen) < maxCircle {
				seen[next.on.Name] = true
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// mayWaitFor gives the Releases that one may wait for, of those of lower waves only the target and those
// that wait for more than still lower ones, for which it waits, too. Those of lower waves that were given
// once are not given again.
func (c *Controller) mayWaitFor(target *corev1alpha1.Release, from *waitingFor, lower map[string][]*corev1alpha1.Release) []*waitingFor {
	var found []*waitingFor
	for _, other := range c.takeLower(from.on, lower) {
		if _, ok := delivered(other); !ok && (len(other.Spec.DependsOn) > 0 || other.Name == target.Name) {
			found = append(found, &waitingFor{from: from, on: other})
		}
	}
	for _, dependency := range from.on.Spec.DependsOn {
		other, _ := c.watchedRelease(types.NamespacedName{Namespace: from.on.Namespace, Name: dependency.Name})
		if other == nil {
			continue
		}
		if _, ok := delivered(other); !ok || dependency.ReadyExpr != "" {
			found = append(found, &waitingFor{from, other, dependency})
		}
	}
	return found
}

// takeLower takes those of a lower wave out of what is left of the Releases of a Cluster, by wave.
func (c *Controller) takeLower(release *corev1alpha1.Release, left map[string][]*corev1alpha1.Release) []*corev1alpha1.Release {
	index := indexWave // most Releases are of wave 0, and below that there are few
	if release.Spec.Wave > 0 {
		index = indexCluster
	}
	place := index + " " + clusterNameOf(release)
	if _, listed := left[place]; !listed {
		left[place] = slices.DeleteFunc(c.indexed(index, clusterNameOf(release)),
			func(other *corev1alpha1.Release) bool { return !other.DeletionTimestamp.IsZero() })
		slices.SortFunc(left[place], func(a, b *corev1alpha1.Release) int {
			return cmp.Or(cmp.Compare(a.Spec.Wave, b.Spec.Wave), strings.Compare(a.Name, b.Name))
		})
	}
	n, _ := slices.BinarySearchFunc(left[place], release.Spec.Wave, func(other *corev1alpha1.Release, wave int32) int {
		return cmp.Compare(other.Spec.Wave, wave)
	})
	taken := left[place][:n]
	left[place] = left[place][n:]
	return taken
}
