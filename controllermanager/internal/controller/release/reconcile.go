// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
)

// step is one step of a pass.
type step struct {
	name string
	run  func(ctx context.Context, s *scope) outcome
	// attempt is what is repeated when the step failed, if it is more than the step: the sync
	// as a whole, so that nothing is written in preparation of what is not due yet.
	attempt string
}

func (st step) attemptName() string { return cmp.Or(st.attempt, st.name) }

// attemptSync is a sync as a whole.
const attemptSync = "sync"

// Steps that ask others, which may take longer than a pass.
const (
	stepRevision = "revision"
	stepPeers    = "peers"
	stepArtifact = "artifact"
	stepRender   = "render"
)

// deliverSteps bring the desired state to the target, in this order.
func (c *Controller) deliverSteps() []step {
	return []step{
		{"suspend", c.checkSuspended, ""},
		{"cluster", c.findCluster, ""},
		{"waves", c.awaitWaves, ""},
		{"dependencies", c.awaitDependencies, ""},
		{stepRevision, c.orStored(c.findRevision), ""},
		{stepPeers, c.awaitPeers, ""},
		{stepArtifact, c.orStored(c.fetchArtifact), ""},
		{"connect", c.connect, ""},
		{stepRender, c.renderObjects, ""},
		{"rollback", c.rollBack, ""},
		{"supersede", c.supersede, ""},
		{"revive inventory", c.reviveInventory, ""},
		{"spent hooks", c.removeSpent, ""},
		{"keep", c.keepApplied, ""},
		{"hold", c.holdAtGates, ""},
		{"decide", c.decide, ""},
		{"gates", c.awaitGates, ""},
		{"validate", c.validate, attemptSync},
		{"store", c.storeRender, attemptSync},
		{"namespace", c.createNamespace, attemptSync},
		{"inventory", c.writeAhead, attemptSync},
		{"preSync hooks", c.runPreSync, attemptSync},
		{"stages", c.applyStages, attemptSync},
		{"postSync hooks", c.runPostSync, attemptSync},
		{"prune", c.prune, attemptSync},
		{"record", c.record, attemptSync},
	}
}

// removeSteps take what a deleted Release applied off its target, in this order.
func (c *Controller) removeSteps() []step {
	return []step{
		{"nothing left", c.dropIfEmpty, ""},
		{"cluster", c.findClusterToClean, ""},
		{"connect", c.connectToClean, ""},
		{"orphan", c.orphan, ""},
		{"sync hooks", c.endSyncHooks, ""},
		{"delete hooks", c.findDeleteHooks, ""},
		{"preDelete hooks", c.runPreDelete, ""},
		{"delete", c.deleteObjects, ""},
		{"postDelete hooks", c.runHooks(corev1alpha1.HookPostDelete), ""},
		{"delete hook objects", c.deleteHookObjects, ""},
		{"finalizer", c.dropFinalizer, ""},
	}
}

// Reconcile makes one pass over a Release.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (base.Result, error) {
	s := c.begin(key)
	if s == nil {
		c.forget(key)
		return base.Result{}, c.endAbandoned(ctx, key)
	}
	s.references = c.track(ctx, s.release)
	c.watchElsewhere(s)
	passing, wanted := c.beginErrands(ctx, s)
	out := s.troubled(c.pass(passing, s))
	s.now = c.config.Clock.Now()
	c.metrics.changed(s.clusterName(), s.changes)
	if ctx.Err() != nil {
		c.errands.Forget(key)
		return base.Result{}, context.Cause(ctx)
	}
	wanted.Finish()
	if !s.release.DeletionTimestamp.IsZero() {
		out = c.letGo(ctx, s, out)
	}
	if err := c.writeUnwritten(ctx, s); err != nil {
		return base.Result{}, err
	}
	if out.kind == aborts {
		return base.Result{}, out.err
	}
	if s.finished {
		c.announce(s)
		c.forget(key)
		if len(c.indexed(indexCluster, s.clusterName())) <= 1 { // itself, if the informer has it still
			c.metrics.forget(s.clusterName())
		}
		return base.Result{}, nil
	}
	if err := c.afterFailure(ctx, s, out); err != nil {
		return base.Result{}, err
	}
	c.conclude(ctx, s, out)
	if err := c.writeStatus(ctx, s); err != nil {
		return base.Result{}, err
	}
	// Only now: a failure that is remembered here and in no status would hold the next pass
	// up, which would then have nothing to say.
	c.keepAttempt(s)
	c.keepAwaited(s)
	c.watchElsewhere(s)
	c.announce(s)
	if c.stateOf(s.awaited) != s.awaitedState {
		return base.Result{RequeueAfter: time.Millisecond}, nil // the change came before it was known that it is waited for
	}
	return base.Result{RequeueAfter: s.wake}, nil
}

// begin gives the scope of a pass, nil when the Release is gone.
func (c *Controller) begin(key types.NamespacedName) *scope {
	if c.cachedRelease(key.Namespace, key.Name) == nil {
		return nil
	}
	release := c.latestReleases.newest(key, func() *corev1alpha1.Release { return c.cachedRelease(key.Namespace, key.Name) }).DeepCopy()
	if release == nil {
		return nil
	}
	now := c.config.Clock.Now()
	s := &scope{
		key:     key,
		release: release,
		before:  release.Status.DeepCopy(),
		began:   now,
		now:     now,
		request: pendingRequest(release),
		attempt: c.attempts.get(key),
	}
	s.setPages(c.newestPages(release))
	c.await(s, c.awaits.get(key)...)
	c.watch(s)
	return s
}

// pass runs the steps until one ends it, and lets each outcome speak through its
// condition.
func (c *Controller) pass(ctx context.Context, s *scope) outcome {
	steps := c.deliver
	if !s.release.DeletionTimestamp.IsZero() {
		steps = c.remove
	}
	for _, step := range steps {
		s.now = c.config.Clock.Now() // the step before may have taken long
		if remaining, early := s.early(step.attemptName()); early {
			return outcome{kind: rests, after: remaining, step: step.name, attempt: step.attemptName()}
		}
		out := step.run(ctx, s)
		c.metrics.step(step.name, c.config.Clock.Since(s.now))
		out.step, out.attempt = step.name, step.attemptName()
		if ctx.Err() != nil {
			return out
		}
		if out.kind == fails && out.attempt == attemptSync {
			out.message += s.refusal()
		}
		s.setCondition(out)
		if out.kind != proceeds {
			return out
		}
	}
	return outcome{kind: completes}
}

// conclude records how the pass ended: attempts, health and the summary.
func (c *Controller) conclude(ctx context.Context, s *scope, out outcome) {
	status := &s.release.Status
	status.ObservedGeneration = s.release.Generation
	if out.after > 0 {
		s.wakeIn(out.after)
	}
	countAttempt(s, out)
	s.recordKept()
	s.sync().BlockedBy = out.blockedBy
	s.withoutRender(out)
	if s.release.DeletionTimestamp.IsZero() {
		c.judgeHealth(s)
	} else {
		s.set(corev1alpha1.ConditionHealthy, metav1.ConditionUnknown, corev1alpha1.ReasonDeleting,
			"the Release is being deleted", s.release.Generation)
	}
	s.settleApplied(out)
	s.summarize(out)
	if s.release.Status.Rollback == nil && s.release.DeletionTimestamp.IsZero() && s.rollsBack() && (s.spared || s.failedNow()) {
		s.wakeIn(time.Second)
	}
	if out.kind == fails {
		c.noticeTrouble(s, out.err)
		verbosity := 0
		if s.before.Sync != nil && s.before.Sync.LastError == s.sync().LastError {
			verbosity = 2 // it was logged when it began
		}
		klog.FromContext(ctx).V(verbosity).Info("Pass ended with a failure", "step", out.step, "reason", out.reason,
			"message", out.message, "attempts", s.sync().Attempts)
	}
}

// forget drops what is remembered of a Release that is gone.
func (c *Controller) forget(key types.NamespacedName) {
	c.latestReleases.forget(key)
	c.latestInventories.forget(key)
	c.attempts.forget(key)
	c.awaits.forget(key)
	c.lastClusters.forget(key)
	c.forgetReferences(key)
	c.sightings.forget(key)
	c.stored.forget(key)
	c.errands.Forget(key)
	c.questions.looks.forget(key)
	c.watched.forget(key)
	c.lacking.forget(key)
	c.left.forget(key)
	if c.config.Elsewhere != nil {
		c.config.Elsewhere.Want(key, nil)
	}
}

// untilFrom is how long it is from now until d after since, 0 when that is past.
func untilFrom(since time.Time, d time.Duration, now time.Time) time.Duration {
	return max(since.Add(d).Sub(now), 0)
}
