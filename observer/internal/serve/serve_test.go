// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	corelisters "kumodo.io/convoy/client/listers/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/observer"
	"kumodo.io/convoy/observer/internal/testcluster"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// world is a server for one Release "ns/app", its target, and the renders that there are.
type world struct {
	*WithT
	t       *testing.T
	cluster *testcluster.Server
	server  *Server
	release *corev1alpha1.Release

	inventories, clusters, releases cache.Indexer

	current  *desired.Desired
	byDigest map[string]*desired.Desired
	newest   map[string]*desired.Desired // of other Releases
	err      error

	newestErr error
	health    *corev1alpha1.ReleaseHealth
	values    *desired.Values
	revision  string // that was asked for
	wait      bool   // until the request ends

	mu      sync.Mutex
	arrived atomic.Int32  // answers that were begun
	proceed chan struct{} // which they wait for, if there is one
}

func newWorld(t *testing.T) *world {
	w := &world{WithT: NewWithT(t), t: t, cluster: testcluster.New(t), byDigest: map[string]*desired.Desired{}}
	indexer := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	w.releases, w.inventories, w.clusters = indexer(), indexer(), indexer()
	w.release = &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app"},
		Spec:       corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: "edge"}, CreateNamespace: true},
	}
	w.Expect(w.releases.Add(w.release)).To(Succeed())
	w.Expect(w.clusters.Add(&corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "edge"}, Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster},
	})).To(Succeed())
	w.server = &Server{
		Host: observer.Host{
			Releases: corelisters.NewReleaseLister(w.releases), Inventories: corelisters.NewReleaseInventoryLister(w.inventories),
			Clusters: corelisters.NewClusterLister(w.clusters), Installation: "inst",
			Connector: clusterconn.New(clusterconn.Options{InCluster: w.cluster.Config(), ReadOnly: true}),
		},
		Desired: w, Health: w, Values: w,
	}
	return w
}

// has gives a Release an inventory with ConfigMaps.
func (w *world) has(release string, names ...string) {
	w.t.Helper()
	inventory := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: release}}
	for _, name := range names {
		inventory.Spec.Entries = append(inventory.Spec.Entries, corev1alpha1.InventoryEntry{
			ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: name},
		})
	}
	w.Expect(w.inventories.Add(inventory)).To(Succeed())
}

// another is a Release like ns/app, of a name of its own.
func (w *world) another(i int) string {
	release := w.release.DeepCopy()
	release.Name = fmt.Sprintf("app-%d", i)
	w.Expect(w.releases.Add(release)).To(Succeed())
	return release.Name
}

func (w *world) work() {
	w.arrived.Add(1)
	if w.proceed != nil {
		<-w.proceed
	}
}

func (w *world) Current(ctx context.Context, _ *corev1alpha1.Release, _ render.Cluster) (*desired.Desired, error) {
	w.work()
	if w.wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return w.current, w.err
}

func (w *world) At(_ context.Context, release *corev1alpha1.Release, _ render.Cluster, revision string) (*desired.Desired, error) {
	w.work()
	w.mu.Lock()
	defer w.mu.Unlock()
	if newest, ok := w.newest[release.Name]; ok && revision == "" {
		return newest, w.newestErr
	}
	w.revision = revision
	return w.current, w.err
}

func (w *world) Past(_ context.Context, _ *corev1alpha1.Release, _ render.Cluster, _, digest string) (*desired.Desired, error) {
	return w.byDigest[digest], w.err
}

func (w *world) Stored(_ context.Context, _ *corev1alpha1.Release, digest string) (*desired.Desired, error) {
	w.work()
	if found := w.byDigest[digest]; found != nil {
		return found, nil
	}
	return nil, store.ErrNotFound
}

func (w *world) Report(context.Context, *corev1alpha1.Release) (*corev1alpha1.ReleaseHealth, error) {
	w.work()
	return w.health.DeepCopy(), w.err
}

func (w *world) Values(_ context.Context, _ *corev1alpha1.Release, _ render.Cluster, revision string) (*desired.Values, error) {
	w.work()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision = revision
	return w.values, w.err
}

// rendered makes a render of manifests.
func rendered(digest string, manifests ...string) *desired.Desired {
	result := &render.Result{Digest: digest}
	for _, manifest := range manifests {
		result.Objects = append(result.Objects, render.Object{Object: testcluster.Object(manifest), Digest: manifest})
	}
	return &desired.Desired{Revision: "main@sha1:1", Result: result}
}

// get answers a request.
func (w *world) get(target string) (int, string) {
	recorder := httptest.NewRecorder()
	w.server.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, target, nil))
	w.Expect(recorder.Header().Get("Content-Type")).To(Equal("application/json"))
	w.Expect(recorder.Header().Get("Cache-Control")).To(Equal("no-store"))
	return recorder.Code, recorder.Body.String()
}

// answer answers a request that must succeed, and decodes it.
func answer[T any](w *world, target string) *T {
	w.t.Helper()
	code, body := w.get(target)
	w.Expect(code).To(Equal(http.StatusOK), body)
	result := new(T)
	w.Expect(json.Unmarshal([]byte(body), result)).To(Succeed())
	return result
}

const (
	configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm}, data: {a: '1'}}"
	changed   = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm}, data: {a: '2'}}"
	other     = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: other}, data: {b: '1'}}"
	job       = "{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: job}}"
	crd       = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget}}}"
	widget    = "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: w}}"
)

func TestAnswersAreTypedObjects(t *testing.T) {
	for path, kind := range map[string]string{
		"/preview/ns/app": "ReleasePreview", "/diff/ns/app": "ReleaseDiff", "/health/ns/app": "ReleaseHealth", "/history/ns/app": "ReleaseHistory",
		"/values/ns/app": "ReleaseValues",
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			w.current, w.health = rendered("d"), &corev1alpha1.ReleaseHealth{Status: corev1alpha1.HealthHealthy, Objects: []corev1alpha1.ObjectHealthDetail{}}
			w.values = &desired.Values{}
			object := answer[metav1.PartialObjectMetadata](w, path)
			w.Expect(object.APIVersion).To(Equal("core.convoy.kumodo.io/v1alpha1"))
			w.Expect(object.Kind).To(Equal(kind))
			w.Expect(object.Namespace + "/" + object.Name).To(Equal("ns/app"))
		})
	}
}

func TestBadRequests(t *testing.T) {
	for _, test := range []struct {
		target string
		code   int
		want   string
	}{
		{"/preview/ns/app?nonsense=1", 400, `unknown query parameter "nonsense"`},
		{"/health/ns/app?revision=1", 400, "revision"},
		{"/values/ns/app?all=true", 400, `unknown query parameter "all"`},
		{"/preview/ns/app?revision=a&revision=b", 400, "more than once"},
		{"/preview/ns/app?revision=%zz", 400, "not well formed"},
		{"/diff/ns/app?from=nonsense", 400, "neither live, desired"},
		{"/diff/ns/app?to=live", 400, "live does not differ from live"},
		{"/preview/ns/app?force=perhaps", 400, `"force" is neither true nor false`},
		{"/health/ns/app?tree=2", 400, `"tree"`},
		{"/preview/ns/app?output=xml", 400, "output=xml"},
		{"/preview/ns/app?output=patch", 400, "output=patch"},
		{"/diff/ns/app?from=sha256:1&to=desired", 404, "sha256:1"},
		{"/history/ns/app?id=7", 404, "7"},
		{"/history/ns/app?id=x", 400, "history id"},
		{"/preview/ns/another", 404, "another"},
		{"/health/elsewhere/app", 404, "app"},
	} {
		t.Run(test.target, func(t *testing.T) {
			w := newWorld(t)
			w.current = rendered("d")
			code, body := w.get(test.target)
			w.Expect(code).To(Equal(test.code), body)
			status := metav1.Status{}
			w.Expect(json.Unmarshal([]byte(body), &status)).To(Succeed())
			w.Expect(status.Kind).To(Equal("Status"))
			w.Expect(status.APIVersion).To(Equal("v1"))
			w.Expect(status.Status).To(Equal(metav1.StatusFailure))
			w.Expect(status.Code).To(BeEquivalentTo(test.code))
			w.Expect(status.Message).To(ContainSubstring(test.want))
		})
	}
}

func TestFailures(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "gitrepositories"}, "repo")
	for _, test := range []struct {
		name string
		err  error
		code int
	}{
		{"a render error", fmt.Errorf("wrapped: %w", &render.Error{Reason: corev1alpha1.ReasonRenderFailed, Message: "template"}), 422},
		{"content that is unusable", fetch.ErrContent, 422},
		{"content that is no chart", fmt.Errorf("%w: no chart", desired.ErrNoValues), 422},
		{"a reference that is configured wrongly", fetch.ErrInvalid, 422},
		{"a target that does not answer", clusterconn.ErrUnreachable, 503},
		{"a target that refuses the credentials", clusterconn.ErrUnauthenticated, 503},
		{"a target whose API group is down", &clusterconn.GroupUnavailableError{Err: errors.New("down")}, 503},
		{"a source that does not answer", fetch.ErrUnreachable, 503},
		{"a source that was given up before the request", fmt.Errorf("%w: %w", fetch.ErrUnreachable, context.DeadlineExceeded), 503},
		{"a source that refuses the credentials", fetch.ErrUnauthorized, 503},
		{"a Secret of a source that is not there", fmt.Errorf("%w: %w", fetch.ErrSecret, missing), 503},
		{"a source that is not there", fmt.Errorf("%w: %w", desired.ErrSource, missing), 503},
		{"a render that cannot be made again", desired.ErrNotReproducible, 503},
		{"a render for other identities", store.ErrNoIdentity, 503},
		{"a store that is away", store.ErrUnavailable, 503},
		{"a revision that is not there", fetch.ErrNotFound, 404},
		{"a corrupt store", store.ErrCorrupt, 500},
		{"a host that refuses", apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", nil), 403},
		{"anything else", errors.New("surprise"), 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.err = test.err
			for _, path := range []string{"/preview/ns/app", "/preview/ns/app?revision=v1", "/diff/ns/app", "/health/ns/app", "/values/ns/app"} {
				code, body := w.get(path)
				w.Expect(code).To(Equal(test.code), body)
			}
		})
	}
}

func TestTimeLimit(t *testing.T) {
	w := newWorld(t)
	w.wait = true
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	recorder := httptest.NewRecorder()
	w.server.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/preview/ns/app", nil).WithContext(ctx))
	w.Expect(recorder.Code).To(Equal(http.StatusGatewayTimeout))
}

func TestUnreachableTarget(t *testing.T) {
	for _, path := range []string{"/preview/ns/app", "/diff/ns/app"} {
		for _, test := range []struct {
			name string
			do   func(w *world)
			want string
		}{
			{"it is not there", func(w *world) { w.Expect(w.clusters.Replace(nil, "")).To(Succeed()) }, "no such cluster"},
			{"it hangs up", func(w *world) {
				w.cluster.Handle("GET "+w.cluster.Path(configMap), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
			}, "cluster edge: target cluster is unreachable: "},
			{"it refuses the credentials", func(w *world) {
				w.cluster.Refuse("GET "+w.cluster.Path(configMap), apierrors.NewUnauthorized("who are you"))
			}, "cluster edge: target cluster does not accept the credentials: "},
		} {
			t.Run(path+" "+test.name, func(t *testing.T) {
				w := newWorld(t)
				w.current = rendered("d", configMap, other)
				test.do(w)
				code, body := w.get(path)
				w.Expect(code).To(Equal(http.StatusServiceUnavailable), body)
				w.Expect(body).To(ContainSubstring(test.want))
			})
		}
	}
}

// put brings an object of the Release into the cluster.
func (w *world) put(manifest string) {
	object := testcluster.Object(manifest)
	render.Mark(object, "inst", "ns", "app")
	data, err := object.MarshalJSON()
	w.Expect(err).NotTo(HaveOccurred())
	w.cluster.Put(string(data))
}

func TestPreview(t *testing.T) {
	w := newWorld(t)
	w.put(changed)
	w.put(other)
	for _, name := range []string{"early", "left", "kept"} {
		w.put(strings.Replace(other, "other", name, 1))
	}
	w.cluster.Serve(testcluster.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition", ClusterScoped: true})
	w.current = rendered("d", crd, configMap, other, widget)
	w.current.Hooks = []render.Hook{
		{Name: "post", On: corev1alpha1.HookPostSync, Object: render.Object{Object: testcluster.Object(job)}},
		{Name: "gone", On: corev1alpha1.HookPreDelete, Object: render.Object{Object: testcluster.Object(job)}},
	}
	entryOf := func(kind, name string, change func(*corev1alpha1.InventoryEntry)) corev1alpha1.InventoryEntry {
		entry := corev1alpha1.InventoryEntry{ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: kind, Namespace: "ns", Name: name}}
		change(&entry)
		return entry
	}
	w.Expect(w.inventories.Add(&corev1alpha1.ReleaseInventory{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app"},
		Spec: corev1alpha1.ReleaseInventorySpec{Entries: []corev1alpha1.InventoryEntry{
			entryOf("ConfigMap", "cm", func(e *corev1alpha1.InventoryEntry) { e.Version = "v1beta1" }),
			entryOf("ConfigMap", "early", func(e *corev1alpha1.InventoryEntry) { e.Stage = -1 }),
			entryOf("ConfigMap", "left", func(*corev1alpha1.InventoryEntry) {}),
			entryOf("ConfigMap", "kept", func(e *corev1alpha1.InventoryEntry) { e.Keep, e.Stage = true, -2 }),
			entryOf("Job", "hook", func(e *corev1alpha1.InventoryEntry) { e.Hook = "old" }),
		}},
	})).To(Succeed())

	preview := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app")
	w.Expect(preview.Revision).To(Equal("main@sha1:1"))
	w.Expect(preview.Render).To(Equal("d"))
	var plan []string
	for _, object := range preview.Objects {
		plan = append(plan, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", object.Action, object.Kind, object.Name, object.Hook)))
	}
	w.Expect(plan).To(Equal([]string{
		"create CustomResourceDefinition widgets.example.com", "update ConfigMap cm", "unchanged ConfigMap other", "create Widget w", "unchanged Job job post",
		"delete ConfigMap left", "delete ConfigMap early", "unchanged ConfigMap kept",
	}))
	w.Expect(preview.Objects[1].Changes).To(Equal([]corev1alpha1.FieldChange{{Path: "/data/a", From: `"2"`, To: `"1"`}}))
	w.Expect(string(preview.Objects[1].Object.Raw)).To(ContainSubstring(`"a":"1"`))
	w.Expect(preview.Objects[3].Simulated).To(BeTrue())
	w.Expect(preview.Objects[4].Message).To(Equal("runs with the sync"))
	w.Expect(preview.Objects[7].Message).To(ContainSubstring("annotation"))
	for _, asked := range w.cluster.Asked() {
		w.Expect(asked).To(Or(HavePrefix("GET "), HavePrefix("PATCH ")))
	}

	answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app?revision=v1")
	w.Expect(w.revision).To(Equal("v1"))

	w.release.Status.Applied = &corev1alpha1.AppliedStatus{Render: "d"}
	preview = answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app")
	w.Expect(preview.Objects[4].Message).To(ContainSubstring("does not run"))
}

func TestPruningThatDoesNotHappen(t *testing.T) {
	no := false
	for _, test := range []struct {
		name string
		do   func(w *world)
		want corev1alpha1.ObjectAction
	}{
		{"it does", func(*world) {}, corev1alpha1.ActionDelete},
		{"it is off", func(w *world) { w.release.Spec.Sync.Prune = &no }, corev1alpha1.ActionUnchanged},
		{"the render is empty", func(w *world) { w.current = rendered("empty") }, corev1alpha1.ActionUnchanged},
		{"the render may be empty", func(w *world) {
			w.current = rendered("empty")
			w.release.Spec.Sync.AllowEmpty = true
		}, corev1alpha1.ActionDelete},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.current = rendered("d", configMap)
			w.has("app", "left")
			w.put(strings.Replace(other, "other", "left", 1))
			test.do(w)
			objects := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app").Objects
			w.Expect(objects[len(objects)-1].Name).To(Equal("left"))
			w.Expect(objects[len(objects)-1].Action).To(Equal(test.want))
			w.Expect(answer[corev1alpha1.ReleaseDiff](w, "/diff/ns/app").Objects).To(HaveLen(len(objects) - map[bool]int{true: 1}[test.want == corev1alpha1.ActionUnchanged]))
		})
	}
}

func TestDefinitionsGoWithConsentOnly(t *testing.T) {
	enabled := strings.Replace(crd, "{name: widgets.example.com}", "{name: widgets.example.com, annotations: {convoy.kumodo.io/prune: enabled}}", 1)
	for _, test := range []struct {
		name      string
		live      string
		pruneCRDs bool
		want      corev1alpha1.ObjectAction
	}{
		{"nobody consents", crd, false, corev1alpha1.ActionUnchanged},
		{"the Release does", crd, true, corev1alpha1.ActionDelete},
		{"the definition does", enabled, false, corev1alpha1.ActionDelete},
		{"it is gone", "", false, corev1alpha1.ActionUnchanged},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Serve(testcluster.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition", ClusterScoped: true})
			if test.live != "" {
				w.put(test.live)
			}
			w.current = rendered("d", configMap)
			w.release.Spec.Sync.PruneCRDs = test.pruneCRDs
			w.Expect(w.inventories.Add(&corev1alpha1.ReleaseInventory{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app"},
				Spec: corev1alpha1.ReleaseInventorySpec{Entries: []corev1alpha1.InventoryEntry{{ObjectKey: corev1alpha1.ObjectKey{
					Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: "widgets.example.com"}}},
				},
			})).To(Succeed())
			objects := answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app").Objects
			w.Expect(objects[len(objects)-1].Name).To(Equal("widgets.example.com"))
			w.Expect(objects[len(objects)-1].Action).To(Equal(test.want), objects[len(objects)-1].Message)
		})
	}
}

func TestNamespacesThatNobodyCreates(t *testing.T) {
	for _, test := range []struct {
		name    string
		do      func(w *world)
		objects []string
		want    corev1alpha1.ObjectAction
	}{
		{"nobody", func(w *world) { w.release.Spec.CreateNamespace = false }, []string{configMap}, corev1alpha1.ActionError},
		{"the Release", func(*world) {}, []string{configMap}, corev1alpha1.ActionCreate},
		{"the Release, but another", func(w *world) { w.release.Spec.TargetNamespace = "another" }, []string{configMap}, corev1alpha1.ActionError},
		{"the render", func(w *world) { w.release.Spec.CreateNamespace = false },
			[]string{configMap, "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"}, corev1alpha1.ActionCreate},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.current = rendered("d", test.objects...)
			w.cluster.Refuse("PATCH "+w.cluster.Path(configMap), apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns"))
			test.do(w)
			w.Expect(answer[corev1alpha1.ReleasePreview](w, "/preview/ns/app").Objects[0].Action).To(Equal(test.want))
		})
	}
}

func TestDiff(t *testing.T) {
	w := newWorld(t)
	w.put(other)
	w.current = rendered("now", configMap, other)
	w.byDigest["sha256:old"] = rendered("sha256:old", changed, job)
	w.release.Status.History = []corev1alpha1.HistoryEntry{{ID: 4, Render: "sha256:old", Revision: "main@sha1:0"}}
	w.release.Status.Applied = &corev1alpha1.AppliedStatus{Render: "sha256:applied"}
	w.byDigest["sha256:applied"] = rendered("sha256:applied", other)

	for _, test := range []struct {
		query string
		want  []string
		asks  bool
	}{
		{"", []string{"create cm"}, true},
		{"?from=live&to=desired", []string{"create cm"}, true},
		{"?to=sha256:applied", nil, true},
		{"?from=4&to=desired", []string{"update cm", "create other", "delete job"}, false},
		{"?from=sha256:old&to=sha256:applied", []string{"create other", "delete cm", "delete job"}, false},
		{"?from=desired&to=desired", nil, false},
	} {
		t.Run(test.query, func(t *testing.T) {
			diff := answer[corev1alpha1.ReleaseDiff](w, "/diff/ns/app"+test.query)
			var found []string
			for _, object := range diff.Objects {
				found = append(found, string(object.Action)+" "+object.Name)
			}
			w.Expect(found).To(Equal(test.want))
			w.Expect(diff.Changed).To(Equal(len(test.want) > 0))
			w.Expect(w.cluster.Asked() != nil).To(Equal(test.asks), "two renders are compared without a cluster")
		})
	}
	w.Expect(answer[corev1alpha1.ReleaseDiff](w, "/diff/ns/app?from=4").Objects[0].Unified).To(ContainSubstring("-  a: \"2\"\n+  a: \"1\""))
}

func TestHistory(t *testing.T) {
	w := newWorld(t)
	w.release.Status.History = []corev1alpha1.HistoryEntry{{ID: 5, Render: "sha256:new"}, {ID: 4, Render: "sha256:old"}}
	w.byDigest["sha256:old"] = rendered("sha256:old", configMap)
	history := answer[corev1alpha1.ReleaseHistory](w, "/history/ns/app")
	w.Expect(history.Entries).To(HaveLen(2))
	w.Expect(history.Objects).To(BeEmpty())

	for _, id := range []string{"4", "sha256:old"} {
		history = answer[corev1alpha1.ReleaseHistory](w, "/history/ns/app?id="+id)
		w.Expect(history.Entries).To(HaveLen(1))
		w.Expect(history.Entries[0].ID).To(BeEquivalentTo(4))
		w.Expect(string(history.Objects[0].Raw)).To(ContainSubstring(`"name":"cm"`))
	}

	w.err = desired.ErrNotReproducible
	code, _ := w.get("/history/ns/app?id=5")
	w.Expect(code).To(Equal(http.StatusServiceUnavailable))
}

func TestSecretsAreShownNowhere(t *testing.T) {
	const (
		before = "{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: canary0}}, data: {same: canary1, p: canary2, gone: canary3}}"
		after  = "{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: s}, stringData: {port: 5432, nested: {x: canary4}}, data: {same: canary1, p: canary5, new: canary6}, dta: {x: canary7}}"
		fresh  = "{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: fresh}, data: {p: canary8}}"
		list   = "{apiVersion: v1, kind: List, metadata: {name: list}, items: [{apiVersion: v1, kind: Secret, metadata: {name: in}, data: {p: canary9}, stringData: {q: canary9}}]}"
		longer = "{apiVersion: v1, kind: List, metadata: {name: list}, items: [{apiVersion: v1, kind: Secret, metadata: {name: in}, data: {p: canary10}, stringData: {q: canary9}}]}"
	)
	for _, live := range []bool{true, false} {
		for _, refused := range []bool{true, false} {
			t.Run(fmt.Sprintf("live %v, refused %v", live, refused), func(t *testing.T) {
				w := newWorld(t)
				w.current = rendered("now", after, fresh, list)
				w.byDigest["sha256:old"] = rendered("sha256:old", before, longer)
				w.release.Status.History = []corev1alpha1.HistoryEntry{{ID: 4, Render: "sha256:old"}}
				w.release.Spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable
				if live {
					w.cluster.Put(before)
				}
				if refused {
					w.cluster.Refuse("PATCH "+w.cluster.Path(before), apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", nil))
					w.cluster.Refuse("PATCH "+w.cluster.Path(fresh), apierrors.NewBadRequest("cannot use canary8"))
				}
				for _, path := range []string{"/preview/ns/app", "/diff/ns/app", "/diff/ns/app?from=4", "/diff/ns/app?from=desired&to=4", "/diff/ns/app?to=4", "/history/ns/app?id=4"} {
					code, body := w.get(path)
					w.Expect(code).To(Equal(http.StatusOK), body)
					w.Expect(body).NotTo(Or(ContainSubstring("canary"), ContainSubstring("5432")), path)
				}
				if live && !refused {
					_, body := w.get("/diff/ns/app")
					w.Expect(body).To(ContainSubstring("(masked, changed)"), "that it changed is shown")
				}
			})
		}
	}
}
