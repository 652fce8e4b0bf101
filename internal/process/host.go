// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kumodo.io/convoy/client/clientset/versioned"
)

// Host is the host cluster as a controller process reaches it.
type Host struct {
	REST   *rest.Config
	Convoy versioned.Interface  // speaks JSON, as convoy's kinds do
	Kube   kubernetes.Interface // speaks protobuf
}

// Connect makes the clients of the host cluster; nothing is asked of it yet. component
// names the process to the server.
func (o *Options) Connect(component string) (*Host, error) {
	config, err := o.RESTConfig(component)
	if err != nil {
		return nil, err
	}
	convoy, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the convoy API: %w", err)
	}
	kube, err := kubernetes.NewForConfig(BuiltIn(config))
	if err != nil {
		return nil, fmt.Errorf("client of the host cluster: %w", err)
	}
	return &Host{REST: config, Convoy: convoy, Kube: kube}, nil
}

// NewRegistry returns a registry with the metrics that every process has.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}
