// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// canary stands in credentials; it must turn up nowhere else.
const canary = "hunter2-canary"

// fakeResource is a resource that a fakeCluster serves.
type fakeResource struct {
	group, version, plural, kind string
	clusterScoped                bool
	verbs                        []string // default: get
	subresources                 []string // their kind is Scale
}

// fakeCluster is an API server with TLS that answers discovery requests and whatever
// handle says, and notes what it is asked.
type fakeCluster struct {
	*httptest.Server
	token string // accepted bearer token, any when empty

	mu        sync.Mutex
	requests  []*http.Request
	legacy    bool // no aggregated discovery
	resources []fakeResource
	dead      map[schema.GroupVersion]bool
	handle    http.HandlerFunc
}

var defaultResources = []fakeResource{
	{version: "v1", plural: "configmaps", kind: "ConfigMap"},
	{version: "v1", plural: "namespaces", kind: "Namespace", clusterScoped: true},
	{group: "apps", version: "v1", plural: "deployments", kind: "Deployment", subresources: []string{"scale"}},
	{group: "metrics.example.com", version: "v1beta1", plural: "readings", kind: "Reading"},
}

func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	f := &fakeCluster{resources: defaultResources, dead: map[schema.GroupVersion]bool{}}
	f.Server = httptest.NewUnstartedServer(f)
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.EnableHTTP2 = true
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

func (f *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests = append(f.requests, r.Clone(context.Background()))
	handle := f.handle
	f.mu.Unlock()
	switch {
	case f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token:
		writeStatus(w, apierrors.NewUnauthorized("Unauthorized"))
	case handle != nil:
		handle(w, r)
	default:
		f.discover(w, r)
	}
}

// change changes what the cluster serves.
func (f *fakeCluster) change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// asked gives what was requested, as "GET /path", in order, and forgets it.
func (f *fakeCluster) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := []string{}
	for _, r := range f.requests {
		asked = append(asked, r.Method+" "+r.URL.Path)
	}
	f.requests = nil
	return asked
}

func (f *fakeCluster) lastRequest() *http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[len(f.requests)-1]
}

func (f *fakeCluster) discover(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	aggregated := !f.legacy && strings.Contains(r.Header.Get("Accept"), "as=APIGroupDiscoveryList")
	switch parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); {
	case r.URL.Path == "/version":
		writeJSON(w, map[string]string{"gitVersion": "v1.37.2"})
	case r.URL.Path == "/api" && aggregated:
		f.writeAggregated(w, func(group string) bool { return group == "" })
	case r.URL.Path == "/apis" && aggregated:
		f.writeAggregated(w, func(group string) bool { return group != "" })
	case r.URL.Path == "/api":
		writeJSON(w, metav1.APIVersions{Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		f.writeGroups(w)
	case parts[0] == "api" && len(parts) == 2:
		f.writeResources(w, schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 3:
		f.writeResources(w, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	default:
		writeStatus(w, apierrors.NewNotFound(schema.GroupResource{}, r.URL.Path))
	}
}

// groups gives the groups in the order of their first resource, and their versions.
func (f *fakeCluster) groups(wanted func(string) bool) (names []string, versions map[string][]string) {
	versions = map[string][]string{}
	seen := map[schema.GroupVersion]bool{}
	for _, r := range f.resources {
		gv := schema.GroupVersion{Group: r.group, Version: r.version}
		if !wanted(r.group) || seen[gv] {
			continue
		}
		seen[gv] = true
		if len(versions[r.group]) == 0 {
			names = append(names, r.group)
		}
		versions[r.group] = append(versions[r.group], r.version)
	}
	return names, versions
}

func (f *fakeCluster) writeAggregated(w http.ResponseWriter, wanted func(string) bool) {
	list := apidiscoveryv2.APIGroupDiscoveryList{}
	names, versions := f.groups(wanted)
	for _, name := range names {
		group := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, version := range versions[name] {
			gv := schema.GroupVersion{Group: name, Version: version}
			discovered := apidiscoveryv2.APIVersionDiscovery{Version: version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
			if f.dead[gv] {
				discovered.Freshness = apidiscoveryv2.DiscoveryFreshnessStale
			}
			for _, r := range f.apiResources(gv) {
				kind := &metav1.GroupVersionKind{Group: name, Version: version, Kind: r.Kind}
				if parent, sub, isSub := strings.Cut(r.Name, "/"); isSub {
					for i := range discovered.Resources {
						if discovered.Resources[i].Resource == parent {
							discovered.Resources[i].Subresources = append(discovered.Resources[i].Subresources,
								apidiscoveryv2.APISubresourceDiscovery{Subresource: sub, ResponseKind: kind})
						}
					}
					continue
				}
				resource := apidiscoveryv2.APIResourceDiscovery{Resource: r.Name, ResponseKind: kind, Verbs: r.Verbs, Scope: apidiscoveryv2.ScopeCluster}
				if r.Namespaced {
					resource.Scope = apidiscoveryv2.ScopeNamespace
				}
				discovered.Resources = append(discovered.Resources, resource)
			}
			group.Versions = append(group.Versions, discovered)
		}
		list.Items = append(list.Items, group)
	}
	w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	_ = json.NewEncoder(w).Encode(list)
}

func (f *fakeCluster) writeGroups(w http.ResponseWriter) {
	list := metav1.APIGroupList{}
	names, versions := f.groups(func(group string) bool { return group != "" })
	for _, name := range names {
		group := metav1.APIGroup{Name: name}
		for _, version := range versions[name] {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + version, Version: version})
		}
		group.PreferredVersion = group.Versions[0]
		list.Groups = append(list.Groups, group)
	}
	writeJSON(w, list)
}

func (f *fakeCluster) writeResources(w http.ResponseWriter, gv schema.GroupVersion) {
	if f.dead[gv] {
		writeStatus(w, apierrors.NewServiceUnavailable("service unavailable"))
		return
	}
	writeJSON(w, metav1.APIResourceList{GroupVersion: gv.String(), APIResources: f.apiResources(gv)})
}

func (f *fakeCluster) apiResources(gv schema.GroupVersion) []metav1.APIResource {
	var resources []metav1.APIResource
	for _, r := range f.resources {
		if r.group != gv.Group || r.version != gv.Version {
			continue
		}
		verbs := r.verbs
		if verbs == nil {
			verbs = []string{"get"}
		}
		resources = append(resources, metav1.APIResource{Name: r.plural, Kind: r.kind, Namespaced: !r.clusterScoped, Verbs: verbs})
		for _, sub := range r.subresources {
			resources = append(resources, metav1.APIResource{Name: r.plural + "/" + sub, Kind: "Scale", Namespaced: !r.clusterScoped, Verbs: verbs})
		}
	}
	return resources
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

func writeStatus(w http.ResponseWriter, err *apierrors.StatusError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(err.ErrStatus.Code))
	_ = json.NewEncoder(w).Encode(err.ErrStatus)
}

// kubeconfig gives a kubeconfig for the cluster with a token, changed as a test likes.
func (f *fakeCluster) kubeconfig(t *testing.T, token string, changes ...func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	cluster := clientcmdapi.NewCluster()
	cluster.Server = f.URL
	cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	user := clientcmdapi.NewAuthInfo()
	user.Token = token
	for _, change := range changes {
		change(cluster, user)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = cluster
	config.AuthInfos["u"] = user
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	data, err := clientcmd.Write(*config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return data
}

// fakeSecrets are the Secrets of a namespace "web", by name.
type fakeSecrets struct {
	mu    sync.Mutex
	data  map[string]map[string][]byte
	reads int
}

func kubeconfigSecret(kubeconfig []byte) *fakeSecrets {
	return &fakeSecrets{data: map[string]map[string][]byte{"target": {"kubeconfig": kubeconfig}}}
}

func (s *fakeSecrets) Secret(_ context.Context, namespace, name string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	data, ok := s.data[name]
	if namespace != "web" || !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	return data, nil
}

func (s *fakeSecrets) set(name string, data map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data == nil {
		delete(s.data, name)
		return
	}
	s.data[name] = data
}

func (s *fakeSecrets) readSoFar() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// agentless is a Cluster that names the Secret "target".
func agentless(changes ...func(*corev1alpha1.Cluster)) *corev1alpha1.Cluster {
	cluster := &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "edge", UID: "uid-1", Generation: 1},
		Spec: corev1alpha1.ClusterSpec{
			Mode: corev1alpha1.ClusterModeAgentless,
			Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
				Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
				Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "target"}},
			}},
		},
	}
	for _, change := range changes {
		change(cluster)
	}
	return cluster
}

func release(changes ...func(*corev1alpha1.Release)) *corev1alpha1.Release {
	r := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop"}}
	for _, change := range changes {
		change(r)
	}
	return r
}

func newFakeClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
}

// connect gives a connection to the fake cluster, and its clock.
func connect(t *testing.T, f *fakeCluster, change ...func(*Options)) (*Connection, *clocktesting.FakeClock) {
	t.Helper()
	clock := newFakeClock()
	options := Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary)), Clock: clock}
	for _, f := range change {
		f(&options)
	}
	connection, err := New(options).Connect(t.Context(), agentless())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return connection, clock
}
