// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	corelisters "kumodo.io/convoy/client/listers/core/v1alpha1"
	extlisters "kumodo.io/convoy/client/listers/extensions/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/target"
	"kumodo.io/convoy/observer/internal/testcluster"
	"kumodo.io/convoy/render"
)

const installation = "inst"

var key = types.NamespacedName{Namespace: "ns", Name: "app"}

// world is a host cluster with one Release "ns/app", whose informers see what the test lets
// them see, and its target cluster.
type world struct {
	*WithT
	t       *testing.T
	cluster *testcluster.Server
	client  *fake.Clientset
	clock   *clocktesting.FakeClock
	host    Host

	releases, inventories, clusters, sets, global cache.Indexer

	health *HealthController
	drift  *Controller

	want    *desired.Desired // what the Release was applied as
	wantErr error
	asked   int // how often that was looked up
	// forgotten are the Releases of which what was applied is not kept any more.
	forgotten []types.NamespacedName

	syncs      int
	syncErr    error
	lifecycles []*corev1alpha1.Release
	version    int

	mu       sync.Mutex
	notified int
	secrets  map[string]map[string][]byte // of the host, by name
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		WithT: NewWithT(t), t: t, cluster: testcluster.New(t), client: fake.NewSimpleClientset(), version: 1,
		clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	for _, informer := range []*cache.Indexer{&w.releases, &w.inventories, &w.clusters, &w.sets, &w.global} {
		*informer = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	w.client.PrependReactor("patch", "releases", w.applyStatus)
	w.client.PrependReactor("create", "releases/sync", w.sync)
	w.client.PrependReactor("update", "releases/lifecycle", w.writeLifecycle)
	tracker := target.New(klog.Background(), installation, func(types.NamespacedName) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notified++
	})
	t.Cleanup(tracker.Stop)
	w.host = Host{
		Client: w.client, Releases: corelisters.NewReleaseLister(w.releases),
		Inventories: corelisters.NewReleaseInventoryLister(w.inventories), Clusters: corelisters.NewClusterLister(w.clusters),
		Connector: clusterconn.New(clusterconn.Options{InCluster: w.cluster.Config(), Secrets: w, ReadOnly: true, Clock: w.clock}),
		Tracker:   tracker, Installation: installation,
	}
	rules := &Rules{Sets: extlisters.NewHealthRuleSetLister(w.sets), Global: extlisters.NewGlobalHealthRuleSetLister(w.global)}
	w.health = &HealthController{Host: w.host, Rules: rules, Clock: w.clock, Resync: time.Minute}
	w.drift = &Controller{Host: w.host, Desired: w, Clock: w.clock, Resync: time.Minute}
	w.Expect(w.clusters.Add(&corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "edge", UID: "c", Generation: 1},
		Spec:       corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster},
	})).To(Succeed())
	return w
}

// Secret reads a Secret of the host.
func (w *world) Secret(_ context.Context, _, name string) (map[string][]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if data, ok := w.secrets[name]; ok {
		return data, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

// setKubeconfig makes the Cluster one that is reached with a kubeconfig of the host's Secret
// "edge"; "" takes the Secret away.
func (w *world) setKubeconfig(content string) {
	w.t.Helper()
	w.mu.Lock()
	w.secrets = map[string]map[string][]byte{}
	if content != "" {
		w.secrets["edge"] = map[string][]byte{corev1alpha1.DefaultKubeconfigKey: []byte(content)}
	}
	w.mu.Unlock()
	w.setCluster(func(c *corev1alpha1.Cluster) {
		c.Spec.Mode = corev1alpha1.ClusterModeAgentless
		c.Spec.Agentless = &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type:       corev1alpha1.ClusterAuthTypeKubeconfig,
			Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: "edge"}},
		}}
	})
}

// kubeconfig is one that leads to the target.
func (w *world) kubeconfig() string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: %q}}]}`, w.cluster.URL)
}

// setRelease writes the Release to the host, and lets the informer see it.
func (w *world) setRelease(change func(r *corev1alpha1.Release)) {
	w.t.Helper()
	release := w.release()
	fresh := release == nil
	if fresh {
		release = &corev1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app", UID: "r", Generation: 1},
			Spec:       corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: "edge"}},
		}
	}
	change(release)
	w.store(releases, fresh, release)
	w.see()
}

// setEntries writes the inventory to the host, and lets the informer see it.
func (w *world) setEntries(entries ...corev1alpha1.InventoryEntry) {
	w.t.Helper()
	inventory := w.inventory()
	fresh := inventory == nil
	if fresh {
		inventory = &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app", UID: "i"}}
	}
	inventory.Generation++
	inventory.Spec.Entries = entries
	w.store(inventories, fresh, inventory)
	w.see()
}

// created sets when the inventory was made.
func (w *world) created(at time.Time) {
	w.t.Helper()
	inventory := w.inventory()
	inventory.CreationTimestamp = metav1.NewTime(at)
	w.store(inventories, false, inventory)
	w.see()
}

// setSpecOf makes the entries of the inventory count for a generation of the Release.
func (w *world) setSpecOf(generation int64) {
	w.t.Helper()
	inventory := w.inventory()
	inventory.Generation++
	inventory.Spec.ReleaseGeneration = generation
	w.store(inventories, false, inventory)
	w.see()
}

var (
	releases    = corev1alpha1.SchemeGroupVersion.WithResource("releases")
	inventories = corev1alpha1.SchemeGroupVersion.WithResource("releaseinventories")
)

func (w *world) store(resource schema.GroupVersionResource, fresh bool, object runtime.Object) {
	w.t.Helper()
	w.version++
	object.(metav1.Object).SetResourceVersion(strconv.Itoa(w.version))
	if fresh {
		w.Expect(w.client.Tracker().Create(resource, object, "ns")).To(Succeed())
		return
	}
	w.Expect(w.client.Tracker().Update(resource, object, "ns")).To(Succeed())
}

// applyStatus is server-side apply as far as it is used: of conditions, under the status.
func (w *world) applyStatus(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	w.Expect(patch.GetPatchType()).To(Equal(types.ApplyPatchType))
	w.Expect(patch.GetSubresource()).To(Equal("status"))
	w.Expect(patch.PatchOptions.FieldManager).To(Equal("convoy-observer"))
	applied := &corev1alpha1.Release{}
	w.Expect(json.Unmarshal(patch.GetPatch(), applied)).To(Succeed())
	release := w.release()
	for _, condition := range applied.Status.Conditions {
		w.Expect(condition.Type).To(Equal(corev1alpha1.ConditionInSync), "nothing else is the observer's")
		meta.SetStatusCondition(&release.Status.Conditions, condition)
	}
	w.store(releases, false, release)
	return true, release, nil
}

// see lets the informers see what the host has.
func (w *world) see() {
	w.t.Helper()
	if release := w.release(); release != nil {
		w.Expect(w.releases.Update(release)).To(Succeed())
	}
	if inventory := w.inventory(); inventory != nil {
		w.Expect(w.inventories.Update(inventory)).To(Succeed())
	}
}

// release is the Release of the host, nil when there is none.
func (w *world) release() *corev1alpha1.Release {
	w.t.Helper()
	// Not over the client, whose lock is held where it answers.
	release, err := w.client.Tracker().Get(releases, "ns", "app")
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return release.(*corev1alpha1.Release)
}

func (w *world) inventory() *corev1alpha1.ReleaseInventory {
	w.t.Helper()
	inventory, err := w.client.Tracker().Get(inventories, "ns", "app")
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return inventory.(*corev1alpha1.ReleaseInventory)
}

// writes are the verbs and resources of what was written to the host since the last call.
func (w *world) writes() []string {
	writes := []string{}
	for _, action := range w.client.Actions() {
		if verb := action.GetVerb(); verb != "get" && verb != "list" && verb != "watch" {
			writes = append(writes, verb+" "+action.GetResource().Resource+"/"+action.GetSubresource())
		}
	}
	w.client.ClearActions()
	return writes
}

// Applied is what the Release was applied as.
func (w *world) Applied(context.Context, *corev1alpha1.Release, render.Cluster) (*desired.Desired, error) {
	w.asked++
	return w.want, w.wantErr
}

// Forget notes what is to be forgotten.
func (w *world) Forget(release types.NamespacedName) { w.forgotten = append(w.forgotten, release) }

// sync asks for a sync as the API server does.
func (w *world) sync(clienttesting.Action) (bool, runtime.Object, error) {
	if w.syncErr != nil {
		return true, nil, w.syncErr
	}
	w.syncs++
	release := w.release()
	metav1.SetMetaDataAnnotation(&release.ObjectMeta, corev1alpha1.AnnotationSyncRequestedAt, strconv.Itoa(w.syncs))
	w.store(releases, false, release)
	return true, w.release(), nil
}

// writeLifecycle keeps what is written.
func (w *world) writeLifecycle(action clienttesting.Action) (bool, runtime.Object, error) {
	release := action.(clienttesting.UpdateAction).GetObject().(*corev1alpha1.Release)
	w.lifecycles = append(w.lifecycles, release)
	return true, release, nil
}

// catchUp waits until the watches have seen all that happened, where they can.
func (w *world) catchUp() {
	w.t.Helper()
	release := w.release()
	pages, err := w.host.Inventory(w.t.Context(), key)
	if release == nil || err != nil {
		return
	}
	target, err := w.host.reach(w.t.Context(), release)
	if err != nil {
		return
	}
	w.Eventually(func() bool { return w.host.track(w.t.Context(), release, pages.Entries(), target) }).
		WithTimeout(10 * time.Second).WithPolling(time.Millisecond).Should(BeFalse())
	for _, entry := range pages.Entries() {
		w.Eventually(func() bool {
			version, known := w.host.version(w.t.Context(), target, entry.ObjectKey)
			return !known || version == w.cluster.Watched(entry.ObjectKey)
		}).WithTimeout(10 * time.Second).WithPolling(time.Millisecond).Should(BeTrue())
	}
}

// judge makes a pass of the health loop that must succeed, and lets the informers see what
// it wrote.
func (w *world) judge() base.Result {
	w.t.Helper()
	if release, pages, err := w.health.find(w.t.Context(), key); err == nil {
		w.clock.Step(max(w.health.resting(release, pages), 0))
	}
	w.catchUp()
	result, err := w.health.Reconcile(w.t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.see()
	return result
}

// look makes a pass of the drift loop that must succeed, and lets the informers see what it
// wrote.
func (w *world) look() base.Result {
	w.t.Helper()
	w.catchUp()
	result, err := w.drift.Reconcile(w.t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.see()
	return result
}

// awaitWatch waits until the watch has an object at its present version.
func (w *world) awaitWatch(manifest string) {
	w.t.Helper()
	object := testcluster.Object(manifest)
	gvr, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	want := w.live(manifest)
	w.Eventually(func() (string, error) {
		version, known := w.host.Tracker.Version(types.NamespacedName{Namespace: "ns", Name: "edge"}, gvr, object.GetNamespace(), object.GetName())
		if !known {
			return "", errors.New("not known")
		}
		return version, nil
	}).WithTimeout(10 * time.Second).Should(Equal(want))
}

// live is the resourceVersion of an object in the target, "" when it is not there.
func (w *world) live(manifest string) string {
	w.t.Helper()
	connection, err := w.host.Connector.Connect(w.t.Context(), w.edge())
	w.Expect(err).NotTo(HaveOccurred())
	object := testcluster.Object(manifest)
	mapping, err := connection.Mapping(w.t.Context(), object.GroupVersionKind())
	w.Expect(err).NotTo(HaveOccurred())
	live, err := connection.Dynamic().Resource(mapping.Resource).Namespace(object.GetNamespace()).Get(w.t.Context(), object.GetName(), metav1.GetOptions{})
	w.cluster.Asked()
	if apierrors.IsNotFound(err) {
		return ""
	}
	w.Expect(err).NotTo(HaveOccurred())
	return live.GetResourceVersion()
}

func (w *world) edge() *corev1alpha1.Cluster {
	w.t.Helper()
	cluster, err := w.host.Clusters.Clusters("ns").Get("edge")
	w.Expect(err).NotTo(HaveOccurred())
	return cluster
}

// setCluster changes the Cluster that the informer has.
func (w *world) setCluster(change func(c *corev1alpha1.Cluster)) {
	w.t.Helper()
	cluster := w.edge().DeepCopy()
	change(cluster)
	w.Expect(w.clusters.Update(cluster)).To(Succeed())
}

// entry is the inventory entry of an applied object.
func entry(manifest, digest string) corev1alpha1.InventoryEntry {
	object := testcluster.Object(manifest)
	gvk := object.GroupVersionKind()
	return corev1alpha1.InventoryEntry{
		ObjectKey: corev1alpha1.ObjectKey{
			Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: object.GetNamespace(), Name: object.GetName(),
		},
		UID: types.UID("uid-" + object.GetName()), Digest: digest,
	}
}

// marked gives a manifest the marks of the Release and a UID.
func marked(manifest string) string {
	object := testcluster.Object(manifest)
	render.Mark(object, installation, "ns", "app")
	object.SetUID(types.UID("uid-" + object.GetName()))
	if len(object.GetManagedFields()) == 0 {
		testcluster.Own(object)
	}
	data, err := object.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(data)
}
