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
	"strings"
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
	Client      versioned.Interface
	Releases    corelisters.ReleaseLister
	Inventories corelisters.ReleaseInventoryLister
	Clusters    corelisters.ClusterLister
	// Visited says that the three have the objects of some shards only, all those that the loops
	// work on among them, so that what is not there has to be read. It is told of a Cluster that
	// there is a connection to all the same. nil: the three have everything.
	Visited      func(cluster types.NamespacedName)
	Connector    *clusterconn.Connector
	Tracker      *target.Tracker
	Installation string
}

// Target is the cluster of a Release, seen with the Release's identity.
type Target struct {
	*clusterconn.Connection
	Cluster *corev1alpha1.Cluster
}

// Capabilities are those of the connection; errors name the Cluster.
func (t *Target) Capabilities(ctx context.Context) (kubeVersion string, apiVersions []string, err error) {
	kubeVersion, apiVersions, err = t.Connection.Capabilities(ctx)
	return kubeVersion, apiVersions, t.Blame(err)
}

// Namespaced is that of the connection; errors name the Cluster.
func (t *Target) Namespaced(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	namespaced, err := t.Connection.Namespaced(ctx, gvk)
	return namespaced, t.Blame(err)
}

// Blame names the Cluster in an error that the target is to blame for as a whole, because
// it does not answer or does not accept the credentials, unless it is named there already.
// Other errors come back as they are.
func (t *Target) Blame(err error) error {
	var blamed *targetError
	if !ofTarget(err) || errors.As(err, &blamed) {
		return err
	}
	return &targetError{cluster: t.Cluster.Name, err: err}
}

// targetError is an error of a target, with the name of the Cluster.
type targetError struct {
	cluster string
	err     error
}

func (e *targetError) Error() string { return "cluster " + e.cluster + ": " + e.err.Error() }

func (e *targetError) Unwrap() error { return e.err }

// ofTarget tells errors that no object is to blame for.
func ofTarget(err error) bool {
	return errors.Is(err, clusterconn.ErrUnreachable) || errors.Is(err, clusterconn.ErrUnauthenticated)
}

func (t *Target) name() types.NamespacedName {
	return types.NamespacedName{Namespace: t.Cluster.Namespace, Name: t.Cluster.Name}
}

// Connect gives the Release's target. Nothing is sent to it yet. Errors: ErrNoCluster, and
// those of clusterconn.
func (h *Host) Connect(ctx context.Context, release *corev1alpha1.Release) (*Target, error) {
	cluster, err := h.cluster(ctx, types.NamespacedName{Namespace: release.Namespace, Name: release.Spec.ClusterRef.Name})
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

// reach is Connect for the loops: while the controller-manager finds that the cluster cannot
// be used, no worker is spent on it, and what watches last saw of it counts for nothing. The
// Cluster's condition wakes the loops again.
func (h *Host) reach(ctx context.Context, release *corev1alpha1.Release) (*Target, error) {
	t, err := h.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	if err := unusable(t.Cluster, release); err != nil {
		return nil, err
	}
	return t, nil
}

// unusableError is what the condition Ready of a Cluster has against it.
type unusableError struct{ reason, message string }

func (e *unusableError) Error() string { return e.message }

// unusable is why the controller-manager finds that a cluster cannot be used, nil when it
// does not. A Release that is being deleted may outlive the credentials, and is then still
// reached with the last connection.
func unusable(cluster *corev1alpha1.Cluster, release *corev1alpha1.Release) error {
	ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady)
	switch {
	case ready == nil || ready.Status != metav1.ConditionFalse || ready.ObservedGeneration != cluster.Generation:
		return nil
	case ready.Reason == corev1alpha1.ReasonUnreachable:
		// Its message may change with each look, and what is said here must not.
		return fmt.Errorf("cluster %s: %w (condition Ready of the Cluster)", cluster.Name, clusterconn.ErrUnreachable)
	case !release.DeletionTimestamp.IsZero():
		return nil
	}
	prefix := "cluster " + cluster.Name + ": "
	return &unusableError{reason: ready.Reason, message: prefix + strings.TrimPrefix(ready.Message, prefix)}
}

// track has the kinds of entries watched, and no others for the Release's
// sake, with the cluster's own identity: the watch spans all namespaces, which a Release's
// identity may not. Kinds that are not served are left out. catchingUp is true while the
// watches will soon tell what is to be known of the objects.
func (h *Host) track(ctx context.Context, release *corev1alpha1.Release, entries []corev1alpha1.InventoryEntry, t *Target) (catchingUp bool) {
	connection, err := h.Connector.Connect(ctx, t.Cluster)
	if err != nil {
		return false
	}
	seen := map[schema.GroupVersionKind]bool{}
	var resources []schema.GroupVersionResource
	for _, entry := range entries {
		gvk := entry.GroupVersionKind()
		if seen[gvk] {
			continue
		}
		seen[gvk] = true
		mapping, err := connection.Mapping(ctx, gvk)
		switch {
		case err == nil:
			resources = append(resources, mapping.Resource)
		case !meta.IsNoMatchError(err):
			return false // what is watched stays watched
		}
	}
	return h.Tracker.Track(t.name(), connection, nameOf(release), resources)
}

// catchUpRetry is when to look again whether the watches have caught up, if they do not tell.
const catchUpRetry = time.Second

// version is the resourceVersion of an object as its watch last saw it.
func (h *Host) version(ctx context.Context, t *Target, key corev1alpha1.ObjectKey) (version string, known bool) {
	mapping, err := t.Mapping(ctx, key.GroupVersionKind())
	if err != nil {
		return "", false
	}
	return h.Tracker.Version(t.name(), mapping.Resource, key.Namespace, key.Name)
}

// targetReason gives the reason of a condition that reports an error about a target.
func targetReason(err error) string {
	var said *unusableError
	switch {
	case errors.Is(err, ErrNoCluster):
		return corev1alpha1.ReasonClusterNotFound
	case errors.As(err, &said):
		return said.reason
	}
	return cmp.Or(clusterconn.Reason(err), corev1alpha1.ReasonUnknown)
}

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
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
