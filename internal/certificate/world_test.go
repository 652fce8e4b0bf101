// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"crypto/x509"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"
)

const day = 24 * time.Hour

var (
	secretName = types.NamespacedName{Namespace: "convoy-system", Name: "convoy-ca"}
	secrets    = corev1.SchemeGroupVersion.WithResource("secrets")
)

// world is one Secret of an API server, which is written with optimistic concurrency as
// there, and the replicas that keep it. It runs in a synctest bubble: time stands still until
// every goroutine waits for it.
type world struct {
	*WithT
	t       *testing.T
	mu      sync.Mutex
	tracker clienttesting.ObjectTracker
	version int
	log     output

	requests atomic.Int64  // in all
	updates  atomic.Int64  // that succeeded
	slow     time.Duration // how long an update is under way

	replicas []*replica
}

// output is a log that several write.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// replica is one process.
type replica struct {
	*Keeper
	w       *world
	clock   skewed
	changes atomic.Int64
	cut     atomic.Bool  // its requests fail
	refused atomic.Value // error of its writes
	stop    context.CancelFunc
	stopped chan struct{}

	mu      sync.Mutex
	watches []watch.Interface
}

// skewed is a clock that is wrong.
type skewed struct {
	clock.RealClock
	by time.Duration
}

func (c skewed) Now() time.Time { return c.RealClock.Now().Add(c.by) }

// inWorld runs test in a bubble, with an empty Secret as it is shipped.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{WithT: NewWithT(t), t: t, tracker: clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())}
		w.Expect(w.tracker.Create(secrets, w.next(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: secretName.Namespace, Name: secretName.Name},
		}), secretName.Namespace)).To(Succeed())
		defer func() {
			for _, r := range w.replicas {
				r.end()
			}
		}()
		test(w)
	})
}

// start starts a replica whose clock is wrong by some time.
func (w *world) start(wrong time.Duration) *replica {
	w.t.Helper()
	r := &replica{w: w, clock: skewed{by: wrong}, stopped: make(chan struct{})}
	keeper, err := New(Options{
		Client: w.client(r), Secret: secretName, Clock: r.clock, Changed: func(context.Context) { r.changes.Add(1) },
		Subject: Subject{
			CommonName: "convoy-apiserver", DNSNames: []string{"convoy-apiserver.convoy-system.svc"},
			Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		},
	})
	w.Expect(err).NotTo(HaveOccurred())
	r.Keeper = keeper
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&w.log), textlogger.Verbosity(10)))
	ctx, stop := context.WithCancel(klog.NewContext(w.t.Context(), logger))
	r.stop = stop
	go func() {
		defer close(r.stopped)
		_ = keeper.Run(ctx)
	}()
	w.replicas = append(w.replicas, r)
	return r
}

func (r *replica) end() {
	r.stop()
	<-r.stopped
}

// connect cuts or restores the replica's way to the host.
func (r *replica) connect(on bool) {
	r.cut.Store(!on)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !on {
		for _, w := range r.watches {
			w.Stop()
		}
		r.watches = nil
	}
}

// client is a clientset of one process in the world.
func (w *world) client(r *replica) *fake.Clientset {
	c := &fake.Clientset{}
	c.AddReactor("*", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		w.requests.Add(1)
		if r.cut.Load() {
			return true, nil, errors.New("connection refused")
		}
		if err, ok := r.refused.Load().(error); ok && (action.GetVerb() == "update" || action.GetVerb() == "patch") {
			return true, nil, err
		}
		if action.GetVerb() == "update" {
			time.Sleep(w.slow)
		}
		object, err := w.react(action)
		return true, object, err
	})
	c.AddWatchReactor("secrets", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w.requests.Add(1)
		if r.cut.Load() {
			return true, nil, errors.New("connection refused")
		}
		options := action.(clienttesting.WatchActionImpl).ListOptions
		w.Expect(options.FieldSelector).To(Equal("metadata.name=convoy-ca"), "the right is for this one only")
		watcher, err := w.tracker.Watch(action.GetResource(), action.GetNamespace(), options)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.watches = append(r.watches, watcher)
		return true, watcher, err
	})
	return c
}

// react does what the API server does.
func (w *world) react(action clienttesting.Action) (runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch action := action.(type) {
	case clienttesting.UpdateActionImpl:
		secret := action.Object.(*corev1.Secret)
		current, err := w.tracker.Get(secrets, action.Namespace, secret.Name)
		if err != nil {
			return nil, err
		}
		if current.(*corev1.Secret).ResourceVersion != secret.ResourceVersion {
			return nil, apierrors.NewConflict(secrets.GroupResource(), secret.Name, errors.New("outdated"))
		}
		w.next(secret)
		w.updates.Add(1)
	case clienttesting.PatchActionImpl:
		w.Expect(action.PatchType).To(Equal(types.ApplyPatchType))
		secret := w.next(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: action.Namespace, Name: action.Name}})
		return secret, w.tracker.Create(secrets, secret, action.Namespace)
	}
	_, object, err := clienttesting.ObjectReaction(w.tracker)(action)
	return object, err
}

// next gives an object the next resource version.
func (w *world) next(secret *corev1.Secret) *corev1.Secret {
	w.version++
	secret.ResourceVersion = strconv.Itoa(w.version)
	return secret
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// trusts returns why somebody who trusts roots, and whose clock is wrong by some time, does
// not accept a certificate as that of a server and of a client.
func trusts(roots *x509.CertPool, wrong time.Duration, whose *replica) error {
	_, err := whose.Current().Certificate.Leaf.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: time.Now().Add(wrong), DNSName: "convoy-apiserver.convoy-system.svc",
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	_, clientErr := whose.Current().Certificate.Leaf.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: time.Now().Add(wrong), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return errors.Join(err, clientErr)
}

// allTrustAll expects that every replica accepts every other one.
func (w *world) allTrustAll(replicas ...*replica) {
	w.t.Helper()
	for _, one := range replicas {
		w.Expect(one.Check(w.t.Context())).To(Succeed())
		for _, other := range replicas {
			w.Expect(trusts(one.Current().Roots, one.clock.by, other)).To(Succeed(), "at %s", time.Now())
		}
	}
}

// issuer is the name of the authority that signed a replica's certificate.
func (r *replica) issuer() string { return r.Current().Certificate.Leaf.Issuer.CommonName }
