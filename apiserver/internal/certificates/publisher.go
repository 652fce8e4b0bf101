// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// publishInterval is how often the APIServices are looked at although nothing changed
	// here. They are polled and not watched: three requests a minute are less than three
	// open watches, and what is lost is back before long.
	publishInterval = time.Minute
	firstRetry      = time.Second
	requestTimeout  = 15 * time.Second

	// injectorPrefix begins the annotations by which cert-manager is told to write caBundle.
	injectorPrefix = "cert-manager.io/inject-"
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// bundles tells which authorities are to be trusted, in PEM.
type bundles interface {
	// known is what this process knows; empty: nothing yet.
	known() []byte
	// latest asks the host.
	latest(ctx context.Context) ([]byte, error)
}

// publisher keeps the caBundle of APIServices equal to what is to be trusted.
type publisher struct {
	client  dynamic.Interface
	names   []string
	bundles bundles
	clock   clock.Clock
	wake    chan struct{}

	mu      sync.Mutex
	done    bool  // all had the bundle once
	problem error // why the last try failed
}

// changed has the publisher look again.
func (p *publisher) changed() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// check returns an error until all APIServices had the bundle once. What goes wrong later is
// no reason to take this server from its Service.
func (p *publisher) check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return nil
	}
	return fmt.Errorf("the APIServices do not have the caBundle yet: %w", p.problem)
}

// run works until ctx ends.
func (p *publisher) run(ctx context.Context) {
	backoff := firstRetry
	for {
		wait := publishInterval
		err := p.pass(ctx)
		if ctx.Err() != nil {
			return
		}
		p.report(ctx, err)
		if err == nil {
			backoff = firstRetry
		} else {
			wait, backoff = backoff, min(2*backoff, publishInterval)
		}
		timer := p.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

func (p *publisher) report(ctx context.Context, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem, p.done = err, p.done || err == nil
	if err != nil && !errors.Is(err, errNothingYet) {
		klog.FromContext(ctx).Error(err, "The caBundle of APIServices cannot be kept up to date")
	}
}

var errNothingYet = errors.New("there is no certificate authority yet")

// pass looks at all APIServices once.
func (p *publisher) pass(ctx context.Context) error {
	if len(p.bundles.known()) == 0 {
		return errNothingYet
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var errs []error
	for _, name := range p.names {
		if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return p.publish(ctx, name) }); err != nil {
			errs = append(errs, fmt.Errorf("APIService %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// publish writes the bundle into one APIService that has another. A replica that lags behind
// must not put back what another one has replaced: so the host is asked for the bundle after
// the APIService was read, and the write is conditional on that it did not change since.
func (p *publisher) publish(ctx context.Context, name string) error {
	service, err := p.client.Resource(apiServices).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	has, err := caBundle(service)
	if err != nil {
		return err
	}
	if bytes.Equal(has, p.bundles.known()) {
		return nil
	}
	want, err := p.bundles.latest(ctx)
	if err != nil || bytes.Equal(has, want) {
		return err
	}
	if annotation := injected(service); annotation != "" {
		return fmt.Errorf("has the annotation %s, by which cert-manager writes its caBundle: remove the annotation, or start convoy-apiserver without --certificate-secret", annotation)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": service.GetResourceVersion()},
		"spec":     map[string]any{"caBundle": want},
	})
	if err != nil {
		return err
	}
	if _, err := p.client.Resource(apiServices).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "convoy"}); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Wrote the caBundle", "APIService", klog.KRef("", name))
	return nil
}

func caBundle(service *unstructured.Unstructured) ([]byte, error) {
	text, _, err := unstructured.NestedString(service.Object, "spec", "caBundle")
	if err != nil {
		return nil, fmt.Errorf("its caBundle: %w", err)
	}
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("its caBundle: %w", err)
	}
	return bundle, nil
}

// injected gives the annotation by which somebody else is to write the bundle.
func injected(service *unstructured.Unstructured) string {
	for name := range service.GetAnnotations() {
		if strings.HasPrefix(name, injectorPrefix) {
			return name
		}
	}
	return ""
}
