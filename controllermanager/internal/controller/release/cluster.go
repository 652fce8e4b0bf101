// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
)

// findCluster finds the Cluster that the Release names, and stops when it is suspended or
// known not to answer.
func (c *Controller) findCluster(ctx context.Context, s *scope) outcome {
	name := s.release.Spec.ClusterRef.Name
	cluster, err := c.clusterOfRelease(ctx, s.release)
	if err != nil {
		return abort(err)
	}
	if cluster == nil {
		return wait(corev1alpha1.ConditionReady, corev1alpha1.ReasonClusterNotFound,
			fmt.Sprintf("Cluster %s does not exist in namespace %s: create it; spec.clusterRef cannot be changed", name, s.key.Namespace))
	}
	s.cluster = cluster
	c.lastClusters.keep(s.key, cluster)
	if cluster.Spec.Suspend {
		return wait(corev1alpha1.ConditionReady, corev1alpha1.ReasonClusterSuspended,
			fmt.Sprintf("Cluster %s is suspended: nothing is synced to it until its spec.suspend is false", name))
	}
	return c.checkReachable(s)
}

// checkReachable holds a Release back while the circuit breaker of its cluster is open, as
// the Cluster says: no worker is spent on what would fail, and nothing counts as an attempt.
// When the Cluster says otherwise, all its Releases are enqueued.
func (c *Controller) checkReachable(s *scope) outcome {
	said, out := outOfReach(s.cluster)
	if !out {
		return next()
	}
	return wait(corev1alpha1.ConditionReady, corev1alpha1.ReasonTargetUnreachable,
		fmt.Sprintf("Cluster %s %s; it goes on by itself when it does", s.cluster.Name, said))
}

// outOfReach says whether a cluster does not answer, and since when. The time is that of
// the Cluster's condition and stays the same.
func outOfReach(cluster *corev1alpha1.Cluster) (said string, out bool) {
	ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != corev1alpha1.ReasonUnreachable ||
		ready.ObservedGeneration != cluster.Generation {
		return "", false
	}
	return fmt.Sprintf("does not answer since %s (%s)", ready.LastTransitionTime.UTC().Format(time.RFC3339),
		strings.TrimPrefix(ready.Message, "cluster "+cluster.Name+": ")), true
}

func (c *Controller) cachedCluster(namespace, name string) *corev1alpha1.Cluster {
	object, exists, err := c.clusters.GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil
	}
	cluster, _ := object.(*corev1alpha1.Cluster)
	return cluster
}

// connect connects to the target with the Release's identity. Nothing is sent to it yet.
func (c *Controller) connect(ctx context.Context, s *scope) outcome {
	if err := c.open(ctx, s); err != nil {
		return fail(corev1alpha1.ConditionApplied, targetReason(err), err)
	}
	return next()
}

// open sets the scope's target and applier.
func (c *Controller) open(ctx context.Context, s *scope) error {
	target, err := c.config.Connector.ConnectRelease(ctx, s.cluster, s.release)
	if err != nil {
		return err
	}
	s.target = target
	s.applier = c.config.NewApplier(target, apply.Options{
		Release: s.release, Inventory: s.entries(), Force: s.request.force != "", Others: &others{controller: c, scope: s},
	})
	return nil
}

// targetReason gives the reason of a condition that reports an error of the connection to
// a target.
func targetReason(err error) string {
	if reason := clusterconn.Reason(err); reason != "" {
		return reason
	}
	if apierrors.IsNotFound(err) {
		return corev1alpha1.ReasonSecretNotFound
	}
	return corev1alpha1.ReasonApplyFailed
}

// noticeTrouble has the cluster looked at when a pass failed because it did not accept the
// credentials or cannot be connected to any more: its condition tells, and people need not
// wait for the next regular look, neither when that is mended. That it does not answer, its
// circuit breaker notices. What an identity of a Release may not do says nothing of the
// cluster.
func (c *Controller) noticeTrouble(s *scope, err error) {
	if s.cluster == nil || c.config.Probe == nil || !errors.Is(err, clusterconn.ErrUnauthenticated) && !errors.Is(err, clusterconn.ErrInvalid) {
		return
	}
	c.config.Probe(types.NamespacedName{Namespace: s.cluster.Namespace, Name: s.cluster.Name})
}
