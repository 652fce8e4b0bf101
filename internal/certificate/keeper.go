// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// lookInterval is how often the clock is looked at. Timers alone would be late on a
	// machine that slept. Nothing is asked of the host for it.
	lookInterval = 6 * time.Hour

	// Waits between tries double. Without a certificate it is urgent; with one there are
	// days or months left.
	firstRetry   = time.Second
	urgentRetry  = time.Minute
	patientRetry = 15 * time.Minute
)

// Options of a Keeper. Client, Secret and Subject are required.
type Options struct {
	// Client of the host cluster.
	Client kubernetes.Interface
	// Secret that holds the authority.
	Secret types.NamespacedName
	// Subject of this process's certificate.
	Subject Subject
	// Clock is the real one when nil.
	Clock clock.Clock
	// Changed is called, when set, after Current has changed. It must not block.
	Changed func(ctx context.Context)
}

// Identity is what a process proves itself with, and whom it trusts. It is read only.
type Identity struct {
	// Certificate with its key; Leaf is set.
	Certificate tls.Certificate
	// Bundle are the certificates of the authorities to trust, in PEM, and Roots the same.
	Bundle []byte
	Roots  *x509.CertPool

	signer *x509.Certificate
	renew  time.Time
}

// String says whose certificate it is, and keeps its key out of logs.
func (i *Identity) String() string {
	return fmt.Sprintf("certificate of %s, valid until %s", i.Certificate.Leaf.Subject.CommonName, i.Certificate.Leaf.NotAfter.Format(time.RFC3339))
}

// Keeper keeps a process supplied with an Identity, and the Secret of the installation with
// an authority. It watches that one Secret; beyond the watch it asks the host for nothing
// but to write what is due, a few times a year.
type Keeper struct {
	o        Options
	informer cache.SharedIndexInformer
	wake     chan struct{} // the Secret changed
	current  atomic.Pointer[Identity]

	mu      sync.Mutex
	problem error // why the last try failed
}

// New makes a Keeper; Run starts it.
func New(o Options) (*Keeper, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	k := &Keeper{o: o, wake: make(chan struct{}, 1), problem: errors.New("the Secret was not read yet")}
	if err := k.follow(); err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return k, nil
}

// ParseSecret reads the value of a flag that names a Secret, namespace/name.
func ParseSecret(value string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(value, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return types.NamespacedName{}, fmt.Errorf("%q is not the namespace and the name of a Secret, as in convoy-system/convoy-ca", value)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// Current returns what the process has now; nil until there is something.
func (k *Keeper) Current() *Identity { return k.current.Load() }

// Check is a readiness check: it returns an error, with the cause, while there is no
// certificate or only one that has expired.
func (k *Keeper) Check(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	current := k.Current()
	switch {
	case current == nil:
		return fmt.Errorf("no certificate yet from Secret %s: %w", k.o.Secret, k.problem)
	case !k.o.Clock.Now().Before(current.Certificate.Leaf.NotAfter):
		return errors.Join(errors.New("the certificate has expired"), k.problem)
	}
	return nil
}

// Run works until ctx ends, and returns nil. What fails is logged and tried again.
func (k *Keeper) Run(ctx context.Context) error {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("Secret", klog.KRef(k.o.Secret.Namespace, k.o.Secret.Name)))
	following, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { k.informer.RunWithContext(following) })
	if !cache.WaitForCacheSync(ctx.Done(), k.informer.HasSynced) {
		return nil
	}
	retry := firstRetry
	for {
		wait := lookInterval
		err := k.pass(ctx)
		if ctx.Err() != nil {
			return nil
		}
		k.report(ctx, err)
		if err == nil {
			retry = firstRetry
		} else {
			wait = min(retry, k.patience(ctx))
			retry = 2 * wait
		}
		k.sleep(ctx, k.untilRenewal(wait))
	}
}

// patience is the longest wait between tries.
func (k *Keeper) patience(ctx context.Context) time.Duration {
	if k.Check(ctx) != nil {
		return urgentRetry
	}
	return patientRetry
}

// untilRenewal shortens a wait to the next renewal, as far as that makes sense.
func (k *Keeper) untilRenewal(wait time.Duration) time.Duration {
	if current := k.Current(); current != nil {
		wait = min(wait, current.renew.Sub(k.o.Clock.Now()))
	}
	return max(wait, firstRetry)
}

// sleep waits until there may be something to do.
func (k *Keeper) sleep(ctx context.Context, wait time.Duration) {
	timer := k.o.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-k.wake:
	case <-timer.C():
	}
}

// report keeps and logs why the last try failed; nil: it did not.
func (k *Keeper) report(ctx context.Context, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.problem = err
	if err != nil {
		klog.FromContext(ctx).Error(err, "Certificates cannot be kept up to date")
	}
}

// pass does once what is due now.
func (k *Keeper) pass(ctx context.Context) error {
	secret := k.secret()
	if secret == nil {
		return k.create(ctx)
	}
	now := k.o.Clock.Now()
	held, faults := read(secret.Data)
	want, steps, err := held.advance(now)
	if err != nil {
		return err
	}
	changed := secret.DeepCopy()
	if changed.Data == nil {
		changed.Data = map[string][]byte{}
	}
	if want.store(changed.Data) {
		// Only what is written is used: of several processes one is first.
		if written, err := k.write(ctx, changed); !written {
			return errors.Join(err, k.adopt(ctx, held, now))
		}
		klog.FromContext(ctx).Info("The certificate authority changed", "steps", steps, "faults", faults)
	}
	return k.adopt(ctx, want, now)
}

// adopt makes what is held this process's own, with a new certificate if it needs one.
func (k *Keeper) adopt(ctx context.Context, held contents, now time.Time) error {
	if held.signer == nil || !now.Before(held.signer.certificate.NotAfter) {
		return nil
	}
	next := Identity{Bundle: held.bundle(), Roots: held.pool()}
	current := k.Current()
	keeps := current != nil && now.Before(current.renew) && current.signer.Equal(held.signer.certificate)
	if keeps && bytes.Equal(current.Bundle, next.Bundle) {
		return nil
	}
	if keeps {
		next.Certificate, next.signer, next.renew = current.Certificate, current.signer, current.renew
	} else {
		var err error
		if next.Certificate, err = held.signer.issue(k.o.Subject, now); err != nil {
			return err
		}
		next.signer, next.renew = held.signer.certificate, renewal(now, next.Certificate.Leaf.NotAfter)
	}
	k.current.Store(&next)
	klog.FromContext(ctx).Info("The certificate or what is trusted changed", "issuer", next.signer.Subject.CommonName,
		"serial", next.Certificate.Leaf.SerialNumber, "notAfter", next.Certificate.Leaf.NotAfter, "trusted", len(held.trusted()))
	if k.o.Changed != nil {
		k.o.Changed(ctx)
	}
	return nil
}
