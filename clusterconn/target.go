// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	clienttransport "k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// target is what all connections to one cluster share.
type target struct {
	config    *rest.Config // without credentials; requests go through transport
	transport http.RoundTripper
	discovery *discoveryCache
	actsAs    string // user that the credentials' own configuration impersonates

	mu          sync.Mutex
	connections map[string]*Connection // by impersonated user, "" for none
}

// newTarget opens no connection yet. The config is not kept.
func newTarget(config *rest.Config, cluster *corev1alpha1.Cluster, options Options) (*target, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, invalidf("the server is not a URL or a host and port")
	}
	if server.User != nil {
		return nil, invalidf("the server's URL must not hold credentials")
	}
	transport, err := newTransport(config, server.Path, options.ReadOnly)
	if err != nil {
		return nil, invalidf("credentials and TLS settings: %w", err)
	}
	shared := &rest.Config{
		Host:      server.String(),
		Transport: transport,
		UserAgent: options.UserAgent,
		// Warnings would come with every dry run, to a log that the person who can act on
		// them does not read.
		WarningHandlerWithContext: rest.NoWarnings{},
	}
	limit(shared, cluster.Spec.QPS, cluster.Spec.Burst)
	t := &target{config: shared, transport: transport, actsAs: config.Impersonate.UserName, connections: map[string]*Connection{}}
	t.discovery, err = newDiscoveryCache(shared, clockOf(options))
	if err != nil {
		return nil, err
	}
	return t, nil
}

// limit sets the rate limiter that all connections to a cluster share, or none.
func limit(config *rest.Config, qps, burst int32) {
	if qps <= 0 {
		config.QPS = -1
		return
	}
	if burst <= 0 {
		burst = 2 * qps
	}
	config.QPS, config.Burst = float32(qps), int(burst)
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
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
	if connection, ok := t.connections[user]; ok {
		return connection, nil
	}
	config := rest.CopyConfig(t.config)
	if user != "" {
		config.Transport = clienttransport.NewImpersonatingRoundTripper(clienttransport.ImpersonationConfig{UserName: user}, t.transport)
	}
	connection, err := newConnection(config, t.discovery)
	if err != nil {
		return nil, err
	}
	t.connections[user] = connection
	return connection, nil
}

// close gives up idle connections; requests under way are not disturbed.
func (t *target) close() { utilnet.CloseIdleConnectionsFor(t.transport) }

func clockOf(options Options) clock.PassiveClock {
	if options.Clock != nil {
		return options.Clock
	}
	return clock.RealClock{}
}
