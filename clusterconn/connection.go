// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// probeTimeout bounds a probe as a whole.
const probeTimeout = 15 * time.Second

// Connection is a cluster seen with one identity. It is safe for concurrent use, cheap to
// get from the Connector each time, and goes on working while requests that began on it
// last, also after the Connector has replaced it.
type Connection struct {
	config    *rest.Config
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	rest      rest.Interface
	discovery *discoveryCache
	breaker   *breaker
}

func newConnection(config *rest.Config, t *target) (*Connection, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making the HTTP client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making the dynamic client: %w", err)
	}
	metadataClient, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making the metadata client: %w", err)
	}
	restClient, err := rest.UnversionedRESTClientForConfigAndClient(dynamic.ConfigFor(config), client)
	if err != nil {
		return nil, fmt.Errorf("making the REST client: %w", err)
	}
	return &Connection{config: config, dynamic: dynamicClient, metadata: metadataClient, rest: restClient, discovery: t.discovery, breaker: t.breaker}, nil
}

// Config gives a configuration for further clients, the caller's to change. It holds no
// credentials: they, the identity and the read-only guard are in its Transport.
func (c *Connection) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Dynamic gives the client for whole objects, which speaks JSON.
func (c *Connection) Dynamic() dynamic.Interface { return c.dynamic }

// Metadata gives the client for objects' metadata.
func (c *Connection) Metadata() metadata.Interface { return c.metadata }

// REST gives the client for requests to absolute paths, which gives answers as they came.
func (c *Connection) REST() rest.Interface { return c.rest }

// Server gives the URL of the cluster's API server. It holds no credentials.
func (c *Connection) Server() string { return c.config.Host }

// Outage gives a channel that is closed when the cluster is in reach again, nil while it is:
// requests that fail with an OutageError may be held back until then.
func (c *Connection) Outage() <-chan struct{} { return c.breaker.outageOver() }

// Mapping finds the resource of a kind, asking the server again when the kind is not
// known, though not at every miss. An empty version means the one that the server
// prefers. The mapping is shared and must not be changed.
//
// Errors: meta.IsNoMatchError when the cluster has no such kind, a *GroupUnavailableError
// when the group's own server does not work, else those of Classify.
func (c *Connection) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	return c.discovery.mapping(ctx, gvk)
}

// Namespaced says whether objects of a kind live in namespaces. Errors are those of
// Mapping, but a kind that was seen before its group's server failed is still known.
func (c *Connection) Namespaced(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	return c.discovery.namespaced(ctx, gvk)
}

// Invalidate makes the next look-up of any connection to the cluster ask the server: to be
// called when kinds were added or removed.
func (c *Connection) Invalidate() { c.discovery.invalidate() }

// Capabilities gives the cluster's Kubernetes version ("v1.37.2") and, sorted, its API
// versions and kinds ("batch/v1", "batch/v1/CronJob"), as Helm charts ask for them. A
// group whose server does not work keeps what was last known of it, so that what is
// rendered does not change with it. The slice is the caller's. Errors are those of
// Classify.
func (c *Connection) Capabilities(ctx context.Context) (kubeVersion string, apiVersions []string, err error) {
	known, err := c.discovery.known(ctx)
	if err != nil {
		return "", nil, err
	}
	return known.version, slices.Clone(known.apiVersions), nil
}

// Report is what a probe found.
type Report struct {
	// Version of Kubernetes.
	Version string
	// Latency is how long the server took to answer the first question.
	Latency time.Duration
}

// Probe asks the server for its version and its discovery documents, whatever is cached:
// the server is reachable, accepts the credentials, and discovery works. Groups that do not
// work are no failure. During an outage nothing is sent. Errors are those of Classify.
func (c *Connection) Probe(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	known, err := c.discovery.refresh(ctx)
	if err != nil {
		return Report{}, err
	}
	return Report{Version: known.version, Latency: known.latency}, nil
}
