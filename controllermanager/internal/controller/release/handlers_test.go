// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/sources"
)

func TestWhatChangesAReleasesInput(t *testing.T) {
	tests := []struct {
		name      string
		given     func(*corev1alpha1.Release)
		input     bool
		progress  bool
		requested bool
	}{
		{"nothing", func(*corev1alpha1.Release) {}, false, false, false},
		{"the spec", func(r *corev1alpha1.Release) { r.Generation++ }, true, true, false},
		{"a request", func(r *corev1alpha1.Release) {
			metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationSyncRequestedAt, "now")
		}, true, false, true},
		{"a forced request", func(r *corev1alpha1.Release) {
			metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationSyncForceRequestedAt, "now")
		}, true, false, true},
		{"when it may be let go", func(r *corev1alpha1.Release) {
			metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationOrphanAfter, "1h")
		}, true, false, false},
		{"another annotation", func(r *corev1alpha1.Release) { metav1.SetMetaDataAnnotation(&r.ObjectMeta, "x/y", "z") }, false, false, false},
		{"the result of a hook", func(r *corev1alpha1.Release) {
			r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Hooks: []corev1alpha1.HookStatus{{Name: "h"}}}
		}, true, false, false},
		{"its deletion", func(r *corev1alpha1.Release) { now := metav1.Now(); r.DeletionTimestamp = &now }, true, true, false},
		{"Applied", func(r *corev1alpha1.Release) { r.Status.Conditions = conditions(isTrue, isFalse, 1) }, false, true, false},
		{"Healthy", func(r *corev1alpha1.Release) { r.Status.Conditions = conditions(isFalse, isTrue, 1) }, false, true, false},
		{"the text of Healthy", func(r *corev1alpha1.Release) { r.Status.Conditions[1].Message = "other" }, false, false, false},
		{"the generation of Applied", func(r *corev1alpha1.Release) { r.Status.Conditions[0].ObservedGeneration++ }, false, true, false},
		{"InSync", func(r *corev1alpha1.Release) {
			r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: corev1alpha1.ConditionInSync, Status: isTrue})
		}, false, false, false},
		{"the applied revision", func(r *corev1alpha1.Release) { r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@2"} }, false, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			old := newRelease()
			old.Status.Conditions = conditions(isFalse, isFalse, 1)
			changed := old.DeepCopy()
			tt.given(changed)
			g.Expect(inputChanged(old, changed)).To(Equal(tt.input), "input")
			g.Expect(progressChanged(old, changed)).To(Equal(tt.progress), "progress")
			g.Expect(requestChanged(old, changed)).To(Equal(tt.requested), "request")
		})
	}
}

func keys(names ...string) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, name := range names {
		keys = append(keys, types.NamespacedName{Namespace: key.Namespace, Name: name})
	}
	return keys
}

func TestWhoWaitsForARelease(t *testing.T) {
	w := newWorld(t, newRelease(wave(1)))
	w.create(other("lower"))
	w.create(other("same", wave(1)))
	w.create(other("higher", wave(2)))
	w.create(other("elsewhere", wave(2), func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "there" }))
	w.create(other("dependent", dependsOn("app", ""), func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "there" }))
	w.Expect(w.waiting(w.release())).To(ConsistOf(keys("higher", "dependent")))
}

func TestWhoIsOfAnotherWave(t *testing.T) {
	w := newWorld(t, newRelease())
	w.create(other("first", wave(-1)))
	w.create(other("same"))
	w.create(other("last", wave(2)))
	w.create(other("elsewhere", wave(2), func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "there" }))
	w.Expect(names(w.otherWaves(w.release()))).To(ConsistOf(keys("first", "last")), "those of its own, which most are of, are not looked through")
	w.Expect(names(w.lowerWaves(w.release()))).To(Equal(keys("first")))
	w.Expect(names(w.lowerWaves(w.release("last")))).To(Equal(keys("first", "app", "same")))
	w.Expect(w.waiting(w.release())).To(Equal(keys("last")))
	w.Expect(w.waiting(w.release("first"))).To(ConsistOf(keys("app", "same", "last")))
}

// TestResyncs has each Release looked at once, by itself.
func TestResyncs(t *testing.T) {
	w := newWorld(t, newRelease())
	w.create(other("higher", wave(2)))
	w.create(other("asking", dependsOn("app", "true")))
	w.awaits.keep(keys("waiter")[0], keys("app"))
	queue, release, cluster := enqueued{}, w.release(), w.cachedCluster(key.Namespace, "here").DeepCopy()
	cluster.ResourceVersion = "1"
	source := &sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "apps", ResourceVersion: "1"}}
	page := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "app", ResourceVersion: "1"}}
	for object, handler := range map[any]cache.ResourceEventHandler{
		release: w.onProgress(queue), release.DeepCopy(): w.onDependency(queue), release.DeepCopy(): w.onAwaitedRelease(queue),
		page: w.onInventory(queue), page.DeepCopy(): w.onAwaitedInventory(queue),
		cluster: w.onCluster(queue), source: w.onSource(queue, sources.KindGitRepository),
	} {
		handler.OnUpdate(object, object)
	}
	w.Expect(queue).To(BeEmpty())
	w.onRelease(queue).OnUpdate(release, release)
	w.Expect(queue).To(Equal(enqueued{"app": base.PriorityResync}))

	queue, page.Name = enqueued{}, "gone"
	w.onInventory(queue).OnUpdate(page, page)
	w.Expect(queue).To(Equal(enqueued{"gone": base.PriorityResync}), "nobody else asks after its inventory")
}

// enqueued records keys with their priorities.
type enqueued map[string]base.Priority

func (e enqueued) Enqueue(key types.NamespacedName, p base.Priority) {
	e[key.Name] = max(e[key.Name], p)
}

func TestClusterAndSourceWakeTheirReleases(t *testing.T) {
	w := newWorld(t, newRelease())
	w.create(other("another-source"))
	w.create(newRelease(func(r *corev1alpha1.Release) {
		r.Name, r.Spec.ClusterRef.Name = "another-cluster", "there"
		r.Spec.Source = corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{RegistryRef: corev1alpha1.LocalReference{Name: "charts"}}}
		r.Spec.Render = &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{
			ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "GitRepository", Name: "apps"}, {Kind: "Secret", Name: "apps"}},
		}}
	}))
	queue := enqueued{}
	cluster := w.cachedCluster(key.Namespace, "here").DeepCopy()
	changed := cluster.DeepCopy()
	changed.Status.Conditions = ready(isTrue, corev1alpha1.ReasonReachable, "")
	w.onCluster(queue).OnUpdate(cluster, changed)
	w.Expect(queue).To(And(HaveLen(2), HaveKey("app"), HaveKey("another-source")))

	queue = enqueued{}
	changed.Status.LastProbeTime = &metav1.Time{}
	w.onCluster(queue).OnUpdate(changed, changed.DeepCopy())
	w.Expect(queue).To(BeEmpty(), "a look that found nothing new is no news")

	repository := &sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "apps"}}
	w.onSource(queue, sources.KindGitRepository).OnAdd(repository, false)
	w.Expect(queue).To(And(HaveLen(2), HaveKey("app"), HaveKey("another-cluster")))
	queue = enqueued{}
	w.onSource(queue, sources.KindHelmRegistry).OnDelete(&sourcev1alpha1.HelmRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "charts"}})
	w.Expect(queue).To(And(HaveLen(1), HaveKey("another-cluster")))
}

func TestReleaseHandlers(t *testing.T) {
	w := newWorld(t, newRelease())
	w.create(other("higher", wave(2)))
	old := w.release()

	queue, changed := enqueued{}, old.DeepCopy()
	changed.ResourceVersion = "100"
	changed.Status.Conditions = conditions(isTrue, isTrue, 1)
	w.onRelease(queue).OnUpdate(old, changed)
	w.Expect(queue).To(BeEmpty(), "what the controller writes itself is no input")
	w.onProgress(queue).OnUpdate(old, changed)
	w.Expect(queue).To(Equal(enqueued{"higher": base.PriorityChange}))

	queue, changed = enqueued{}, old.DeepCopy()
	changed.ResourceVersion = "101"
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, corev1alpha1.AnnotationSyncRequestedAt, "now")
	w.onRelease(queue).OnUpdate(old, changed)
	w.Expect(queue).To(Equal(enqueued{"app": base.PriorityRequest}), "a person waits")

	queue = enqueued{}
	w.onRelease(queue).OnUpdate(old, old)
	w.Expect(queue).To(Equal(enqueued{"app": base.PriorityResync}))
}

func TestAnythingOfADependencyMayMakeAnExpressionTrue(t *testing.T) {
	w := newWorld(t, newRelease())
	w.create(other("asking", dependsOn("app", "'go' in release.metadata.labels")))
	w.create(other("depending", dependsOn("app", "")))
	old := w.release()
	changed := old.DeepCopy()
	changed.ResourceVersion = "100"
	changed.Labels = map[string]string{"go": ""}
	queue := enqueued{}
	w.onDependency(queue).OnUpdate(old, changed)
	w.onProgress(queue).OnUpdate(old, changed)
	w.onRelease(queue).OnUpdate(old, changed)
	w.Expect(queue).To(Equal(enqueued{"asking": base.PriorityChange}))
}

func TestInventoryHandler(t *testing.T) {
	w := newWorld(t, newRelease())
	queue := enqueued{}
	old := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "app", ResourceVersion: "1"}}
	changed := old.DeepCopy()
	changed.ResourceVersion, changed.Generation = "2", 2
	w.onInventory(queue).OnUpdate(old, changed)
	w.Expect(queue).To(BeEmpty())
	changed.Status.Health = []corev1alpha1.ObjectHealth{health("a", corev1alpha1.HealthHealthy, "")}
	w.onInventory(queue).OnUpdate(old, changed)
	w.Expect(queue).To(HaveKey("app"))
}

func ready(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: corev1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}}
}

func TestReadyChanged(t *testing.T) {
	tests := []struct {
		name         string
		old, current []metav1.Condition
		want         bool
	}{
		{"nothing", nil, nil, false},
		{"the first look", nil, ready(isTrue, "Reachable", ""), true},
		{"the status", ready(isTrue, "Reachable", ""), ready(isFalse, "Unreachable", ""), true},
		{"the reason", ready(isFalse, "SecretNotFound", ""), ready(isFalse, "Unreachable", ""), true},
		{"the text", ready(isFalse, "Unreachable", "a"), ready(isFalse, "Unreachable", "b"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			NewWithT(t).Expect(readyChanged(tt.old, tt.current)).To(Equal(tt.want))
		})
	}
}

func TestHealthChanged(t *testing.T) {
	tests := []struct {
		name  string
		given func(*corev1alpha1.ReleaseInventory)
		want  bool
	}{
		{"nothing", func(*corev1alpha1.ReleaseInventory) {}, false},
		{"the entries, which the controller itself writes", func(i *corev1alpha1.ReleaseInventory) { i.Generation++ }, false},
		{"the health of an entry", func(i *corev1alpha1.ReleaseInventory) {
			i.Status.Health = []corev1alpha1.ObjectHealth{health("a", corev1alpha1.HealthHealthy, "")}
		}, true},
		{"the generation that was judged", func(i *corev1alpha1.ReleaseInventory) { i.Status.ObservedGeneration++ }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := &corev1alpha1.ReleaseInventory{}
			changed := old.DeepCopy()
			tt.given(changed)
			NewWithT(t).Expect(healthChanged(old, changed)).To(Equal(tt.want))
		})
	}
}

func TestCircuitBreaker(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	cluster := w.cachedCluster(key.Namespace, "here").DeepCopy()
	cluster.Status.Conditions = ready(isFalse, corev1alpha1.ReasonUnreachable, "connection refused")
	w.Expect(w.clusters.Update(cluster)).To(Succeed())
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "no worker is spent on it")
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
	cluster = cluster.DeepCopy()
	cluster.Status.Conditions = ready(isTrue, corev1alpha1.ReasonReachable, "")
	w.Expect(w.clusters.Update(cluster)).To(Succeed())
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
}
