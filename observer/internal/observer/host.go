// SPDX-License-Identifier: Apache-2.0

// Package observer holds the two loops of convoy-observer: the HealthController judges the
// objects of every Release, the drift loop Controller finds differences between the target
// clusters and what was applied. Neither ever changes a target cluster.
package observer

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	corelisters "kumodo.io/convoy/client/listers/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/target"
)

// passTimeout bounds one pass over one Release: a target that takes requests and never
// answers holds a worker no longer than this.
const passTimeout = 2 * time.Minute

// Host is what both loops need of the host cluster and of the targets.
type Host struct {
	Client       versioned.Interface
	Releases     corelisters.ReleaseLister
	Inventories  corelisters.ReleaseInventoryLister
	Clusters     corelisters.ClusterLister
	Connector    *clusterconn.Connector
	Tracker      *target.Tracker
	Installation string
}

// Cluster returns the target cluster of a Release.
func (h *Host) Cluster(release *corev1alpha1.Release) (*corev1alpha1.Cluster, error) {
	return h.Clusters.Clusters(release.Namespace).Get(release.Spec.ClusterRef.Name)
}

// Connect returns a connection to the Release's target, with the Release's identity, and
// the name of the cluster.
func (h *Host) Connect(ctx context.Context, release *corev1alpha1.Release) (*clusterconn.Connection, types.NamespacedName, error) {
	cluster, err := h.Cluster(release)
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	connection, err := h.Connector.ConnectRelease(ctx, cluster, release)
	if err != nil {
		return nil, types.NamespacedName{}, fmt.Errorf("cluster %s: %w", cluster.Name, err)
	}
	return connection, types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}, nil
}

// track watches the kinds of the inventory's entries with the cluster's own identity: the
// watch spans all namespaces, which a Release's identity may not. It returns how soon to
// look again at the latest: a kind that was applied and is not known yet, because its
// CustomResourceDefinition is young, is asked for anew.
func (h *Host) track(ctx context.Context, release *corev1alpha1.Release, inventory *corev1alpha1.ReleaseInventory, resync time.Duration) time.Duration {
	cluster, err := h.Cluster(release)
	if err != nil {
		return resync
	}
	connection, err := h.Connector.Connect(ctx, cluster)
	if err != nil {
		return resync
	}
	name := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	for gvk, applied := range kindsOf(inventory) {
		mapping, err := connection.Mapping(ctx, gvk)
		if applied && meta.IsNoMatchError(err) {
			connection.Invalidate()
			mapping, err = connection.Mapping(ctx, gvk)
		}
		switch {
		case err == nil:
			h.Tracker.Track(name, connection.Metadata(), mapping.Resource)
		case applied && meta.IsNoMatchError(err):
			resync = min(resync, unknownKindRetry)
		}
	}
	return resync
}

// unknownKindRetry is when a kind that was applied and is not served is asked for again.
const unknownKindRetry = 3 * time.Second

// kindsOf are the kinds of an inventory, and whether an object of the kind was applied.
func kindsOf(inventory *corev1alpha1.ReleaseInventory) map[schema.GroupVersionKind]bool {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, entry := range inventory.Spec.Entries {
		gvk := kindOf(entry.ObjectKey)
		kinds[gvk] = kinds[gvk] || entry.UID != ""
	}
	return kinds
}

// version is the resourceVersion of an object as its watch last saw it.
func (h *Host) version(ctx context.Context, connection *clusterconn.Connection, cluster types.NamespacedName, key corev1alpha1.ObjectKey) (string, bool) {
	mapping, err := connection.Mapping(ctx, kindOf(key))
	if err != nil {
		return "", false
	}
	return h.Tracker.Version(cluster, mapping.Resource, key.Namespace, key.Name)
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
