// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxCircle bounds how many Releases are looked at in search of a circle.
const maxCircle = 100

// toldCircle has an outcome that waits for other Releases say so if one of them waits for this one in
// turn. The API server refuses such circles, but two writes at the same moment can make one, and it did
// not refuse all of them always.
func (c *Controller) toldCircle(s *scope, out outcome) outcome {
	if out.kind != waits {
		return out
	}
	if way := c.wayTo(s.release, s.release, map[string]bool{}); way != nil {
		out.message += "; they wait for each other: " + strings.Join(append([]string{s.key.Name}, way...), " -> ") +
			": change spec.dependsOn or spec.wave of one of them"
	}
	return out
}

// wayTo gives the names of the Releases after one on the way to a target, along what each waits for, as
// far as that is known here; nil when there is none. seen are those that do not lead there.
func (c *Controller) wayTo(target, from *corev1alpha1.Release, seen map[string]bool) []string {
	for _, other := range c.waitedFor(target, from) {
		if other.Name == target.Name {
			return []string{other.Name}
		}
		if seen[other.Name] || len(seen) >= maxCircle {
			continue
		}
		seen[other.Name] = true
		if way := c.wayTo(target, other, seen); way != nil {
			return append([]string{other.Name}, way...)
		}
	}
	return nil
}

// waitedFor gives the Releases that one waits for, of those of lower waves only the target and those that
// wait for more than still lower ones, for which it waits, too.
func (c *Controller) waitedFor(target, release *corev1alpha1.Release) []*corev1alpha1.Release {
	found := slices.DeleteFunc(c.lowerWaves(release), func(other *corev1alpha1.Release) bool {
		_, ok := delivered(other)
		return ok || len(other.Spec.DependsOn) == 0 && other.Name != target.Name
	})
	for _, dependency := range release.Spec.DependsOn {
		other, _ := c.watchedRelease(types.NamespacedName{Namespace: release.Namespace, Name: dependency.Name})
		if other == nil {
			continue
		}
		if _, ok, err := c.dependencyReady(dependency, other); !ok && err == nil {
			found = append(found, other)
		}
	}
	return found
}
