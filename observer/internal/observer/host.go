// SPDX-License-Identifier: Apache-2.0

// Package observer holds the two loops of convoy-observer: the HealthController judges the
// objects of every Release, the drift loop Controller finds differences between the target
// clusters and what was applied. Neither ever changes a target cluster.
package observer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	corelisters "kumodo.io/convoy/client/listers/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/target"
)

const (
	// passTimeout bounds what one pass asks of a target: one that takes requests and never
	// answers holds a worker no longer than this.
	passTimeout = 2 * time.Minute
	// retryInterval is when a pass is repeated in which a target did not answer as it should.
	retryInterval = 15 * time.Second
)

// ErrNoCluster says that the Cluster of a Release does not exist.
var ErrNoCluster = errors.New("there is no such cluster")

// Host is what both loops need of the host cluster and of the targets.
type Host struct {
	Client       versioned.Interface
	Requests     Requester
	Releases     corelisters.ReleaseLister
	Inventories  corelisters.ReleaseInventoryLister
	Clusters     corelisters.ClusterLister
	Connector    *clusterconn.Connector
	Tracker      *target.Tracker
	Installation string
}

// Target is the cluster of a Release, seen with the Release's identity.
type Target struct {
	*clusterconn.Connection
	Cluster *corev1alpha1.Cluster
}

func (t *Target) name() types.NamespacedName {
	return types.NamespacedName{Namespace: t.Cluster.Namespace, Name: t.Cluster.Name}
}

// Connect gives the Release's target. Nothing is sent to it yet. Errors: ErrNoCluster, and
// those of clusterconn.
func (h *Host) Connect(ctx context.Context, release *corev1alpha1.Release) (*Target, error) {
	cluster, err := h.Clusters.Clusters(release.Namespace).Get(release.Spec.ClusterRef.Name)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: Cluster %s in namespace %s", ErrNoCluster, release.Spec.ClusterRef.Name, release.Namespace)
	}
	if err != nil {
		return nil, err
	}
	connection, err := h.Connector.ConnectRelease(ctx, cluster, release)
	if err != nil {
		return nil, err
	}
	return &Target{Connection: connection, Cluster: cluster}, nil
}

// reach is Connect for the loops: while the controller-manager finds that the cluster does
// not answer, no worker is spent on it. The Cluster's condition wakes the loops again.
func (h *Host) reach(ctx context.Context, release *corev1alpha1.Release) (*Target, error) {
	t, err := h.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	ready := meta.FindStatusCondition(t.Cluster.Status.Conditions, corev1alpha1.ConditionReady)
	if ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == corev1alpha1.ReasonUnreachable &&
		ready.ObservedGeneration == t.Cluster.Generation {
		return nil, fmt.Errorf("cluster %s: %w (condition Ready of the Cluster)", t.Cluster.Name, clusterconn.ErrUnreachable)
	}
	return t, nil
}

// track has the kinds of the inventory's entries watched, and no others for the Release's
// sake, with the cluster's own identity: the watch spans all namespaces, which a Release's
// identity may not. Kinds that are not served are left out.
func (h *Host) track(ctx context.Context, release *corev1alpha1.Release, inventory *corev1alpha1.ReleaseInventory, t *Target) {
	connection, err := h.Connector.Connect(ctx, t.Cluster)
	if err != nil {
		return
	}
	seen := map[schema.GroupVersionKind]bool{}
	var resources []schema.GroupVersionResource
	for _, entry := range inventory.Spec.Entries {
		gvk := kindOf(entry.ObjectKey)
		if seen[gvk] {
			continue
		}
		seen[gvk] = true
		mapping, err := connection.Mapping(ctx, gvk)
		switch {
		case err == nil:
			resources = append(resources, mapping.Resource)
		case !meta.IsNoMatchError(err):
			return // what is watched stays watched
		}
	}
	h.Tracker.Track(t.name(), connection.Metadata(), nameOf(release), resources)
}

// version is the resourceVersion of an object as its watch last saw it.
func (h *Host) version(ctx context.Context, t *Target, key corev1alpha1.ObjectKey) (version string, known bool) {
	mapping, err := t.Mapping(ctx, kindOf(key))
	if err != nil {
		return "", false
	}
	return h.Tracker.Version(t.name(), mapping.Resource, key.Namespace, key.Name)
}

// targetReason gives the reason of a condition that reports an error about a target.
func targetReason(err error) string {
	if errors.Is(err, ErrNoCluster) {
		return corev1alpha1.ReasonClusterNotFound
	}
	return cmp.Or(clusterconn.Reason(err), corev1alpha1.ReasonUnknown)
}

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

func kindOf(key corev1alpha1.ObjectKey) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: key.Group, Version: key.Version, Kind: key.Kind}
}

// identity is what makes an object the same one: its version is no part of it.
func identity(key corev1alpha1.ObjectKey) corev1alpha1.ObjectKey {
	key.Version = ""
	return key
}

// objectName is how an object is written in messages.
func objectName(key corev1alpha1.ObjectKey) string {
	if key.Namespace == "" {
		return key.Kind + " " + key.Name
	}
	return key.Kind + " " + key.Namespace + "/" + key.Name
}

// count gives "1 object", "2 objects".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
