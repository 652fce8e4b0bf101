// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clienttransport "k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxConnections is how many identities of a target are remembered: whoever writes Releases names
// them. A connection that is forgotten works on for those who have it.
const maxConnections = 256

// target is what all connections to one cluster share.
type target struct {
	config    *rest.Config // without credentials; requests go through its transport
	breaker   *breaker
	discovery *discoveryCache
	actsAs    string // user that the credentials' own configuration impersonates

	mu          sync.Mutex
	connections *lru.Cache // of *Connection by impersonated user, "" for none
}

// newTarget opens no connection yet. The config is not kept.
func newTarget(config *rest.Config, cluster *corev1alpha1.Cluster, in *building, options Options) (*target, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, invalidf("the server is not a URL or a host and port")
	}
	if server.User != nil {
		return nil, invalidf("the server's URL must not hold credentials")
	}
	transport, err := newTransport(config, options.Wrap)
	if err != nil {
		return nil, invalidf("credentials and TLS settings: %w", err)
	}
	name := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	breaker := newBreaker(transport, options.Clock, strings.TrimSuffix(server.String(), "/"), options.UserAgent, func() { options.Changed(name) })
	transport = &boundedTransport{
		server: server.Host, prefix: server.Path, delegate: breaker, room: in.room(cluster.Namespace),
	}
	if options.ReadOnly {
		transport = &readOnlyTransport{prefix: server.Path, delegate: transport}
	}
	shared := &rest.Config{
		Host:      server.String(),
		Transport: transport,
		UserAgent: options.UserAgent,
		// Warnings would come with every dry run, to a log that the person who can act on
		// them does not read.
		WarningHandlerWithContext: rest.NoWarnings{},
	}
	limit(shared, breaker, cluster.Spec.QPS, cluster.Spec.Burst)
	t := &target{config: shared, breaker: breaker, actsAs: config.Impersonate.UserName, connections: lru.New(maxConnections)}
	t.discovery, err = newDiscoveryCache(shared, options.Clock)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// limit sets the rate limiter that all connections to a cluster share, or none.
func limit(config *rest.Config, breaker *breaker, qps, burst int32) {
	if qps <= 0 {
		config.QPS = -1
		return
	}
	if burst <= 0 {
		burst = 2 * qps
	}
	config.QPS, config.Burst = float32(qps), int(burst)
	config.RateLimiter = &limiter{RateLimiter: flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst), breaker: breaker}
}

// limiter is a rate limiter that holds up no request that is not sent.
type limiter struct {
	flowcontrol.RateLimiter
	breaker *breaker
}

// Wait waits until a request may be sent.
func (l *limiter) Wait(ctx context.Context) error {
	if l.breaker.outageOver() != nil {
		return nil
	}
	return l.RateLimiter.Wait(ctx)
}

// connection gives the connection of an identity: of a user to impersonate, or of the
// credentials themselves when user is empty.
func (t *target) connection(user string) (*Connection, error) {
	if user != "" && t.actsAs != "" {
		return nil, invalidf("the credentials act as %q already, so that they cannot act as %q as well: "+
			"take the impersonation out of the kubeconfig, or out of the Cluster and its Releases", t.actsAs, user)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if connection, ok := t.connections.Get(user); ok {
		return connection.(*Connection), nil
	}
	config := rest.CopyConfig(t.config)
	if user != "" {
		config.Transport = clienttransport.NewImpersonatingRoundTripper(clienttransport.ImpersonationConfig{UserName: user}, t.config.Transport)
	}
	connection, err := newConnection(config, t)
	if err != nil {
		return nil, err
	}
	t.connections.Add(user, connection)
	return connection, nil
}

// close gives the target up; requests under way are not disturbed.
func (t *target) close() { t.breaker.close() }
