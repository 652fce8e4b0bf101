// SPDX-License-Identifier: Apache-2.0

// Package manager puts convoy-observer together and runs it.
package manager

import (
	"context"
	"errors"
	"fmt"
	"os"

	"filippo.io/age"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/internal/process"
	"kumodo.io/convoy/observer/internal/options"
	"kumodo.io/convoy/render/store"
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
	convoy  versioned.Interface
	kube    kubernetes.Interface
}

// NewConfig makes the clients.
func NewConfig(o *options.Options) (*Config, error) {
	restConfig, err := o.Process.RESTConfig(component)
	if err != nil {
		return nil, err
	}
	convoy, err := versioned.NewForConfig(restConfig)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(process.BuiltIn(restConfig))
	if err != nil {
		return nil, err
	}
	return &Config{options: o, rest: restConfig, convoy: convoy, kube: kube}, nil
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
	completed := &CompletedConfig{Config: c, registry: prometheus.NewRegistry()}
	completed.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var err error
	if completed.installation, err = process.Installation(ctx, c.kube, c.options.Process.Installation); err != nil {
		return nil, err
	}
	content := c.options.Content
	if content.RenderStoreURL == "" {
		return completed, nil
	}
	identities, err := readIdentities(content.IdentityFiles)
	if err != nil {
		return nil, err
	}
	completed.store, err = store.Open(ctx, content.RenderStoreURL, store.Options{ReadOnly: true, Identities: identities})
	if err != nil {
		return nil, fmt.Errorf("--render-store-url: %w", err)
	}
	return completed, nil
}

// readIdentities reads age identities; what is in the files shows in no error.
func readIdentities(files []string) ([]age.Identity, error) {
	var identities []age.Identity
	for _, file := range files {
		opened, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--render-store-identity-file: %w", err)
		}
		parsed, err := age.ParseIdentities(opened)
		if err := errors.Join(err, opened.Close()); err != nil {
			return nil, fmt.Errorf("--render-store-identity-file: %s holds no age identities", file)
		}
		identities = append(identities, parsed...)
	}
	return identities, nil
}
