// SPDX-License-Identifier: Apache-2.0

// Package certificates supplies convoy-apiserver with certificates that it makes itself: one
// to serve with and to show to convoy-observer, and the caBundle by which the host knows it.
package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kumodo.io/convoy/internal/certificate"
)

const (
	serverName   = "convoy-apiserver"
	observerName = "convoy-observer"
)

// ServiceName is the name by which the host calls convoy-apiserver in a namespace.
func ServiceName(namespace string) string { return serverName + "." + namespace + ".svc" }

// Config says whose certificates are kept and where.
type Config struct {
	// Secret of the certificate authority, in the namespace of the installation.
	Secret types.NamespacedName
	// APIServices whose caBundle is kept, by name.
	APIServices []string
	// Serving gets the certificate.
	Serving *Serving
}

// Certificates keeps everything up to date while it runs.
type Certificates struct {
	config    Config
	keeper    *certificate.Keeper
	publisher *publisher
}

// New gives Certificates of an installation on the host cluster that config reaches.
func New(c Config, host *rest.Config) (*Certificates, error) {
	kube, err := kubernetes.NewForConfig(host)
	if err != nil {
		return nil, fmt.Errorf("client of the host cluster: %w", err)
	}
	services, err := dynamic.NewForConfig(host)
	if err != nil {
		return nil, fmt.Errorf("client of the host cluster: %w", err)
	}
	return build(c, kube, services, clock.RealClock{})
}

func build(c Config, kube kubernetes.Interface, services dynamic.Interface, clock clock.Clock) (*Certificates, error) {
	result := &Certificates{config: c}
	var err error
	result.keeper, err = certificate.New(certificate.Options{
		Client: kube, Secret: c.Secret, Clock: clock, Changed: result.changed,
		Subject: certificate.Subject{
			CommonName: serverName, DNSNames: []string{ServiceName(c.Secret.Namespace)},
			Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		},
	})
	if err != nil {
		return nil, err
	}
	result.publisher = &publisher{
		client: services, names: c.APIServices, bundles: result, clock: clock,
		wake: make(chan struct{}, 1), problem: errNothingYet,
	}
	return result, nil
}

// Run works until ctx ends.
func (c *Certificates) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { c.publisher.run(ctx) })
	if err := c.keeper.Run(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Certificates are not kept up to date any more")
	}
}

// Name of the readiness check.
func (c *Certificates) Name() string { return "certificates" }

// Check is a readiness check: it returns an error, with the cause, until there is a
// certificate and the host knows by whom it is signed.
func (c *Certificates) Check(request *http.Request) error {
	if err := c.keeper.Check(request.Context()); err != nil {
		return err
	}
	return c.publisher.check()
}

// changed hands on what the keeper has.
func (c *Certificates) changed(ctx context.Context) {
	if err := c.config.Serving.set(c.keeper.Current().Certificate); err != nil {
		klog.FromContext(ctx).Error(err, "The serving certificate stays as it was")
	}
	c.publisher.changed()
}

// known and latest are for the publisher.
func (c *Certificates) known() []byte {
	if current := c.keeper.Current(); current != nil {
		return current.Bundle
	}
	return nil
}

func (c *Certificates) latest(ctx context.Context) ([]byte, error) { return c.keeper.Bundle(ctx) }

// ObserverTLS tells how convoy-observer is reached now: by which certificate it knows this
// server, and whom of the installation it has to be. It fails while there is no certificate.
func (c *Certificates) ObserverTLS() (*tls.Config, error) {
	current := c.keeper.Current()
	if current == nil {
		return nil, errors.New("there is no certificate yet to show to convoy-observer")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: current.Roots, Certificates: []tls.Certificate{current.Certificate},
		ServerName: observerName + "." + c.config.Secret.Namespace + ".svc",
	}, nil
}
