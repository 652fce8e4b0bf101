// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/sources"
)

// awaitPeers keeps a commit that changes several Releases in order. Those of a lower wave,
// and those depended on by the default rule, that draw on the same source object must have
// applied what their reference is now, by the same look at the source that this Release
// acts on; that they are still well at an older revision does not count.
func (c *Controller) awaitPeers(ctx context.Context, s *scope) outcome {
	if s.source == nil {
		return next()
	}
	var waves, dependencies []blocker
	for _, peer := range c.lowerWaves(s.release) {
		if lack, behind := c.behind(ctx, s, peer); behind {
			waves = append(waves, blocker{waveName(peer), lack})
		}
	}
	for _, dependency := range s.release.Spec.DependsOn {
		peer := c.cachedRelease(s.key.Namespace, dependency.Name)
		if dependency.ReadyExpr != "" || peer == nil {
			continue
		}
		if lack, behind := c.behind(ctx, s, peer); behind {
			dependencies = append(dependencies, blocker{"Release " + peer.Name, lack})
		}
	}
	if len(waves) > 0 {
		return blocked(corev1alpha1.ReasonWaitingForWave, append(waves, dependencies...))
	}
	return blocked(corev1alpha1.ReasonDependency, dependencies)
}

// behind tells whether a peer has yet to apply what its reference is now. It enqueues such
// a peer, which may not have looked for itself yet.
func (c *Controller) behind(ctx context.Context, s *scope, peer *corev1alpha1.Release) (lack string, behind bool) {
	spec := peer.Spec
	reference, ok := sources.ReferenceOf(spec.Source)
	own, _ := sources.ReferenceOf(s.release.Spec.Source)
	if !ok || reference != own || spec.Suspend || spec.Pin != nil || spec.Sync.Mode == corev1alpha1.SyncModeManual {
		return "", false
	}
	revision, _, err := c.config.Fetcher.Resolve(ctx, fetch.Want{
		Namespace: peer.Namespace, Source: s.source, Content: spec.Source, MaxAge: s.want.MaxAge,
	})
	if err != nil {
		return "", false // the peer's to report
	}
	if appliedRevision(peer) == revision {
		lack, ok := delivered(peer)
		return lack, !ok
	}
	c.Enqueue(nameOf(peer), base.PriorityChange)
	return fmt.Sprintf("has not applied %s yet", short(revision)), true
}
