// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/internal/controller/base"
)

const (
	// longInterval is the time between looks at a cluster that works.
	longInterval = time.Minute
	// shortInterval is the time between looks at one that does not, so that it is found soon
	// when its Secret was corrected. That one that was out of reach answers again, the circuit
	// breaker finds.
	shortInterval = 5 * time.Second
	// jitter spreads looks that would all be due at once, as a part of the interval.
	jitter = 0.2
)

// Reconcile looks at a cluster if that is due, and counts its Releases.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (base.Result, error) {
	object, exists, err := c.config.Clusters.GetIndexer().GetByKey(key.String())
	if err != nil {
		return base.Result{}, err
	}
	cluster, ok := object.(*corev1alpha1.Cluster)
	if !exists || !ok {
		return base.Result{}, c.forget(key)
	}
	c.track(ctx, cluster)
	changed := cluster.DeepCopy()
	now := c.config.Clock.Now()
	unreachable := c.config.Prober.Unreachable(key.Namespace, key.Name)
	left := c.untilDue(cluster, unreachable, now)
	if left == 0 {
		c.probe(ctx, changed, unreachable, now)
		if ctx.Err() != nil {
			return base.Result{}, context.Cause(ctx)
		}
		left = wait.Jitter(c.interval(key), jitter)
	}
	if changed.Status.Releases, err = c.count(key); err != nil {
		return base.Result{}, err
	}
	if err = c.write(ctx, cluster, changed); err != nil {
		c.discard(key)
	}
	return base.Result{RequeueAfter: left}, err
}

// discard has a cluster looked at anew, because what was found could not be written.
func (c *Controller) discard(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.probes, key)
}

// forget drops what is kept of a Cluster that is gone. The connection to it is kept while
// it has Releases: when all are deleted together with their namespace, it is needed to
// clean the target. The last Release that goes makes the Cluster be looked at once more.
func (c *Controller) forget(key types.NamespacedName) error {
	releases, err := c.count(key)
	if err == nil && releases.Total == 0 {
		c.drop(key)
	}
	return err
}

// untilDue is how long it is until the next look, 0 when it is due: at intervals, and when
// there is another spec or the circuit breaker says something else than at the last look.
func (c *Controller) untilDue(cluster *corev1alpha1.Cluster, unreachable bool, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.probes[nameOf(cluster)]
	if !ok || last.uid != cluster.UID || last.generation != cluster.Generation || last.unreachable != unreachable {
		return 0
	}
	return max(last.at.Add(last.interval()).Sub(now), 0)
}

func (c *Controller) interval(key types.NamespacedName) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.probes[key].interval()
}

func (p probe) interval() time.Duration {
	if p.failed {
		return shortInterval
	}
	return longInterval
}

// probe asks the cluster and writes into the status what that came to.
func (c *Controller) probe(ctx context.Context, cluster *corev1alpha1.Cluster, unreachable bool, now time.Time) {
	report, err := c.config.Prober.Probe(ctx, cluster)
	c.mu.Lock()
	c.probes[nameOf(cluster)] = probe{
		uid: cluster.UID, generation: cluster.Generation, at: now, failed: err != nil, unreachable: unreachable,
	}
	c.mu.Unlock()

	status := &cluster.Status
	status.ObservedGeneration = cluster.Generation
	status.LastProbeTime, status.Latency = &metav1.Time{Time: now}, nil
	if report.Server != "" {
		status.Server = report.Server
	}
	condition := metav1.Condition{
		Type: corev1alpha1.ConditionReady, ObservedGeneration: cluster.Generation, LastTransitionTime: metav1.NewTime(now),
		Status: metav1.ConditionTrue, Reason: corev1alpha1.ReasonReachable, Message: "the API server answers and accepts the credentials",
	}
	if err != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason(err), err.Error()
	} else {
		status.Version = report.Version
		status.Latency = &metav1.Duration{Duration: max(report.Latency.Round(time.Millisecond), time.Millisecond)}
	}
	meta.SetStatusCondition(&status.Conditions, condition)
}

func reason(err error) string {
	switch {
	case errors.Is(err, clusterconn.ErrUnreachable): // whatever it answers, NotFound to everything among it
		return corev1alpha1.ReasonUnreachable
	case apierrors.IsNotFound(err):
		return corev1alpha1.ReasonSecretNotFound
	case errors.Is(err, clusterconn.ErrInvalid):
		return corev1alpha1.ReasonInvalidConfiguration
	case errors.Is(err, clusterconn.ErrUnauthenticated):
		return corev1alpha1.ReasonAuthenticationFailed
	case errors.Is(err, clusterconn.ErrForbidden):
		return corev1alpha1.ReasonForbidden
	}
	return corev1alpha1.ReasonUnreachable
}

// write writes the status if it says something new, or if it is an interval old.
func (c *Controller) write(ctx context.Context, before, changed *corev1alpha1.Cluster) error {
	if !differs(before, changed) {
		return nil
	}
	_, err := c.config.Client.CoreV1alpha1().Clusters(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status of Cluster %s/%s: %w", changed.Namespace, changed.Name, err)
	}
	c.announce(before, changed)
	return nil
}

func differs(before, changed *corev1alpha1.Cluster) bool {
	if at := changed.Status.LastProbeTime; at != nil {
		if old := before.Status.LastProbeTime; old == nil || at.Sub(old.Time) >= longInterval {
			return true
		}
	}
	return !equality.Semantic.DeepEqual(substance(before.Status), substance(changed.Status))
}

// substance gives a copy of the status without what changes at every look: the times, and
// the text of a failure.
func substance(status corev1alpha1.ClusterStatus) *corev1alpha1.ClusterStatus {
	plain := status.DeepCopy()
	plain.LastProbeTime, plain.Latency = nil, nil
	for i := range plain.Conditions {
		if plain.Conditions[i].Status == metav1.ConditionFalse {
			plain.Conditions[i].Message = ""
		}
	}
	return plain
}

// announce gives an event when Ready says something else than before.
func (c *Controller) announce(before, changed *corev1alpha1.Cluster) {
	old := meta.FindStatusCondition(before.Status.Conditions, corev1alpha1.ConditionReady)
	current := meta.FindStatusCondition(changed.Status.Conditions, corev1alpha1.ConditionReady)
	switch {
	case current == nil || old != nil && old.Status == current.Status && old.Reason == current.Reason:
	case current.Status == metav1.ConditionTrue && old != nil:
		c.config.Recorder.Event(changed, corev1.EventTypeNormal, current.Reason, current.Message)
	case current.Status == metav1.ConditionFalse:
		c.config.Recorder.Event(changed, corev1.EventTypeWarning, current.Reason, current.Message)
	}
}
