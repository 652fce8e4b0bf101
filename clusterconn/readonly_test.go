// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// roundTripper is a transport made of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (roundTripper) CloseIdleConnections() {}

func TestReadOnlyTransport(t *testing.T) {
	const (
		object     = "/api/v1/namespaces/n/configmaps/c"
		collection = "/apis/apps/v1/namespaces/n/deployments"
		pod        = "/api/v1/namespaces/n/pods/p"
	)
	for _, test := range []struct {
		method, target string
		want           bool
	}{
		{"GET", object, true},
		{"HEAD", object, true},
		{"GET", collection + "?watch=true", true},
		{"GET", "/version", true},
		{"GET", "/apis", true},
		{"GET", pod + "/log", true},
		{"GET", "/apis/apps/v1/namespaces/n/deployments/d/scale", true},
		{"GET", "/api/v1/namespaces/exec", true},
		{"GET", pod + "/exec?command=rm", false},
		{"GET", pod + "/attach", false},
		{"GET", pod + "/portforward", false},
		{"GET", pod + "/proxy/shutdown", false},
		{"GET", "/api/v1/nodes/n/proxy/run", false},
		{"GET", "/api/v1/namespaces/n/services/s/proxy", false},

		{"PATCH", object, false},
		{"PATCH", object + "?dryRun=All", true},
		{"PATCH", object + "?dryRun=All&force=true", true},
		{"PATCH", object + "?dryRun=", false},
		{"PATCH", object + "?dryRun=None", false},
		{"PATCH", object + "?dryRun=All&dryRun=All", false},
		{"PATCH", object + "?dryrun=All", false},
		{"PATCH", object + "?x=dryRun=All", false},
		{"PUT", object + "?dryRun=All", true},
		{"PUT", object, false},
		{"POST", collection + "?dryRun=All", true},
		{"POST", collection, false},
		{"POST", "/api/v1/namespaces?dryRun=All", true},
		{"PATCH", "/api/v1/namespaces/n?dryRun=All", true},
		{"PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/r?dryRun=All", true},
		{"DELETE", object, false},
		{"DELETE", object + "?dryRun=All", true},
		{"DELETE", collection, false},
		{"DELETE", collection + "?dryRun=All", true},

		{"POST", pod + "/exec?dryRun=All", false},
		{"POST", pod + "/eviction?dryRun=All", false},
		{"POST", pod + "/binding?dryRun=All", false},
		{"POST", "/api/v1/namespaces/n/serviceaccounts/s/token?dryRun=All", false},
		{"PUT", pod + "/proxy/x?dryRun=All", false},
		{"PUT", "/api/v1/namespaces/n/finalize?dryRun=All", false},
		{"PATCH", "/api/v1/namespaces/n/status?dryRun=All", false},
		{"PATCH", "/apis/apps/v1/namespaces/n/deployments/d/scale?dryRun=All", false},
		{"PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/r/sub?dryRun=All", false},
		{"POST", "/apis?dryRun=All", false},
		{"POST", "/api/v1?dryRun=All", false},
		{"POST", "/shutdown?dryRun=All", false},
		{"POST", "/?dryRun=All", false},
		{"OPTIONS", object, false},
		{"CONNECT", object + "?dryRun=All", true},
	} {
		for _, prefix := range []string{"", "/clusters/one"} {
			t.Run(test.method+" "+prefix+test.target, func(t *testing.T) {
				g := NewWithT(t)
				sent := false
				transport := &readOnlyTransport{prefix: prefix, delegate: roundTripper(func(*http.Request) (*http.Response, error) {
					sent = true
					return &http.Response{}, nil
				})}
				body := &closeRecorder{Reader: strings.NewReader("{}")}
				request, err := http.NewRequestWithContext(t.Context(), test.method, "https://cluster.test"+prefix+test.target, body)
				g.Expect(err).NotTo(HaveOccurred())

				_, err = transport.RoundTrip(request)

				g.Expect(sent).To(Equal(test.want))
				if !test.want {
					g.Expect(err).To(MatchError(ErrReadOnly))
					g.Expect(body.closed).To(BeTrue(), "a transport closes the body it is given")
				}
			})
		}
	}
}

type closeRecorder struct {
	*strings.Reader
	closed bool
}

func (c *closeRecorder) Close() error { c.closed = true; return nil }

func TestReadOnlyConnection(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	f.handle = func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}})
	}
	connection, _ := connect(t, f, func(o *Options) { o.ReadOnly = true })
	other, err := dynamic.NewForConfig(connection.Config())
	g.Expect(err).NotTo(HaveOccurred())
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}}}

	for _, client := range []dynamic.Interface{connection.Dynamic(), other} {
		configMaps := client.Resource(gvr).Namespace("n")
		_, err = configMaps.Get(t.Context(), "c", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		_, err = configMaps.Apply(t.Context(), "c", obj, metav1.ApplyOptions{FieldManager: "convoy", DryRun: []string{metav1.DryRunAll}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.asked()).To(HaveLen(2))

		_, err = configMaps.Apply(t.Context(), "c", obj, metav1.ApplyOptions{FieldManager: "convoy"})
		g.Expect(err).To(MatchError(ErrReadOnly))
		g.Expect(Classify(err)).NotTo(MatchError(ErrUnreachable))
		g.Expect(configMaps.Delete(t.Context(), "c", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})).To(MatchError(ErrReadOnly),
			"a DELETE has its dryRun in the body, where it is not looked for")
		g.Expect(f.asked()).To(BeEmpty())
	}
	g.Expect(connection.Metadata().Resource(gvr).Namespace("n").Delete(t.Context(), "c", metav1.DeleteOptions{})).To(MatchError(ErrReadOnly))
	g.Expect(f.asked()).To(BeEmpty())
}

func TestConnectionThatMayWrite(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	f.handle = func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"})
	}
	connection, _ := connect(t, f, func(o *Options) { o.UserAgent = "convoy-test/1" })
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	_, err := connection.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("n").
		Create(t.Context(), obj, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.lastRequest().Header.Get("Content-Type")).To(Equal("application/json"))
	g.Expect(f.lastRequest().Header.Get("User-Agent")).To(Equal("convoy-test/1"))
	g.Expect(f.lastRequest().ProtoMajor).To(Equal(2), "requests share one connection")
}
