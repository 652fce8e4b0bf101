// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/internal/controller/base"
)

// elsewhere has Releases of other shards.
type elsewhere struct {
	cache.Indexer
	handlers []cache.ResourceEventHandler
	wanted   map[string][]types.NamespacedName
	whole    bool // all that is wanted is known
}

func (e *elsewhere) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	e.handlers = append(e.handlers, handler)
	return nil, nil
}

func (e *elsewhere) Want(release types.NamespacedName, others []types.NamespacedName) {
	e.wanted[release.Name] = others
}

func (e *elsewhere) Whole(types.NamespacedName) bool { return e.whole }
func (e *elsewhere) GetIndexer() cache.Indexer       { return e.Indexer }

// beside makes the caches of a world those of some shards.
func beside(w *world) *elsewhere {
	e := &elsewhere{Indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), wanted: map[string][]types.NamespacedName{}}
	w.config.Elsewhere = e
	w.Expect(w.addHandlers()).To(Succeed())
	return e
}

// passHere makes a pass over the Release "app" with none but the objects of its own shard cached.
func (w *world) passHere(foreign ...string) error {
	w.sync()
	for _, name := range foreign {
		w.Expect(w.releases.Delete(newRelease(named(name)))).To(Succeed())
		w.Expect(w.inventories.Delete(&corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}})).To(Succeed())
	}
	_, err := w.Reconcile(context.Background(), key)
	return err
}

func named(name string) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) { r.Name, r.Spec.ClusterRef.Name = name, "there" }
}

// reads counts the reads of Releases since the last time.
func (w *world) reads() int {
	n := 0
	for _, action := range w.host.Actions() {
		if action.Matches("get", "releases") {
			n++
		}
	}
	w.host.ClearActions()
	return n
}

// refuse has the host answer requests with an error from now on.
func (w *world) refuse(verb, resource string, err error) {
	w.host.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
}

func TestADependencyInAnotherShard(t *testing.T) {
	w := newWorld(t, newRelease(dependsOn("other", "")))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	e := beside(w)
	w.Expect(w.passHere()).To(Succeed())
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("Release other: does not exist"))
	w.Expect(e.wanted["app"]).To(Equal(keys("other")))

	w.create(newRelease(named("other")))
	w.reads()
	w.Expect(w.passHere("other")).To(Succeed())
	w.Expect(w.reads()).To(Equal(1), "it is not known yet whether it is there")
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("Release other: not Applied yet"))

	e.whole = true
	well := newRelease(named("other"), func(r *corev1alpha1.Release) {
		for _, one := range []string{corev1alpha1.ConditionApplied, corev1alpha1.ConditionHealthy} {
			r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: one, Status: metav1.ConditionTrue, ObservedGeneration: 1})
		}
	})
	w.Expect(e.Add(well)).To(Succeed())
	w.reads()
	w.Expect(w.passHere("other")).To(Succeed())
	w.Expect(w.reads()).To(BeZero())
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("Release other: has not applied main@1 yet"), "it is of the same source")
	applied := well.DeepCopy()
	applied.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@1", Generation: 1}
	w.Expect(e.Update(applied)).To(Succeed())
	w.Expect(w.passHere("other")).To(Succeed())
	w.Expect(w.target.takeCalls()).NotTo(BeEmpty(), "it goes on")

	w.Expect(w.passHere()).To(Succeed())
	w.Expect(e.wanted["app"]).To(BeEmpty(), "it is cached now")
	w.forget(key)
	w.Expect(e.wanted["app"]).To(BeNil())
}

func TestADependencyThatCannotBeRead(t *testing.T) {
	w := newWorld(t, newRelease(dependsOn("other", "")))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	beside(w)
	w.refuse("get", "releases", apierrors.NewServiceUnavailable("away"))
	w.Expect(w.passHere()).To(MatchError(apierrors.IsServiceUnavailable, "IsServiceUnavailable"))
	w.Expect(w.target.takeCalls()).To(BeEmpty())
}

func TestADependencyInAnotherShardWakes(t *testing.T) {
	w := newWorld(t, newRelease(dependsOn("other", "")))
	w.create(newRelease(func(r *corev1alpha1.Release) { r.Name = "waiter" }))
	w.awaits.keep(keys("waiter")[0], keys("other"))
	e := beside(w)
	w.Expect(e.handlers).To(HaveLen(3))
	queue, foreign := enqueued{}, newRelease(named("other"))
	for _, handler := range []cache.ResourceEventHandler{w.onProgress(queue), w.onDependency(queue), w.onAwaitedRelease(queue)} {
		handler.OnAdd(foreign, true)
	}
	w.Expect(queue).To(Equal(enqueued{"app": base.PriorityResync, "waiter": base.PriorityResync}))
}

func TestTheOwnerOfAnObjectInAnotherShardIsWatched(t *testing.T) {
	w := newWorld(t, newRelease())
	e := beside(w)
	w.awaits.keep(key, keys("owner"))
	w.source.err = apierrors.NewServiceUnavailable("away")
	w.Expect(w.passHere()).To(Succeed())
	w.Expect(e.wanted["app"]).To(Equal(keys("owner")))
}

// TestAnOwnerInAnotherShardLetsGo: what it has is tried again at once then, not when it would be tried in
// any case.
func TestAnOwnerInAnotherShardLetsGo(t *testing.T) {
	owner := newRelease(named("owner"), func(r *corev1alpha1.Release) {
		r.UID, r.Generation = "u", 1
		r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@1", Render: "one", Generation: 1}
		r.Status.Conditions = []metav1.Condition{{Type: corev1alpha1.ConditionApplied, Status: metav1.ConditionTrue, Message: "1 object is applied"}}
	})
	changed := func(change func(r *corev1alpha1.Release)) func(w *world, e *elsewhere) {
		return func(w *world, e *elsewhere) {
			now := owner.DeepCopy()
			change(now)
			w.Expect(e.Update(now)).To(Succeed())
			for _, handler := range e.handlers {
				handler.OnUpdate(owner, now)
			}
		}
	}
	for name, letsGo := range map[string]func(w *world, e *elsewhere){
		"it is gone": func(w *world, e *elsewhere) {
			w.Expect(e.Delete(owner)).To(Succeed())
			for _, handler := range e.handlers {
				handler.OnDelete(owner)
			}
		},
		"it is being deleted":                changed(func(r *corev1alpha1.Release) { now := metav1.Now(); r.DeletionTimestamp = &now }),
		"it has applied another revision":    changed(func(r *corev1alpha1.Release) { r.Status.Applied.Revision = "main@2" }),
		"it has applied another spec":        changed(func(r *corev1alpha1.Release) { r.Status.Applied.Generation, r.Status.Applied.Render = 2, "two" }),
		"it has pruned what left its render": changed(func(r *corev1alpha1.Release) { r.Status.Conditions[0].Message = "is applied" }),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newRelease())
			e := beside(w)
			e.whole = true
			w.Expect(e.Add(owner)).To(Succeed())
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
			w.target.failures["a"] = &apply.OwnershipError{Owner: corev1alpha1.ReleaseAnnotationValue("here", key.Namespace, "owner")}
			w.Expect(w.passHere()).To(Succeed())
			w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
			w.Expect(e.wanted["app"]).To(Equal(keys("owner")))
			w.Expect(w.passHere()).To(Succeed())
			w.Expect(w.target.takeCalls()).To(BeEmpty(), "nothing is new")

			queue := enqueued{}
			e.handlers = []cache.ResourceEventHandler{w.onAwaitedRelease(queue)}
			letsGo(w, e)
			w.Expect(queue).To(HaveKey("app"))
			delete(w.target.failures, "a")
			w.Expect(w.passHere()).To(Succeed())
			w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
		})
	}
}

// A Cluster that has yet to be labelled is no reason to give anything up.
func TestAClusterThatIsNotCachedIsRead(t *testing.T) {
	w := settledWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan }), objectOf("ConfigMap", "a", 0, "a1"))
	beside(w)
	cluster := w.cachedCluster(key.Namespace, "here")
	w.Expect(w.clusters.Delete(cluster)).To(Succeed())
	_, err := w.host.CoreV1alpha1().Clusters(key.Namespace).Create(t.Context(), cluster, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.clock.SetTime(w.clock.Now().Add(defaultInterval))
	w.Expect(w.passHere()).To(Succeed())
	w.Expect(w.target.takeCalls()).To(ContainElement(ContainSubstring("apply a")))

	w.deleteRelease()
	w.Expect(w.passHere()).To(Succeed())
	w.Expect(w.target.takeCalls()).To(ContainElement(ContainSubstring("orphan")), "its marks are taken off")
	w.Expect(w.release()).To(BeNil())
}

// The inventory may have the label of another shard still: what it has is not forgotten for that.
func TestAnInventoryThatIsNotCached(t *testing.T) {
	for _, test := range []struct {
		name  string
		begin func(w *world)
	}{
		{"of a deleted Release", func(w *world) { w.deleteRelease() }},
		{"of one that has something to apply", func(w *world) {
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
			w.clock.SetTime(w.clock.Now().Add(defaultInterval))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
			beside(w)
			test.begin(w)
			w.sync()
			w.forget(key) // as another process
			page := w.inventory()
			w.Expect(w.inventories.Delete(page)).To(Succeed())
			w.host.forgetWrites()
			_, err := w.Reconcile(t.Context(), key)
			w.Expect(err).To(MatchError(errUnknownPage))
			w.Expect(w.host.writes).To(ContainElement("patch releaseinventories"), "whereby it is labelled")
			w.Expect(w.inventory()).To(HaveField("Spec.Entries", HaveLen(1)))
			w.Expect(w.release()).NotTo(BeNil())
			w.Expect(w.target.takeCalls()).To(BeEmpty())

			w.pass()
			w.Expect(w.target.takeCalls()).NotTo(BeEmpty(), "with the inventory it goes on")
		})
	}
}

func TestAFurtherPageThatIsNotCached(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	beside(w)
	page := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "app.1"}}
	page.Spec.ReleaseRef.Name = key.Name
	page.Spec.Entries = []corev1alpha1.InventoryEntry{{ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "b"}}}
	_, err := w.host.CoreV1alpha1().ReleaseInventories(key.Namespace).Create(t.Context(), page, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.deleteRelease()
	for range 3 {
		w.sync()
		w.Expect(w.inventories.Delete(page)).To(Succeed())
		_, err = w.Reconcile(t.Context(), key)
	}
	w.Expect(err).To(MatchError(errUnknownPage))
	w.Expect(w.release()).NotTo(BeNil())
	w.pass()
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.allPages()).To(BeEmpty())
}

func TestKindsOfAllShards(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	beside(w)
	page := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "foreign"}}
	page.Spec.Entries = []corev1alpha1.InventoryEntry{
		{UID: "u", ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "Secret", Namespace: "ns", Name: "b"}},
		// What was just handed over to it, or applied by a process that died, bears its mark already.
		{ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "Service", Namespace: "ns", Name: "c"}},
		{UID: "v", ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "away", Name: "d"}},
	}
	_, err := w.host.CoreV1alpha1().ReleaseInventories("elsewhere").Create(t.Context(), page, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	o := &others{controller: w.Controller, scope: w.begin(key)}
	w.Expect(o.Kinds(t.Context(), "ns")).To(Equal([]schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"}}))
	w.refuse("list", "releaseinventories", apierrors.NewServiceUnavailable("away"))
	_, err = o.Kinds(t.Context(), "ns")
	w.Expect(err).To(MatchError(apierrors.IsServiceUnavailable, "IsServiceUnavailable"))
}

func TestALostShardIsForgotten(t *testing.T) {
	w := newWorld(t, newRelease(dependsOn("other", "")))
	w.create(newRelease(named("other")))
	w.sync()
	w.awaits.keep(key, keys("x"))
	w.awaits.keep(keys("other")[0], keys("x"))
	w.ForgetShard(func(r *corev1alpha1.Release) bool { return r.Spec.ClusterRef.Name == "there" })
	w.Expect(w.awaits.get(key)).NotTo(BeEmpty())
	w.Expect(w.awaits.get(keys("other")[0])).To(BeEmpty())
}
