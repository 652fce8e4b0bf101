// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

var (
	configMap = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	widget    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	reading   = schema.GroupVersionKind{Group: "metrics.example.com", Version: "v1beta1", Kind: "Reading"}
)

func TestMapping(t *testing.T) {
	for _, test := range []struct {
		name  string
		given schema.GroupVersionKind
		want  schema.GroupVersionResource
		scope meta.RESTScopeName
	}{
		{"core", configMap, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, meta.RESTScopeNameNamespace},
		{"cluster-scoped", schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
			schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, meta.RESTScopeNameRoot},
		{"of a group", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, meta.RESTScopeNameNamespace},
		{"a version that is not preferred", schema.GroupVersionKind{Group: "two.example.com", Version: "v1", Kind: "Gadget"},
			schema.GroupVersionResource{Group: "two.example.com", Version: "v1", Resource: "gadgets"}, meta.RESTScopeNameNamespace},
		{"no version", schema.GroupVersionKind{Group: "two.example.com", Kind: "Gadget"},
			schema.GroupVersionResource{Group: "two.example.com", Version: "v2", Resource: "gadgets"}, meta.RESTScopeNameNamespace},
		{"no version, and the preferred one lacks the kind", schema.GroupVersionKind{Group: "two.example.com", Kind: "Relic"},
			schema.GroupVersionResource{Group: "two.example.com", Version: "v1", Resource: "relics"}, meta.RESTScopeNameNamespace},
		{"two resources of a kind", schema.GroupVersionKind{Group: "two.example.com", Version: "v1", Kind: "Twin"},
			schema.GroupVersionResource{Group: "two.example.com", Version: "v1", Resource: "twins"}, meta.RESTScopeNameNamespace},
	} {
		for _, legacy := range []bool{false, true} {
			t.Run(test.name+map[bool]string{false: ", aggregated discovery", true: ", legacy discovery"}[legacy], func(t *testing.T) {
				g := NewWithT(t)
				f := newFakeCluster(t)
				f.legacy = legacy
				f.resources = append([]fakeResource{
					{group: "two.example.com", version: "v2", plural: "gadgets", kind: "Gadget"},
					{group: "two.example.com", version: "v1", plural: "gadgets", kind: "Gadget"},
					{group: "two.example.com", version: "v1", plural: "relics", kind: "Relic"},
					{group: "two.example.com", version: "v1", plural: "makers", kind: "Twin", verbs: []string{"create"}},
					{group: "two.example.com", version: "v1", plural: "twins", kind: "Twin"},
					{group: "two.example.com", version: "v1", plural: "reviews", kind: "Twin", verbs: []string{"create"}},
				}, defaultResources...)
				connection, _ := connect(t, f)

				got, err := connection.Mapping(t.Context(), test.given)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(got.Resource).To(Equal(test.want))
				g.Expect(got.GroupVersionKind).To(Equal(test.want.GroupVersion().WithKind(test.given.Kind)))
				g.Expect(got.Scope.Name()).To(Equal(test.scope))

				namespaced, err := connection.Namespaced(t.Context(), test.given)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(namespaced).To(Equal(test.scope == meta.RESTScopeNameNamespace))
			})
		}
	}
}

func TestMissIsAskedForOnce(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connection, clock := connect(t, f)
	miss := func() {
		t.Helper()
		_, err := connection.Mapping(t.Context(), widget)
		g.Expect(meta.IsNoMatchError(err)).To(BeTrue(), "%v", err)
	}
	miss()
	g.Expect(f.asked()).To(HaveLen(3), "what was just asked is not asked again")
	clock.Step(missInterval - 1)
	miss()
	g.Expect(f.asked()).To(BeEmpty())
	clock.Step(2)
	miss()
	miss()
	g.Expect(f.asked()).To(HaveLen(3))

	f.change(func() {
		f.resources = append([]fakeResource{{group: "example.com", version: "v1", plural: "widgets", kind: "Widget"}}, defaultResources...)
	})
	miss()
	connection.Invalidate()
	_, err := connection.Mapping(t.Context(), widget)
	g.Expect(err).NotTo(HaveOccurred(), "after Invalidate the server is asked at once")
	g.Expect(f.asked()).To(HaveLen(3))
	_, err = connection.Mapping(t.Context(), configMap)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.asked()).To(BeEmpty())
}

func TestWhatIsKnownGetsOld(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connection, clock := connect(t, f)
	_, err := connection.Mapping(t.Context(), configMap)
	g.Expect(err).NotTo(HaveOccurred())
	f.asked()

	clock.Step(maxAge + 1)
	_, err = connection.Mapping(t.Context(), configMap)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.asked()).To(HaveLen(3))

	f.Close()
	clock.Step(maxAge + 1)
	_, err = connection.Mapping(t.Context(), configMap)
	g.Expect(err).NotTo(HaveOccurred(), "old knowledge is better than none")
	_, _, err = connection.Capabilities(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = connection.Mapping(t.Context(), widget)
	g.Expect(err).To(MatchError(ErrUnreachable), "that a kind is absent cannot be said of an old time")
}

func TestDeadGroup(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		t.Run(map[bool]string{false: "aggregated discovery", true: "legacy discovery"}[legacy], func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			f.legacy = legacy
			f.dead[reading.GroupVersion()] = true
			connection, clock := connect(t, f)

			_, err := connection.Probe(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			_, err = connection.Mapping(t.Context(), configMap)
			g.Expect(err).NotTo(HaveOccurred())
			_, err = connection.Mapping(t.Context(), widget)
			g.Expect(meta.IsNoMatchError(err)).To(BeTrue(), "%v", err)

			var unavailable *GroupUnavailableError
			for _, kind := range []schema.GroupVersionKind{reading, {Group: reading.Group, Kind: reading.Kind}} {
				_, err = connection.Mapping(t.Context(), kind)
				g.Expect(errors.As(err, &unavailable)).To(BeTrue(), "%v", err)
				g.Expect(unavailable.GroupVersion).To(Equal(reading.GroupVersion()))
				g.Expect(err).To(MatchError(ContainSubstring("APIService v1beta1.metrics.example.com")))
				g.Expect(Classify(err)).NotTo(MatchError(ErrUnreachable), "the cluster is not to blame")
			}
			_, err = connection.Namespaced(t.Context(), reading)
			g.Expect(errors.As(err, &unavailable)).To(BeTrue(), "%v", err)

			f.change(func() { f.dead = map[schema.GroupVersion]bool{} })
			clock.Step(missInterval + 1)
			_, err = connection.Mapping(t.Context(), reading)
			g.Expect(err).NotTo(HaveOccurred(), "it is asked for again")
		})
	}
}

func TestGroupThatDies(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		t.Run(map[bool]string{false: "aggregated discovery", true: "legacy discovery"}[legacy], func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			f.legacy = legacy
			connection, _ := connect(t, f)
			_, before, err := connection.Capabilities(t.Context())
			g.Expect(err).NotTo(HaveOccurred())

			f.change(func() { f.dead[reading.GroupVersion()] = true })
			for range 2 {
				_, err = connection.Probe(t.Context())
				g.Expect(err).NotTo(HaveOccurred())
			}

			_, after, err := connection.Capabilities(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(after).To(Equal(before), "renders must not change with the health of a group's server")
			g.Expect(connection.Namespaced(t.Context(), reading)).To(BeTrue())
			var unavailable *GroupUnavailableError
			_, err = connection.Mapping(t.Context(), reading)
			g.Expect(errors.As(err, &unavailable)).To(BeTrue(), "%v", err)
		})
	}
}

func TestCapabilities(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		t.Run(map[bool]string{false: "aggregated discovery", true: "legacy discovery"}[legacy], func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			f.legacy = legacy
			connection, _ := connect(t, f)

			version, got, err := connection.Capabilities(t.Context())

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(version).To(Equal("v1.37.2"))
			g.Expect(got).To(Equal([]string{
				"apps/v1", "apps/v1/Deployment", "apps/v1/Scale",
				"metrics.example.com/v1beta1", "metrics.example.com/v1beta1/Reading",
				"v1", "v1/ConfigMap", "v1/Namespace",
			}))
			got[0] = "changed"
			_, again, err := connection.Capabilities(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again[0]).To(Equal("apps/v1"), "the slice is the caller's")
		})
	}
}

func TestProbe(t *testing.T) {
	notFound := func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }
	for _, test := range []struct {
		name  string
		given func(*fakeCluster)
		want  error
	}{
		{"well", func(*fakeCluster) {}, nil},
		{"wrong token", func(f *fakeCluster) { f.token = "another" }, ErrUnauthenticated},
		{"not there", func(f *fakeCluster) { f.Close() }, ErrUnreachable},
		{"not an API server", func(f *fakeCluster) { f.handle = notFound }, ErrUnreachable},
		{"a web page", func(f *fakeCluster) {
			f.handle = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }
		}, ErrUnreachable},
		{"anonymous", func(f *fakeCluster) {
			f.handle = func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/version" {
					f.discover(w, r)
					return
				}
				w.WriteHeader(http.StatusForbidden)
			}
		}, ErrForbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			connection, _ := connect(t, f)
			test.given(f)

			report, err := connection.Probe(t.Context())

			if test.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(report.Version).To(Equal("v1.37.2"))
				return
			}
			g.Expect(err).To(MatchError(test.want))
			g.Expect(err.Error()).NotTo(ContainSubstring(canary))
		})
	}
}

func TestProbeAlwaysAsks(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connection, _ := connect(t, f)
	for range 2 {
		_, err := connection.Probe(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.asked()).To(HaveLen(3))
	}
}

func TestProbeMeasuresTheFirstAnswer(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connection, clock := connect(t, f)
	f.handle = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			clock.Step(20 * time.Millisecond)
		default:
			clock.Step(time.Second)
		}
		f.discover(w, r)
	}
	g.Expect(connection.Probe(t.Context())).To(HaveField("Latency", 20*time.Millisecond))
}

// A server that is lost half-way has not said that the rest of its groups do not work.
func TestProbeOfAServerThatIsLostHalfWay(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	f.legacy = true
	f.handle = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis/apps/v1" {
			panic(http.ErrAbortHandler)
		}
		f.discover(w, r)
	}
	connection, _ := connect(t, f)
	_, err := connection.Probe(t.Context())
	g.Expect(err).To(MatchError(ErrUnreachable))
}

// A cluster with very many kinds costs as many requests as any other, and a server of a
// group that is dead is in nobody's way who does not need it.
func TestManyKinds(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	kinds := []schema.GroupVersionKind{configMap}
	f.resources = slices.Clone(f.resources)
	for group := range 300 {
		for kind := range 5 {
			gvk := schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", group), Version: "v1", Kind: fmt.Sprintf("Kind%d", kind)}
			kinds = append(kinds, gvk)
			f.resources = append(f.resources, fakeResource{
				group: gvk.Group, version: gvk.Version, plural: strings.ToLower(gvk.Kind) + "s", kind: gvk.Kind,
			})
		}
	}
	f.dead[reading.GroupVersion()] = true
	connector := New(Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary)), Clock: newFakeClock()})

	errs := make([]error, 20)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			connection, err := connector.ConnectRelease(t.Context(), agentless(), release(func(r *corev1alpha1.Release) { r.Spec.ServiceAccountName = fmt.Sprint("sa-", i) }))
			for _, kind := range kinds {
				if err == nil {
					_, err = connection.Mapping(t.Context(), kind)
				}
			}
			errs[i] = err
		})
	}
	wg.Wait()
	g.Expect(errs).To(HaveEach(BeNil()))
	connection, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = connection.Mapping(t.Context(), reading)
	g.Expect(err).To(MatchError(ContainSubstring("v1beta1.metrics.example.com")), "who needs it is told which")
	g.Expect(f.asked()).To(Equal([]string{"GET /version", "GET /api", "GET /apis"}), "for all of them together")
}

func TestRefusalIsRemembered(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	f.token = "another"
	connection, clock := connect(t, f)
	ask := func() {
		t.Helper()
		_, err := connection.Mapping(t.Context(), configMap)
		g.Expect(err).To(MatchError(ErrUnauthenticated))
	}
	ask()
	ask()
	g.Expect(f.asked()).To(HaveLen(1), "a thousand Releases do not ask a broken cluster a thousand times")
	clock.Step(missInterval + 1)
	ask()
	g.Expect(f.asked()).To(HaveLen(1))
}

func TestThatNobodyAnsweredIsNotRemembered(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	f.handle = http.NotFound
	connection, _ := connect(t, f)
	_, _, err := connection.Capabilities(t.Context())
	g.Expect(err).To(MatchError(ErrUnreachable))
	f.change(func() { f.handle = nil })
	_, _, err = connection.Capabilities(t.Context())
	g.Expect(err).NotTo(HaveOccurred(), "whoever is told that the cluster is back finds it so")
}

// A caller that gives up neither waits nor takes the refresh with it.
func TestRefreshOutlivesItsCaller(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	arrived, proceed := make(chan struct{}), make(chan struct{})
	f.handle = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			close(arrived)
			<-proceed
		}
		f.discover(w, r)
	}
	connection, _ := connect(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := connection.Mapping(ctx, configMap)
		result <- err
	}()
	<-arrived
	cancel()
	g.Expect(<-result).To(MatchError(context.Canceled))

	go func() {
		_, err := connection.Mapping(t.Context(), configMap)
		result <- err
	}()
	close(proceed)
	g.Expect(<-result).NotTo(HaveOccurred())
	g.Expect(f.asked()).To(HaveLen(3))
}
