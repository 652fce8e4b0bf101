// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

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
	if s.source == nil || s.oldLook || c.questions.looks.passed(s.key, s.look) { // what is acted on has been through here
		return next()
	}
	var waves, dependencies []blocker
	for _, peer := range c.lowerWaves(s.release) {
		lack, behind, err := c.behind(ctx, s, peer)
		if err != nil {
			return c.withoutPeer(s, peer, err)
		}
		if behind {
			waves = append(waves, blocker{waveName(peer), lack})
		}
	}
	for _, dependency := range s.release.Spec.DependsOn {
		if dependency.ReadyExpr != "" {
			continue
		}
		peer, err := c.releaseAnywhere(ctx, types.NamespacedName{Namespace: s.key.Namespace, Name: dependency.Name})
		if err != nil {
			return abort(err)
		}
		if peer == nil {
			continue
		}
		lack, behind, err := c.behind(ctx, s, peer)
		if err != nil {
			return c.withoutPeer(s, peer, err)
		}
		if behind {
			dependencies = append(dependencies, blocker{"Release " + peer.Name, lack})
		}
	}
	if len(waves) > 0 {
		return blocked(corev1alpha1.ReasonWaitingForWave, append(waves, dependencies...))
	}
	if len(dependencies) == 0 {
		c.questions.looks.pass(s.key, s.look)
	}
	return blocked(corev1alpha1.ReasonDependency, dependencies)
}

// withoutPeer goes on with what is known while the source is being asked what a peer is to have.
func (c *Controller) withoutPeer(s *scope, peer *corev1alpha1.Release, err error) outcome {
	if c.goesOnWithout(s) {
		return next()
	}
	return s.awaitsSource(stepPeers, fmt.Sprintf("%s is being asked for the revision of Release %s", s.sourceName(), peer.Name), err)
}

// behind tells whether a peer has yet to apply what its reference is now. It enqueues such
// a peer, which may not have looked for itself yet. The error is errUnfinished when that is not
// known yet.
func (c *Controller) behind(ctx context.Context, s *scope, peer *corev1alpha1.Release) (lack string, behind bool, err error) {
	spec := peer.Spec
	reference, ok := sources.ReferenceOf(spec.Source)
	own, _ := sources.ReferenceOf(s.release.Spec.Source)
	if !ok || reference != own || spec.Suspend || spec.Pin != nil || spec.Sync.Mode == corev1alpha1.SyncModeManual {
		return "", false, nil
	}
	now, err := c.resolve(ctx, peer, fetch.Want{
		Namespace: peer.Namespace, Source: s.source, Content: spec.Source, MaxAge: s.want.MaxAge,
	})
	switch {
	case errors.Is(err, errUnfinished):
		return "", false, err
	case err != nil:
		return "", false, nil // the peer's to report
	case appliedRevision(peer) == now.revision:
		lack, ok := delivered(peer)
		return lack, !ok, nil
	}
	c.Enqueue(nameOf(peer), base.PriorityChange)
	return fmt.Sprintf("has not applied %s yet", short(now.revision)), true, nil
}
