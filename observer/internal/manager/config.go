// SPDX-License-Identifier: Apache-2.0

// Package manager puts convoy-observer together and runs it.
package manager

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/internal/process"
	"kumodo.io/convoy/internal/shard"
	"kumodo.io/convoy/observer/internal/options"
	"kumodo.io/convoy/render/store"
	"kumodo.io/convoy/render/store/location"
)

// component is the name of the process to servers, and of its Leases.
const (
	component      = "convoy-observer"
	leaseComponent = "convoy-obs"
)

// Config is what the flags say, with clients made.
type Config struct {
	options *options.Options
	rest    *rest.Config
	convoy  versioned.Interface // writes nothing that the fence refuses
	kube    kubernetes.Interface
	fence   *shard.Fence
}

// NewConfig makes the clients.
func NewConfig(o *options.Options) (*Config, error) {
	host, err := o.Process.Connect(component)
	if err != nil {
		return nil, err
	}
	c := &Config{options: o, rest: host.REST, kube: host.Kube, fence: &shard.Fence{}}
	fenced := rest.CopyConfig(host.REST)
	fenced.Wrap(c.fence.Wrap)
	if c.convoy, err = versioned.NewForConfig(fenced); err != nil {
		return nil, fmt.Errorf("client of the convoy API: %w", err)
	}
	return c, nil
}

// CompletedConfig is a Config with all that must be asked or opened first.
type CompletedConfig struct {
	*Config
	installation string
	store        *store.Store
	registry     *prometheus.Registry
}

// Complete learns the installation's name and opens the render store.
func (c *Config) Complete(ctx context.Context) (*CompletedConfig, error) {
	completed := &CompletedConfig{Config: c, registry: process.NewRegistry()}
	var err error
	if completed.installation, err = process.Installation(ctx, c.kube, c.options.Process.Installation); err != nil {
		return nil, err
	}
	content := c.options.Content
	if content.RenderStoreURL == "" {
		return completed, nil
	}
	identities, err := store.ReadIdentities(content.IdentityFiles...)
	if err != nil {
		return nil, fmt.Errorf("--render-store-identity-file: %w", err)
	}
	completed.store, err = location.Open(ctx, content.RenderStoreURL, store.Options{
		Installation: completed.installation, ReadOnly: true, Identities: identities,
	})
	if err != nil {
		return nil, fmt.Errorf("--render-store-url: %w", err)
	}
	return completed, nil
}
