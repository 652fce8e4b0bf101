// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

var names = []string{"v1alpha1.core.convoy.kumodo.io", "v1alpha1.source.convoy.kumodo.io"}

// host is the APIServices of a host, and what a publisher is told to write into them. It is
// used in a synctest bubble.
type host struct {
	*WithT
	*publisher
	client  *dynamicfake.FakeDynamicClient
	old     atomic.Pointer[string] // what this process knows
	new     atomic.Pointer[string] // what the Secret holds
	version int
	failing atomic.Bool
}

func (h *host) known() []byte                          { return []byte(*h.old.Load()) }
func (h *host) latest(context.Context) ([]byte, error) { return []byte(*h.new.Load()), nil }

// hold sets what is to be trusted.
func (h *host) hold(bundle string) {
	h.old.Store(&bundle)
	h.new.Store(&bundle)
}

// inHost runs test in a bubble, with a publisher that runs and APIServices without a bundle,
// one of which is another's.
func inHost(t *testing.T, test func(h *host)) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{WithT: NewWithT(t)}
		h.hold("")
		h.client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{apiServices: "APIServiceList"})
		for _, name := range append(names, "v1.another") {
			h.put(name, "", nil)
		}
		h.client.PrependReactor("*", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if h.failing.Load() {
				return true, nil, errors.New("connection refused")
			}
			return false, nil, nil
		})
		h.publisher = &publisher{client: h.client, names: names, bundles: h, clock: clock.RealClock{}, wake: make(chan struct{}, 1), problem: errNothingYet}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); h.run(ctx) }()
		defer func() { cancel(); <-ended }()
		synctest.Wait()
		test(h)
	})
}

// put writes an APIService as a person would.
func (h *host) put(name, bundle string, annotations map[string]string) {
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": name}, "spec": map[string]any{},
	}}
	h.version++
	service.SetResourceVersion(strconv.Itoa(h.version))
	service.SetAnnotations(annotations)
	if bundle != "" {
		h.Expect(unstructured.SetNestedField(service.Object, base64.StdEncoding.EncodeToString([]byte(bundle)), "spec", "caBundle")).To(Succeed())
	}
	tracker := h.client.Tracker()
	if _, err := tracker.Get(apiServices, "", name); apierrors.IsNotFound(err) {
		h.Expect(tracker.Create(apiServices, service, "")).To(Succeed())
		return
	}
	h.Expect(tracker.Update(apiServices, service, "")).To(Succeed())
}

// bundle is what an APIService has.
func (h *host) bundle(name string) string {
	object, err := h.client.Tracker().Get(apiServices, "", name)
	h.Expect(err).NotTo(HaveOccurred())
	bundle, err := caBundle(object.(*unstructured.Unstructured))
	h.Expect(err).NotTo(HaveOccurred())
	return string(bundle)
}

// requests counts those with a verb since they were counted last.
func (h *host) requests(verb string) int {
	count := 0
	for _, action := range h.client.Actions() {
		if action.GetVerb() == verb {
			count++
		}
	}
	h.client.ClearActions()
	return count
}

func (h *host) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestBundleIsPublished(t *testing.T) {
	inHost(t, func(h *host) {
		h.Expect(h.check()).To(MatchError(errNothingYet))
		h.Expect(h.client.Actions()).To(BeEmpty(), "there is nothing to say yet")
		h.hold("first")
		h.changed()
		synctest.Wait()
		h.Expect(h.check()).To(Succeed())
		h.Expect([]string{h.bundle(names[0]), h.bundle(names[1]), h.bundle("v1.another")}).To(Equal([]string{"first", "first", ""}))

		h.client.ClearActions()
		h.pass(time.Hour)
		h.Expect(h.requests("patch")).To(BeZero())
		h.pass(time.Hour)
		h.Expect(h.requests("get")).To(Equal(2 * 60))

		h.put(names[1], "", nil)
		h.pass(publishInterval)
		h.Expect(h.bundle(names[1])).To(Equal("first"), "what is lost comes back")

		h.hold("second")
		h.changed()
		synctest.Wait()
		h.Expect([]string{h.bundle(names[0]), h.bundle(names[1])}).To(Equal([]string{"second", "second"}))
	})
}

func TestALaggingReplicaPutsNothingBack(t *testing.T) {
	inHost(t, func(h *host) {
		h.hold("first")
		h.changed()
		synctest.Wait()
		second := "second"
		h.new.Store(&second)
		for _, name := range names {
			h.put(name, second, nil)
		}
		h.client.ClearActions()
		h.pass(time.Hour)
		h.Expect(h.requests("patch")).To(BeZero())
		h.Expect(h.bundle(names[0])).To(Equal(second))
	})
}

func TestAWriteOfAnotherReplicaInBetween(t *testing.T) {
	inHost(t, func(h *host) {
		conflicts := 0
		h.client.PrependReactor("patch", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
			patch := action.(clienttesting.PatchAction)
			h.Expect(string(patch.GetPatch())).To(ContainSubstring(`"resourceVersion":"`), "it must be conditional")
			if conflicts == 0 {
				conflicts++
				h.put(patch.GetName(), "of another", nil)
				second := "second"
				h.new.Store(&second)
				return true, nil, apierrors.NewConflict(apiServices.GroupResource(), patch.GetName(), errors.New("outdated"))
			}
			return false, nil, nil
		})
		h.hold("first")
		h.changed()
		h.pass(time.Second)
		h.Expect(conflicts).To(Equal(1))
		h.Expect([]string{h.bundle(names[0]), h.bundle(names[1])}).To(Equal([]string{"second", "second"}))
	})
}

func TestWhatKeepsTheBundleFromBeingPublished(t *testing.T) {
	for _, test := range []struct {
		name  string
		given func(h *host)
		want  []string
		mend  func(h *host)
	}{
		{
			"an APIService that does not exist",
			func(h *host) { h.Expect(h.client.Tracker().Delete(apiServices, "", names[1])).To(Succeed()) },
			[]string{names[1], "not found"},
			func(h *host) { h.put(names[1], "", nil) },
		}, {
			"cert-manager",
			func(h *host) { h.put(names[1], "its own", map[string]string{"cert-manager.io/inject-ca-from": "a/b"}) },
			[]string{names[1], "cert-manager.io/inject-ca-from", "--certificate-secret"},
			func(h *host) { h.put(names[1], "its own", nil) },
		}, {
			"a host that does not answer",
			func(h *host) { h.failing.Store(true) },
			[]string{names[0], names[1], "connection refused"},
			func(h *host) { h.failing.Store(false) },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			inHost(t, func(h *host) {
				test.given(h)
				h.hold("bundle")
				h.changed()
				h.pass(10 * time.Minute)
				for _, text := range test.want {
					h.Expect(h.check()).To(MatchError(ContainSubstring(text)))
				}
				h.Expect(h.requests("get")).To(BeNumerically("<", 40))
				test.mend(h)
				h.pass(publishInterval)
				h.Expect(h.check()).To(Succeed())
				h.Expect([]string{h.bundle(names[0]), h.bundle(names[1])}).To(Equal([]string{"bundle", "bundle"}))

				test.given(h)
				h.pass(10 * time.Minute)
				h.Expect(h.check()).To(Succeed(), "a server that was ready stays in its Service")
			})
		})
	}
}

func TestNoRightIsNeededToList(t *testing.T) {
	inHost(t, func(h *host) {
		h.hold("bundle")
		h.changed()
		h.pass(time.Hour)
		for _, action := range h.client.Actions() {
			h.Expect(action.GetVerb()).To(BeElementOf("get", "patch"))
		}
	})
}
