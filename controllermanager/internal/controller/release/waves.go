// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// awaitWaves waits until every Release of a lower wave on the cluster is Applied and
// Healthy at its current generation. One that is being deleted is not waited for.
func (c *Controller) awaitWaves(ctx context.Context, s *scope) outcome {
	var blockers []blocker
	for _, other := range c.lowerWaves(s.release) {
		if lack, ok := delivered(other); !ok {
			blockers = append(blockers, blocker{waveName(other), lack})
		}
	}
	return c.toldCircle(ctx, s, blocked(corev1alpha1.ReasonWaitingForWave, blockers))
}

// lowerWaves gives the Releases of a lower wave on the same cluster, by wave and name.
func (c *Controller) lowerWaves(release *corev1alpha1.Release) []*corev1alpha1.Release {
	lower := slices.DeleteFunc(c.otherWaves(release),
		func(other *corev1alpha1.Release) bool {
			return other.Spec.Wave >= release.Spec.Wave || !other.DeletionTimestamp.IsZero()
		})
	slices.SortFunc(lower, func(a, b *corev1alpha1.Release) int {
		return cmp.Or(cmp.Compare(a.Spec.Wave, b.Spec.Wave), strings.Compare(a.Name, b.Name))
	})
	return lower
}

// otherWaves gives Releases on the same cluster, all those of another wave among them. Most
// Releases are of wave 0, and are not looked through for each other.
func (c *Controller) otherWaves(release *corev1alpha1.Release) []*corev1alpha1.Release {
	index := indexCluster
	if release.Spec.Wave == 0 {
		index = indexWave
	}
	return c.indexed(index, clusterNameOf(release))
}

func waveName(release *corev1alpha1.Release) string {
	return fmt.Sprintf("Release %s (wave %d)", release.Name, release.Spec.Wave)
}

// blocker is something that is waited for, and what it lacks.
type blocker struct{ name, lack string }

// maxNamed is how many things a message names; the rest is counted.
const maxNamed = 5

// blocked waits for the blockers, if there are any.
func blocked(reason string, blockers []blocker) outcome {
	if len(blockers) == 0 {
		return next()
	}
	var blockedBy, texts []string
	for _, b := range blockers {
		blockedBy = append(blockedBy, b.name)
		texts = append(texts, b.name+": "+b.lack)
	}
	out := wait(corev1alpha1.ConditionApplied, reason, "waiting for "+listed(texts, "; "))
	out.blockedBy = blockedBy
	return out
}

// listed joins the first few texts and counts the rest.
func listed(texts []string, separator string) string {
	if len(texts) > maxNamed {
		return strings.Join(texts[:maxNamed], separator) + fmt.Sprintf("%sand %d more", separator, len(texts)-maxNamed)
	}
	return strings.Join(texts, separator)
}
