// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// recheckInterval is how long a connection is used before the Secrets it was made of are
// looked at again.
const recheckInterval = 5 * time.Second

// proxySchemes are the schemes of spec.agentless.proxyURL.
var proxySchemes = []string{"http", "https", "socks5"}

// Options configure a Connector.
type Options struct {
	// InCluster is the configuration for Clusters of mode inCluster: how convoy reaches
	// the cluster it runs in. nil refuses such Clusters.
	InCluster *rest.Config
	// Secrets reads the Secrets that Clusters name; required.
	Secrets Secrets
	// Authenticators by auth type; nil means DefaultAuthenticators.
	Authenticators map[string]Authenticator
	// ReadOnly refuses every request that could change a cluster, with ErrReadOnly.
	ReadOnly bool
	// Wrap wraps the transport of every cluster where it hands requests over to be sent, with
	// credentials in them and after all that they wait for. It is for a last look at a
	// request, and may refuse it. What it returns tells what it wraps as an
	// utilnet.RoundTripperWrapper. nil: nothing is there.
	Wrap func(http.RoundTripper) http.RoundTripper
	// UserAgent is sent with every request; empty means client-go's own.
	UserAgent string
	// Changed is told of a Cluster that is out of reach from now on, or in reach again. It
	// must not block. nil: nobody is told.
	Changed func(cluster types.NamespacedName)
	// Clock is the time; nil means the system's.
	Clock clock.WithDelayedExecution
}

// Connector keeps the connections to clusters. It is safe for concurrent use.
type Connector struct {
	options  Options
	building *building

	mu       sync.Mutex
	clusters map[types.NamespacedName]*held
}

// held is the target of one Cluster object, and what it was made of.
type held struct {
	mu        sync.Mutex
	uid       types.UID
	spec      *corev1alpha1.ClusterSpec
	secrets   secretDigests
	checkedAt time.Time
	target    *target
}

// New makes a Connector.
func New(o Options) *Connector {
	if o.Authenticators == nil {
		o.Authenticators = DefaultAuthenticators()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Changed == nil {
		o.Changed = func(types.NamespacedName) {}
	}
	return &Connector{options: o, building: newBuilding(), clusters: map[types.NamespacedName]*held{}}
}

// Connect gives the connection to a cluster with the identity of its credentials. It is
// made anew when the Cluster's spec or a Secret it was made of has changed, of which
// Secrets are looked at every few seconds at most; else the same connection comes back,
// and nothing is asked of any server. Nothing is sent to the target here in any case.
//
// Errors wrap ErrInvalid when the Cluster or its Secret is to blame, and are those of
// Options.Secrets otherwise.
func (c *Connector) Connect(ctx context.Context, cluster *corev1alpha1.Cluster) (*Connection, error) {
	target, err := c.target(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return target.connection("")
}

// ConnectRelease gives the connection of a Release to its cluster: as the service account
// of its target namespace that it names, else as the one that the Cluster names, else as
// the credentials themselves. It shares with Connect everything but the identity.
//
// While the Release is being deleted, an unchanged Cluster whose Secret is gone is reached
// with the last connection, if there was one in this process: who deletes a namespace
// with all three in it shall not be left with the Release's objects.
func (c *Connector) ConnectRelease(ctx context.Context, cluster *corev1alpha1.Cluster, release *corev1alpha1.Release) (*Connection, error) {
	target, err := c.target(ctx, cluster)
	if apierrors.IsNotFound(err) && !release.DeletionTimestamp.IsZero() {
		if last := c.held(cluster).last(cluster); last != nil {
			target, err = last, nil
		}
	}
	if err != nil {
		return nil, err
	}
	connection, err := target.connection(identity(cluster, release))
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cluster.Name, err)
	}
	return connection, nil
}

// Forget drops what is kept of a Cluster: to be called when it is deleted, or is another
// replica's. Connections given out go on working.
func (c *Connector) Forget(namespace, name string) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	c.mu.Lock()
	h := c.clusters[key]
	delete(c.clusters, key)
	c.mu.Unlock()
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.target != nil {
		h.target.close()
	}
}

// Unreachable says whether a Cluster is known to be out of reach: requests to it fail at
// once with an OutageError, and Options.Changed is told when they do not any more. It is
// false for a Cluster that this process has not connected to.
func (c *Connector) Unreachable(namespace, name string) bool {
	c.mu.Lock()
	h := c.clusters[types.NamespacedName{Namespace: namespace, Name: name}]
	c.mu.Unlock()
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.target != nil && h.target.breaker.outageOver() != nil
}

// identity is the user that a Release acts as on its target, empty for none. Only the
// user is impersonated: the server adds the groups of a service account itself, and the
// permission that is needed stays "impersonate serviceaccounts".
func identity(cluster *corev1alpha1.Cluster, release *corev1alpha1.Release) string {
	namespace, name := release.Spec.TargetNamespace, release.Spec.ServiceAccountName
	if namespace == "" {
		namespace = release.Namespace
	}
	if name == "" {
		if cluster.Spec.Impersonate == nil {
			return ""
		}
		account := cluster.Spec.Impersonate.ServiceAccount
		namespace, name = account.Namespace, account.Name
	}
	return "system:serviceaccount:" + namespace + ":" + name
}

func (c *Connector) held(cluster *corev1alpha1.Cluster) *held {
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.clusters[key]
	if !ok {
		h = &held{}
		c.clusters[key] = h
	}
	return h
}

// target gives what all connections to a cluster share, made anew when it must be.
func (c *Connector) target(ctx context.Context, cluster *corev1alpha1.Cluster) (*target, error) {
	h := c.held(cluster)
	h.mu.Lock()
	defer h.mu.Unlock()
	current, err := c.isCurrent(ctx, h, cluster)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cluster.Name, err)
	}
	if current {
		return h.target, nil
	}
	seen := secretDigests{}
	target, err := c.open(ctx, cluster, recorder{secrets: c.options.Secrets, seen: seen})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cluster.Name, err)
	}
	if h.target != nil {
		h.target.close()
	}
	h.uid, h.spec = cluster.UID, cluster.Spec.DeepCopy()
	h.secrets, h.checkedAt, h.target = seen, c.options.Clock.Now(), target
	return target, nil
}

// isCurrent says whether what is held was made of this Cluster and of Secrets that are as
// they were.
func (c *Connector) isCurrent(ctx context.Context, h *held, cluster *corev1alpha1.Cluster) (bool, error) {
	if !h.madeOf(cluster) {
		return false, nil
	}
	now := c.options.Clock.Now()
	if now.Sub(h.checkedAt) < recheckInterval {
		return true, nil
	}
	unchanged, err := h.secrets.unchanged(ctx, c.options.Secrets)
	if err != nil || !unchanged {
		return false, err
	}
	h.checkedAt = now
	return true, nil
}

// madeOf compares specs, not generations: deleting an object raises its generation too.
func (h *held) madeOf(cluster *corev1alpha1.Cluster) bool {
	return h.target != nil && h.uid == cluster.UID && equality.Semantic.DeepEqual(h.spec, &cluster.Spec)
}

// last gives the last target that was made of this Cluster, nil if there is none.
func (h *held) last(cluster *corev1alpha1.Cluster) *target {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.madeOf(cluster) {
		return nil
	}
	return h.target
}

func (c *Connector) open(ctx context.Context, cluster *corev1alpha1.Cluster, secrets Secrets) (*target, error) {
	config, err := c.restConfig(ctx, cluster, secrets)
	if err != nil {
		return nil, err
	}
	return newTarget(config, cluster, c.building, c.options)
}

// restConfig gives the configuration of a cluster by its mode. An empty mode is what
// defaulting would have made of it.
func (c *Connector) restConfig(ctx context.Context, cluster *corev1alpha1.Cluster, secrets Secrets) (*rest.Config, error) {
	mode := cluster.Spec.Mode
	if mode == "" && cluster.Spec.Agentless != nil {
		mode = corev1alpha1.ClusterModeAgentless
	}
	switch mode {
	case "", corev1alpha1.ClusterModeInCluster:
		if c.options.InCluster == nil {
			return nil, invalidf("spec.mode is inCluster, but this process has no connection of its own to hand out")
		}
		return c.options.InCluster, nil
	case corev1alpha1.ClusterModeAgentless:
		return c.agentless(ctx, cluster, secrets)
	}
	return nil, invalidf("spec.mode %q is not built yet", mode)
}

func (c *Connector) agentless(ctx context.Context, cluster *corev1alpha1.Cluster, secrets Secrets) (*rest.Config, error) {
	access := cluster.Spec.Agentless
	if access == nil {
		return nil, invalidf("spec.agentless is required by spec.mode agentless")
	}
	authenticator, ok := c.options.Authenticators[access.Auth.Type]
	if !ok {
		registered := strings.Join(slices.Sorted(maps.Keys(c.options.Authenticators)), ", ")
		return nil, invalidf("spec.agentless.auth.type %q is not registered, there is: %s", access.Auth.Type, registered)
	}
	config, err := authenticator.RESTConfig(ctx, cluster, secrets)
	if err != nil {
		return nil, err
	}
	if access.TLSServerName != "" {
		config.ServerName = access.TLSServerName
	}
	if access.ProxyURL != "" {
		if err := checkURL(access.ProxyURL, proxySchemes...); err != nil {
			return nil, invalidf("spec.agentless.proxyURL %w", err)
		}
		proxy, err := url.Parse(access.ProxyURL)
		if err != nil {
			return nil, invalidf("spec.agentless.proxyURL is not a URL")
		}
		config.Proxy = http.ProxyURL(proxy)
	}
	return config, nil
}
