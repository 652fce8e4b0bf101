// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
)

// forest is a Deployment with two ReplicaSets, of which one has Pods, and what belongs to
// somebody else.
func forest(t *testing.T) *world {
	w := newWorld(t)
	w.cluster.Serve(testcluster.Resource{Group: "apps", Version: "v1", Plural: "replicasets", Kind: "ReplicaSet"})
	w.cluster.Serve(testcluster.Resource{Version: "v1", Plural: "pods", Kind: "Pod"})
	deployment := corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "ns", Name: "web"}
	w.health = &corev1alpha1.ReleaseHealth{Status: corev1alpha1.HealthHealthy, Objects: []corev1alpha1.ObjectHealthDetail{
		{ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: deployment, Status: corev1alpha1.HealthHealthy}, Rule: "builtin/apps/Deployment"},
		{ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "cm"}}},
	}}
	w.Expect(w.inventories.Add(&corev1alpha1.ReleaseInventory{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app"},
		Spec:       corev1alpha1.ReleaseInventorySpec{Entries: []corev1alpha1.InventoryEntry{{ObjectKey: deployment, UID: "d"}}},
	})).To(Succeed())
	owned := func(group, kind, name, uid, owner, rest string) {
		w.cluster.Put(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {namespace: ns, name: %s, uid: %s, ownerReferences: [{uid: %s}]}, %s}",
			strings.TrimPrefix(group+"/v1", "/"), kind, name, uid, owner, rest))
	}
	owned("apps", "ReplicaSet", "web-2", "r2", "d", "spec: {replicas: 1}, status: {replicas: 1, readyReplicas: 1, availableReplicas: 1}")
	owned("apps", "ReplicaSet", "web-1", "r1", "d", "spec: {replicas: 0}, status: {replicas: 0}")
	owned("apps", "ReplicaSet", "strange", "r3", "x", "spec: {replicas: 0}")
	owned("", "Pod", "web-2-a", "p1", "r2", "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}")
	owned("", "Pod", "web-2-b", "p2", "r2", "status: {phase: Failed, message: evicted}")
	return w
}

func lines(objects []corev1alpha1.ObjectHealthDetail, indent string) []string {
	var all []string
	for _, object := range objects {
		all = append(all, fmt.Sprintf("%s%s %s %s", indent, object.Kind, object.Name, object.Status))
		all = append(all, lines(object.Children, indent+"  ")...)
	}
	return all
}

func TestTree(t *testing.T) {
	w := forest(t)
	w.Expect(answer[corev1alpha1.ReleaseHealth](w, "/health/ns/app").Objects[0].Children).To(BeEmpty())
	w.Expect(w.cluster.Asked()).To(BeEmpty(), "who does not ask for the tree does not pay for it")
	got := answer[corev1alpha1.ReleaseHealth](w, "/health/ns/app?tree=true")
	w.Expect(lines(got.Objects, "")).To(Equal([]string{
		"Deployment web healthy",
		"  ReplicaSet web-1 healthy", "  ReplicaSet web-2 healthy",
		"    Pod web-2-a healthy", "    Pod web-2-b degraded",
		"ConfigMap cm ",
	}))
	w.Expect(got.Objects[0].Children[1].Children[1].Rule).To(Equal("builtin/core/Pod"))
	w.Expect(got.Status).To(Equal(corev1alpha1.HealthHealthy), "what is owned does not count")
	w.Expect(w.cluster.Asked()).To(Equal([]string{"GET /apis/apps/v1/namespaces/ns/replicasets", "GET /api/v1/namespaces/ns/pods"}), "a list for each level")
}

func TestTreeThatMayNotBeSeen(t *testing.T) {
	w := forest(t)
	w.cluster.Refuse("GET /api/v1/namespaces/ns/pods", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil))
	got := answer[corev1alpha1.ReleaseHealth](w, "/health/ns/app?tree=true")
	w.Expect(lines(got.Objects[0].Children[1].Children, "")).To(Equal([]string{"Pod * unknown"}))
	w.Expect(got.Objects[0].Children[1].Children[0].Message).To(ContainSubstring("cannot be listed"))

	w.cluster.Handle("GET /api/v1/namespaces/ns/pods", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	code, body := w.get("/health/ns/app?tree=true")
	w.Expect(code).To(Equal(http.StatusServiceUnavailable), body)
	w.Expect(body).To(ContainSubstring("cluster edge"))
}

// Of what may not be listed there is one word under each object, and nothing under that.
func TestMuchThatMayNotBeListed(t *testing.T) {
	w := forest(t)
	for _, kinds := range []string{"apps/v1 replicasets", "v1 pods"} {
		version, resource, _ := strings.Cut(kinds, " ")
		prefix := "/apis/" + version
		if version == "v1" {
			prefix = "/api/v1"
		}
		w.cluster.Refuse("GET "+prefix+"/namespaces/ns/"+resource, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil))
	}
	var count func(nodes []corev1alpha1.ObjectHealthDetail) int
	count = func(nodes []corev1alpha1.ObjectHealthDetail) int {
		n := len(nodes)
		for _, node := range nodes {
			n += count(node.Children)
		}
		return n
	}
	got := answer[corev1alpha1.ReleaseHealth](w, "/health/ns/app?tree=true")
	for _, object := range got.Objects {
		w.Expect(count(object.Children)).To(BeNumerically("<=", 2))
		for _, child := range object.Children {
			w.Expect(child.Children).To(BeEmpty())
		}
	}
}

func TestLargeTreesAreCut(t *testing.T) {
	w := forest(t)
	for i := range maxOwned + 10 {
		w.cluster.Put(fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {namespace: ns, name: many-%d, uid: m%d, ownerReferences: [{uid: r1}]}}", i, i))
	}
	got := answer[corev1alpha1.ReleaseHealth](w, "/health/ns/app?tree=true")
	w.Expect(lines(got.Objects[0].Children, "")).To(HaveLen(maxOwned))
}

// What a namespace has besides costs nothing but time.
func TestTreesHoldOnlyWhatIsOwned(t *testing.T) {
	const size, many = 1 << 20, 8
	w := forest(t)
	stranger := `{"metadata":{"namespace":"ns","name":"stranger","uid":"s","ownerReferences":[{"uid":"x"}]},"spec":{"a":["` +
		strings.Repeat(`b","`, size/4) + `"]}},`
	var asked []string
	w.cluster.Handle("GET /api/v1/namespaces/ns/pods", func(rw http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		rw.Header().Set("Content-Type", "application/json")
		next := map[string]string{"": "more"}[r.URL.Query().Get("continue")]
		_, _ = fmt.Fprintf(rw, `{"kind":"PodList","metadata":{"continue":%q},"items":[`, next)
		for range many {
			_, _ = io.WriteString(rw, stranger)
		}
		_, _ = fmt.Fprintf(rw, `{"metadata":{"namespace":"ns","name":"p-%d","uid":"p","ownerReferences":[{"uid":"r2"}]},"status":{"phase":"Running"}}]}`, len(asked))
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := answer[corev1alpha1.ReleaseHealth](w, "/health/ns/app?tree=true")
	runtime.ReadMemStats(&after)
	w.Expect(lines(got.Objects[0].Children[1].Children, "")).To(Equal([]string{"Pod p-1 progressing", "Pod p-2 progressing"}), "all pages are looked at")
	w.Expect(asked).To(Equal([]string{"continue=&limit=500", "continue=more&limit=500"}))
	w.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 2*many*size), "less than was read, in two pages")
}

func TestListsOfATargetThatIsBroken(t *testing.T) {
	for _, test := range []struct {
		name, list string
		code       int
		want       string
	}{
		{"an object that is too long", `{"items":[{"metadata":{"name":"` + strings.Repeat("x", 2*maxItem+1) + `"}}]}`, 200, "an object of more than 4194304 bytes"},
		{"none", `{"items":null}`, 200, "ReplicaSet"},
		{"no objects", `{"items":7}`, 500, "objects of a list"},
		{"no list", `[]`, 500, "in a list"},
		{"one that ends", `{"items":[{"metadata":{}}`, 500, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := forest(t)
			w.cluster.Handle("GET /api/v1/namespaces/ns/pods", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(rw, test.list)
			})
			code, body := w.get("/health/ns/app?tree=true")
			w.Expect(code).To(Equal(test.code), body)
			w.Expect(body).To(ContainSubstring(test.want))
		})
	}
	w := forest(t)
	w.cluster.Handle("GET /api/v1/namespaces/ns/pods", func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, `{"items":[`)
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	})
	code, body := w.get("/health/ns/app?tree=true")
	w.Expect(code).To(Equal(http.StatusServiceUnavailable), body)
	w.Expect(body).To(ContainSubstring("cluster edge"))
}

func TestLongTreesAreCut(t *testing.T) {
	w := forest(t)
	long := strings.Repeat("x", maxOwnedText/2)
	for i := range 4 {
		w.cluster.Put(fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {namespace: ns, name: long-%d, uid: l%d, ownerReferences: [{uid: r1}]}, status: {phase: Failed, message: %s}}", i, i, long[:maxItem-1000]))
	}
	got := answer[corev1alpha1.ReleaseHealth](w, "/health/ns/app?tree=true")
	w.Expect(got.Objects[0].Children[0].Children).To(HaveLen(3))
	w.Expect(got.Objects[0].Children[1].Children).To(BeEmpty())
}

func TestTreesAreListedAsWhoAsks(t *testing.T) {
	w := forest(t)
	w.server.AsCaller = true
	var users []string
	w.cluster.Handle("GET /api/v1/namespaces/ns/pods", func(rw http.ResponseWriter, r *http.Request) {
		users = append(users, r.Header.Get("Impersonate-User"))
		_, _ = io.WriteString(rw, `{"items":[]}`)
	})
	recorder := httptest.NewRecorder()
	w.server.Handler().ServeHTTP(recorder, as("alice", "/health/ns/app?tree=true"))
	w.Expect(recorder.Code).To(Equal(http.StatusOK), recorder.Body.String())
	w.Expect(users).To(Equal([]string{"alice"}))
}
