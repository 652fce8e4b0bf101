// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestClusterList(t *testing.T) {
	cluster := corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge", CreationTimestamp: metav1.NewTime(time.Now().Add(-48 * time.Hour))},
		Spec:       corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless},
		Status: corev1alpha1.ClusterStatus{
			Version: "v1.37.2", Server: "https://edge", Releases: &corev1alpha1.ClusterReleases{Total: 3, Ready: 2},
			Latency: &metav1.Duration{Duration: 7 * time.Millisecond}, LastProbeTime: &metav1.Time{Time: time.Now().Add(-30 * time.Second)},
			Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Message: "no\nanswer"}},
		},
	}
	off := corev1alpha1.Cluster{ObjectMeta: cluster.ObjectMeta, Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster, Suspend: true}}
	list := func(clusters ...corev1alpha1.Cluster) *corev1alpha1.ClusterList {
		return &corev1alpha1.ClusterList{TypeMeta: typeMeta("ClusterList"), Items: clusters}
	}
	for _, test := range []struct {
		name        string
		args        []string
		path        string
		answer      *corev1alpha1.ClusterList
		out, errOut string
	}{
		{"those of the namespace", nil, clustersPath + "?limit=500", list(cluster, off),
			"NAME MODE READY VERSION RELEASES AGE MESSAGE|edge agentless False v1.37.2 2/3 2d no answer|edge inCluster Unknown 2d suspended", ""},
		{"wide, of all", []string{"-A", "-o", "wide", "--no-headers"}, "/apis/core.convoy.kumodo.io/v1alpha1/clusters?limit=500", list(cluster),
			"shop edge agentless False v1.37.2 2/3 https://edge 7ms 30s ago 2d no answer", ""},
		{"by labels", []string{"-l", "a=b", "-o", "name"}, clustersPath + "?labelSelector=a%3Db&limit=500", list(cluster), "cluster.core.convoy.kumodo.io/edge", ""},
		{"none", nil, clustersPath + "?limit=500", list(), "", "No Clusters found in namespace shop.\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			server := &recorder{answers: map[string]runtime.Object{"GET " + test.path: test.answer}}
			_, out, errOut := server.change(t, append([]string{"cluster", "list"}, test.args...)...)
			g.Expect(strings.Join(words(out), "|")).To(Equal(test.out))
			g.Expect(errOut).To(Equal(test.errOut))
		})
	}
}

// world is an API server for objects of any kind: they are applied, read, listed by their
// labels and deleted.
type world struct {
	mu sync.Mutex
	// objects by path, and what was done, in order.
	objects map[string]*unstructured.Unstructured
	done    []string
	// applied completes what is applied.
	applied func(*unstructured.Unstructured)
	// refuseOtherRoles refuses to change the role of a binding, as API servers do.
	refuseOtherRoles bool
	down             bool
	// forbids tells whether the user may not do what is asked.
	forbids func(*http.Request) bool
}

func (w *world) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	object, known := w.objects[req.URL.Path]
	switch {
	case w.down:
		refuse(out, http.StatusInternalServerError, metav1.StatusReasonInternalError, "out of order")
	case w.forbids != nil && w.forbids(req):
		refuse(out, http.StatusForbidden, metav1.StatusReasonForbidden, "you may not")
	case req.Method == http.MethodPatch:
		before := object
		object = &unstructured.Unstructured{}
		data, _ := io.ReadAll(req.Body)
		if err := object.UnmarshalJSON(data); err != nil {
			refuse(out, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		if known && w.refuseOtherRoles && !equality.Semantic.DeepEqual(before.Object["roleRef"], object.Object["roleRef"]) {
			refuse(out, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "cannot change roleRef")
			return
		}
		if req.URL.Query().Get("dryRun") == "All" {
			send(out, object)
			return
		}
		if w.applied != nil {
			w.applied(object)
		}
		w.objects[req.URL.Path] = object
		w.done = append(w.done, "apply "+req.URL.Path)
		send(out, object)
	case req.Method == http.MethodPost:
		object = &unstructured.Unstructured{}
		data, _ := io.ReadAll(req.Body)
		if err := object.UnmarshalJSON(data); err != nil {
			refuse(out, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		where := req.URL.Path + "/" + object.GetName()
		if w.objects[where] != nil {
			refuse(out, http.StatusConflict, metav1.StatusReasonAlreadyExists, where+" exists")
			return
		}
		if req.URL.Query().Get("dryRun") != "All" {
			w.objects[where] = object
			w.done = append(w.done, "create "+where)
		}
		send(out, object)
	case known && req.Method == http.MethodDelete:
		delete(w.objects, req.URL.Path)
		w.done = append(w.done, "delete "+req.URL.Path)
		send(out, object)
	case known:
		send(out, object)
	case req.URL.Query().Has("labelSelector") || req.URL.Query().Has("fieldSelector"):
		send(out, w.list(req.URL.Path, req.URL.Query().Get("labelSelector")))
	default:
		refuse(out, http.StatusNotFound, metav1.StatusReasonNotFound, req.URL.Path+" not found")
	}
}

// list gives the objects of a resource that have the labels, wherever they are.
func (w *world) list(path, selector string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	resource := path[strings.LastIndex(path, "/")+1:]
	for _, where := range slices.Sorted(maps.Keys(w.objects)) {
		object := w.objects[where]
		fits := strings.Contains(where, "/"+resource+"/")
		for pair := range strings.SplitSeq(selector, ",") {
			key, value, _ := strings.Cut(pair, "=")
			fits = fits && (selector == "" || object.GetLabels()[key] == value)
		}
		if fits {
			list.Items = append(list.Items, *object)
		}
	}
	return list
}

// authority gives what the certificate of a server is checked with, for a kubeconfig.
func authority(server *httptest.Server) string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// account is that of the Cluster shop/edge of the host.
const (
	account       = "convoy-shop.edge-05788353ca"
	shopNamespace = "/api/v1/namespaces/shop"
)

func namespaceOf(uid string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop", "uid": uid}}}
}

// twoWorlds gives a host, a target, and how to execute a command line with both.
func twoWorlds(t *testing.T) (host, target *world, run func(args ...string) (int, string, string)) {
	t.Helper()
	host, target = &world{objects: map[string]*unstructured.Unstructured{}}, &world{objects: map[string]*unstructured.Unstructured{}}
	host.applied = func(object *unstructured.Unstructured) {
		if object.GetKind() == "Cluster" {
			_ = unstructured.SetNestedSlice(object.Object, []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(0)}}, "status", "conditions")
			_ = unstructured.SetNestedField(object.Object, "v1.37.2", "status", "version")
		}
	}
	target.applied = func(object *unstructured.Unstructured) {
		if object.GetKind() == "Secret" {
			_ = unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString([]byte("the-token")), "data", "token")
		}
	}
	host.objects[shopNamespace] = namespaceOf("5e2f-1")
	hostServer, targetServer := httptest.NewServer(host), httptest.NewTLSServer(target)
	t.Cleanup(hostServer.Close)
	t.Cleanup(targetServer.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(os.WriteFile(kubeconfig, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: host
contexts:
- {name: host, context: {cluster: host, user: me, namespace: shop}}
- {name: edge-admin, context: {cluster: edge, user: me}}
clusters:
- {name: host, cluster: {server: %q}}
- {name: edge, cluster: {server: %q, certificate-authority-data: %s}}
users: [{name: me, user: {}}]
`, hostServer.URL, targetServer.URL, authority(targetServer)), 0o600)).To(Succeed())
	return host, target, func(args ...string) (int, string, string) {
		streams, _, out, errOut := genericiooptions.NewTestIOStreams()
		code := Run(context.Background(), streams, append([]string{"--kubeconfig", kubeconfig}, args...))
		return code, out.String(), errOut.String()
	}
}

func TestClusterAddAndRemove(t *testing.T) {
	g := NewWithT(t)
	host, target, run := twoWorlds(t)
	add := []string{"cluster", "add", "edge", "--target-context", "edge-admin", "--namespaces", "a,b", "--target-server", "https://edge.example.com"}
	code, out, errOut := run(append(add, "--dry-run=client")...)
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(strings.Count(out, "(dry run)")).To(Equal(9))
	g.Expect(append(host.done, target.done...)).To(BeEmpty())

	code, out, errOut = run(add...)
	g.Expect(errOut).To(Equal("Cluster shop/edge is Ready: Kubernetes v1.37.2\n"))
	g.Expect(code).To(Equal(0))
	g.Expect(words(out)).To(HaveExactElements(
		"namespace/convoy created on edge-admin", "serviceaccount/"+account+" applied on edge-admin", "secret/"+account+"-token applied on edge-admin",
		"clusterrole.rbac.authorization.k8s.io/"+account+" applied on edge-admin", "clusterrolebinding.rbac.authorization.k8s.io/"+account+" applied on edge-admin",
		"rolebinding.rbac.authorization.k8s.io/"+account+" applied on edge-admin", "rolebinding.rbac.authorization.k8s.io/"+account+" applied on edge-admin",
		"secret/edge-kubeconfig applied", "cluster.core.convoy.kumodo.io/edge applied",
	))
	g.Expect(target.done).To(ContainElement("apply /apis/rbac.authorization.k8s.io/v1/namespaces/b/rolebindings/" + account))
	secret := host.objects["/api/v1/namespaces/shop/secrets/edge-kubeconfig"]
	kubeconfig, _, _ := unstructured.NestedString(secret.Object, "data", "kubeconfig")
	text, err := base64.StdEncoding.DecodeString(kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(And(ContainSubstring("token: the-token\n"), ContainSubstring("server: https://edge.example.com\n"),
		ContainSubstring("certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t")))
	g.Expect(out+errOut).NotTo(ContainSubstring("the-token"), "nor anywhere else")

	code, _, errOut = run(add...)
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(Equal("error: there is a Cluster shop/edge already: choose another name, or give --overwrite\n"))
	code, _, errOut = run(append(add, "--overwrite", "--wait=false")...)
	g.Expect(code).To(Equal(0), errOut)

	host.objects[releasesPath+"/web"] = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "core.convoy.kumodo.io/v1alpha1", "kind": "Release", "metadata": map[string]any{"name": "web"}}}
	remove := []string{"cluster", "remove", "edge", "--target-context", "edge-admin"}
	code, _, errOut = run(remove...)
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(HavePrefix("error: Cluster shop/edge has 1 Release: web; delete them first"))
	host.done, target.done = nil, nil
	code, out, errOut = run(append(remove, "--force", "--dry-run=client")...)
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(out).To(ContainSubstring("cluster.core.convoy.kumodo.io/edge removed (dry run)\n"))
	g.Expect(append(host.done, target.done...)).To(BeEmpty())
	code, _, errOut = run(append(remove, "--force")...)
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(host.objects).To(And(HaveLen(2), HaveKey(shopNamespace), HaveKey(releasesPath+"/web")), "the Release stays")
	g.Expect(target.objects).To(HaveKey("/api/v1/namespaces/convoy"))
	g.Expect(target.objects).To(HaveLen(1), "but the namespace, all that was made is gone")
}

func TestClusterRemoveLeavesWhatOthersMade(t *testing.T) {
	g := NewWithT(t)
	host, _, run := twoWorlds(t)
	host.objects[clustersPath+"/edge"] = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "core.convoy.kumodo.io/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": "edge", "namespace": "shop"}}}
	secret := "/api/v1/namespaces/shop/secrets/edge-kubeconfig"
	host.objects[secret] = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "edge-kubeconfig"}}}
	code, out, errOut := run("cluster", "remove", "edge")
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(out).To(Equal("cluster.core.convoy.kumodo.io/edge removed\n"))
	g.Expect(host.objects).To(HaveKey(secret))
}

func TestClusterAddIsRefused(t *testing.T) {
	_, _, run := twoWorlds(t)
	for _, test := range []struct{ args, want string }{
		{"edge --target-context edge-admin", "say what convoy may do on the target"},
		{"edge --target-context edge-admin --namespaces a --cluster-role b", "--namespaces and --cluster-role exclude each other"},
		{"edge --namespaces a", `required flag(s) "target-context" not set`},
		{"edge --target-context nowhere --namespaces a", `context nowhere of the target: context "nowhere" does not exist`},
		{"edge --target-context edge-admin --namespaces a --dry-run=server", "--dry-run=server cannot be had"},
		{"--target-context edge-admin --namespaces a", "add takes one name"},
	} {
		t.Run(test.args, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := run(append([]string{"cluster", "add"}, strings.Fields(test.args)...)...)
			g.Expect(code).To(Equal(1))
			g.Expect(out).To(BeEmpty())
			g.Expect(errOut).To(ContainSubstring(test.want))
		})
	}
}

// A Secret that something else made is neither written over nor, later, removed.
func TestClusterAddLeavesSecretsOfOthers(t *testing.T) {
	g := NewWithT(t)
	host, target, run := twoWorlds(t)
	secret := "/api/v1/namespaces/shop/secrets/edge-kubeconfig"
	host.objects[secret] = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "shop", "name": "edge-kubeconfig"}, "data": map[string]any{"value": "YQ=="},
	}}
	for _, more := range []string{"--timeout=1s", "--overwrite"} {
		code, _, errOut := run("cluster", "add", "edge", "--target-context", "edge-admin", "--cluster-role", "cluster-admin", "--target-server", "https://e", more)
		g.Expect(code).To(Equal(1))
		g.Expect(errOut).To(Equal("error: there is a Secret shop/edge-kubeconfig already, which this command has not made: delete it if nothing needs it, or choose another name for the Cluster\n"))
	}
	g.Expect(append(host.done, target.done...)).To(BeEmpty())
	g.Expect(host.objects[secret].Object["data"]).To(Equal(map[string]any{"value": "YQ=="}))
}

func TestClusterAddWarnsOfAnAddressOfThisMachine(t *testing.T) {
	g := NewWithT(t)
	_, _, run := twoWorlds(t)
	code, _, errOut := run("cluster", "add", "edge", "--target-context", "edge-admin", "--cluster-role", "cluster-admin")
	g.Expect(code).To(Equal(0))
	g.Expect(errOut).To(MatchRegexp(`^Warning: https://127\.0\.0\.1:\d+ is an address of this machine`))
}

func TestClusterAddWithoutAToken(t *testing.T) {
	g := NewWithT(t)
	host, target, run := twoWorlds(t)
	target.applied = nil
	code, _, errOut := run("cluster", "add", "edge", "--target-context", "edge-admin", "--cluster-role", "cluster-admin", "--target-server", "https://e", "--timeout", "10ms")
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(Equal("error: the target has written no token into Secret convoy/" + account + "-token after 10ms: does its controller of tokens run?\n"))
	g.Expect(host.done).To(BeEmpty())
}

func TestClusterAddThatIsNotReached(t *testing.T) {
	g := NewWithT(t)
	host, _, run := twoWorlds(t)
	host.applied = func(object *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(object.Object, []any{map[string]any{"type": "Ready", "status": "False", "reason": "Unreachable", "message": "no route"}}, "status", "conditions")
	}
	code, _, errOut := run("cluster", "add", "edge", "--target-context", "edge-admin", "--cluster-role", "cluster-admin", "--target-server", "https://e", "--timeout", "10ms")
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(Equal("error: Cluster shop/edge is not Ready after 10ms: Unreachable: no route; see kubectl convoy -n shop cluster list -o wide\n"))
}
