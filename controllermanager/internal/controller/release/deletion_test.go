// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/render"
)

// deleteRelease deletes the Release as a person would.
func (w *world) deleteRelease() {
	w.Expect(w.host.CoreV1alpha1().Releases(key.Namespace).Delete(context.Background(), key.Name, deleteOptions)).To(Succeed())
}

func orphaned(r *corev1alpha1.Release) { r.Spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan }

func TestDeletion(t *testing.T) {
	w := settledWorld(t, newRelease(),
		objectOf("Namespace", "n", -2, "n1"), objectOf("ConfigMap", "c", -1, "c1"), objectOf("Deployment", "d", 0, "d1"))
	w.deleteRelease()
	w.target.lingering["d"] = true
	result := w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune d"}), "later stages go first")
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False Deleting"))
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("3 objects are left: waiting for Deployment ns/d"))
	w.Expect(w.condition(corev1alpha1.ConditionHealthy)).To(Equal("Unknown Deleting"))
	w.Expect(result.RequeueAfter).To(Equal(deletionPoll))

	delete(w.target.lingering, "d")
	w.target.lingering["n"] = true
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune d", "prune c", "prune n"}))
	w.Expect(w.inventory().Spec.Entries).To(ConsistOf(HaveField("Name", "n")))

	delete(w.target.lingering, "n")
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.inventory()).To(BeNil())
	w.Expect(w.target.names()).To(BeEmpty())
}

// TestDeletionOfWhatWaitsForOthers: what is held back by objects of the Release does not hold
// them up.
func TestDeletionOfWhatWaitsForOthers(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "c", -1, "c1"), objectOf("Namespace", "n", 3, "n1"))
	w.target.waitsFor = map[string]string{"n": "c"}
	w.target.lingering["c"] = true
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune n", "prune c"}))
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("2 objects are left: waiting for ConfigMap ns/c, Namespace ns/n (not deleted while c is in it)"))
	delete(w.target.lingering, "c")
	w.pass()
	w.Expect(w.target.names()).To(Equal([]string{"n"}))
	w.pass()
	w.Expect(w.release()).To(BeNil())
}

func TestDeletionWithoutAnInventoryTellsWhatMayBeLeft(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	inventories := w.host.CoreV1alpha1().ReleaseInventories(key.Namespace)
	stripped := w.inventory()
	stripped.Finalizers = nil
	_, err := inventories.Update(context.Background(), stripped, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(inventories.Delete(context.Background(), key.Name, deleteOptions)).To(Succeed())
	w.latestInventories.forget(key)
	w.deleteRelease()
	w.events()
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.events()).To(ContainElement(And(HavePrefix("Warning Orphaned"), ContainSubstring(key.String()))))
}

func TestReleaseIsChangedWhileItEnds(t *testing.T) {
	w := settledWorld(t, newRelease(orphaned), objectOf("ConfigMap", "a", 0, "a1"))
	w.deleteRelease()
	w.sync()
	w.host.onWrite = func(write string) {
		if write == "patch releases" {
			w.host.onWrite = nil
			resource := corev1alpha1.SchemeGroupVersion.WithResource("releases")
			release, err := w.host.stored(resource, key.Namespace, key.Name)
			w.Expect(err).NotTo(HaveOccurred())
			release.SetLabels(map[string]string{"by": "somebody"})
			w.Expect(w.host.put(resource, release)).To(Succeed())
		}
	}
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.events()).To(Equal([]string{"Normal Orphaned left in the cluster: ConfigMap ns/a"}))
}

func TestDeletionThatTheCacheHasNotHeardOf(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.deleteRelease()
	w.sync()
	behind := w.cachedRelease(key.Namespace, key.Name)
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.releases.Add(behind)).To(Succeed())
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.events()).NotTo(ContainElement(ContainSubstring("Orphaned")))
}

// Also a process that died between the end of the inventory and that of the Release leaves
// this state.
func TestDeletionWithHooksThatTheCacheHasNotHeardOf(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{
		hookOf("backup", corev1alpha1.HookPreDelete),
		hookOf("farewell", corev1alpha1.HookPostDelete, func(h *render.Hook) { h.Object = objectOf("ConfigMap", "farewell", 0, "f1") }),
	}
	w.pass()
	w.deleteRelease()
	w.pass()
	w.hook("backup", corev1alpha1.HookSucceeded, "")
	w.sync()
	behind := w.cachedRelease(key.Namespace, key.Name)
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.target.takeCalls()
	w.Expect(w.releases.Add(behind)).To(Succeed())
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "no hook runs again")
	w.Expect(w.inventory()).To(BeNil(), "nobody would end it")
}

func TestDeletionOfWhatWasNeverApplied(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.failures["a"] = clusterconn.ErrForbidden
	w.pass()
	w.deleteRelease()
	w.target.connectErr = errors.New("nobody to connect with")
	w.pass()
	w.Expect(w.release()).To(BeNil())
}

func TestDeletionKeepsProtectedObjects(t *testing.T) {
	kept := objectOf("PersistentVolumeClaim", "data", 0, "d1")
	kept.Keep = true
	w := settledWorld(t, newRelease(), kept)
	w.deleteRelease()
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.target.names()).To(Equal([]string{"data"}))
	w.Expect(w.events()).To(ContainElement("Normal Kept PersistentVolumeClaim ns/data: kept, as its source asked"))
}

// TestWhatIsKeptIsToldAtOnce: once an object is out of the inventory, no later pass knows of it.
func TestWhatIsKeptIsToldAtOnce(t *testing.T) {
	kept := objectOf("PersistentVolumeClaim", "data", 0, "d1")
	kept.Keep = true
	w := settledWorld(t, newRelease(), kept)
	w.deleteRelease()
	w.sync()
	w.host.fail["delete releaseinventories"] = apierrors.NewInternalError(context.DeadlineExceeded)
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).To(HaveOccurred())
	w.Expect(w.inventory().Spec.Entries).To(BeEmpty())
	w.Expect(w.events()).To(ContainElement(HavePrefix("Normal Kept PersistentVolumeClaim ns/data")))
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.events()).NotTo(ContainElement(HavePrefix("Normal Kept")), "and once")
}

func TestHistoryTellsWhatIsKept(t *testing.T) {
	kept := objectOf("PersistentVolumeClaim", "data", 0, "d1")
	kept.Keep = true
	w := settledWorld(t, newRelease(), kept, objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.observe()
	w.pass()
	w.Expect(w.release().Status.History).To(HaveExactElements(
		And(HaveField("Revision", "main@2"), HaveField("Outcome", corev1alpha1.OutcomeHealthy),
			HaveField("Kept", []string{"PersistentVolumeClaim ns/data: kept, as its source asked"})),
		And(HaveField("Revision", "main@1"), HaveField("Kept", BeEmpty()))))
}

func orphanAfterAnHour(r *corev1alpha1.Release) {
	r.Annotations = map[string]string{corev1alpha1.AnnotationOrphanAfter: "1h"}
}

func TestUnreachableTargetIsGivenUpAfterATime(t *testing.T) {
	secretGone := apierrors.NewNotFound(releaseResource, "kubeconfig")
	tests := []struct {
		name  string
		given func(w *world)
		mend  func(w *world)
		want  string
	}{
		{"the cluster does not answer", func(w *world) { w.answers(false) }, func(w *world) { w.answers(true) }, "False TargetUnreachable"},
		{"requests get no answer", func(w *world) { w.target.failures["a"] = clusterconn.Classify(context.DeadlineExceeded) },
			func(w *world) { delete(w.target.failures, "a") }, "False TargetUnreachable"},
		{"its Secret is gone", func(w *world) { w.target.connectErr = secretGone }, func(w *world) { w.target.connectErr = nil }, "False SecretNotFound"},
		{"credentials are refused", func(w *world) { w.target.connectErr = clusterconn.ErrUnauthenticated },
			func(w *world) { w.target.connectErr = nil }, "False AuthenticationFailed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := settledWorld(t, newRelease(orphanAfterAnHour), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
			w.target.lingering["b"] = true
			tt.given(w)
			w.clock.SetTime(w.clock.Now().Add(119 * time.Minute))
			w.pass()
			w.Expect(w.release()).NotTo(BeNil(), "it is not being deleted")
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			w.deleteRelease()
			w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", time.Hour))
			w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal(tt.want))
			w.Expect(w.message(corev1alpha1.ConditionReady)).To(ContainSubstring("convoy.kumodo.io/orphan-after: 1h lets it go at 2026-03-01T13:00:00Z"))

			w.clock.SetTime(w.clock.Now().Add(50 * time.Minute))
			tt.mend(w)
			w.target.lingering["a"] = true
			w.pass()
			w.Expect(w.release().Status.Sync).To(Or(BeNil(), HaveField("UnreachableSince", BeNil())), "it was reached")
			tt.given(w)
			for range 6 {
				w.Expect(w.release()).NotTo(BeNil(), "the time begins anew")
				w.clock.SetTime(w.clock.Now().Add(11 * time.Minute))
				w.pass()
			}
			w.Expect(w.release()).NotTo(BeNil())
			w.events()
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.pass()
			w.Expect(w.release()).To(BeNil())
			w.Expect(w.inventory()).To(BeNil())
			w.Expect(w.target.names()).To(ConsistOf("a", "b"))
			w.Expect(w.events()).To(ContainElement(And(HavePrefix("Warning Orphaned"),
				ContainSubstring("ConfigMap ns/a, ConfigMap ns/b; Cluster here could not be reached since"))))
		})
	}
}

// What is said of the target may be from before convoy was down: it is asked before a Release goes without it.
func TestTargetIsAskedBeforeItIsGivenUp(t *testing.T) {
	w := settledWorld(t, newRelease(orphanAfterAnHour), objectOf("ConfigMap", "a", 0, "a1"))
	w.deleteRelease()
	w.saysReachable(false)
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
	w.restart()
	w.clock.SetTime(w.clock.Now().Add(2 * time.Hour))
	w.pass()
	w.Expect(w.target.names()).To(BeEmpty(), "it answers, and was cleaned")
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.events()).NotTo(ContainElement(HavePrefix("Warning Orphaned")))
}

func TestWhatHoldsADeletionUpForEver(t *testing.T) {
	tests := []struct {
		name   string
		change func(*corev1alpha1.Release)
		given  func(w *world)
	}{
		{"without the annotation", func(*corev1alpha1.Release) {}, func(w *world) { w.answers(false) }},
		{"with a time that is none", func(r *corev1alpha1.Release) {
			r.Annotations = map[string]string{corev1alpha1.AnnotationOrphanAfter: "soon"}
		}, func(w *world) { w.answers(false) }},
		{"the identity may not delete", orphanAfterAnHour, func(w *world) { w.target.failures["a"] = clusterconn.ErrForbidden }},
		{"a finalizer", orphanAfterAnHour, func(w *world) { w.target.lingering["a"] = true }},
		{"a person suspended the Cluster", orphanAfterAnHour, func(w *world) {
			cluster := w.cachedCluster(key.Namespace, "here").DeepCopy()
			cluster.Spec.Suspend = true
			w.Expect(w.clusters.Update(cluster)).To(Succeed())
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := settledWorld(t, newRelease(tt.change), objectOf("ConfigMap", "a", 0, "a1"))
			tt.given(w)
			w.deleteRelease()
			for range 3 {
				w.pass()
				w.clock.SetTime(w.clock.Now().Add(24 * time.Hour))
			}
			w.Expect(w.release()).NotTo(BeNil())
		})
	}
}

// answers has the target answer or not, and the Cluster's own controller say so.
func (w *world) answers(yes bool) {
	w.saysReachable(yes)
	w.target.connectErr = nil
	if !yes {
		w.target.connectErr = clusterconn.ErrUnreachable
	}
}

// saysReachable has the Cluster's own controller say whether it answers.
func (w *world) saysReachable(yes bool) {
	cluster := w.cachedCluster(key.Namespace, "here").DeepCopy()
	cluster.Status.Conditions = []metav1.Condition{{Type: corev1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: corev1alpha1.ReasonReachable}}
	if !yes {
		cluster.Status.Conditions[0].Status, cluster.Status.Conditions[0].Reason = metav1.ConditionFalse, corev1alpha1.ReasonUnreachable
	}
	w.Expect(w.clusters.Update(cluster)).To(Succeed())
}

func TestDeletionThatCannotGoOn(t *testing.T) {
	secretGone := apierrors.NewNotFound(releaseResource, "kubeconfig")
	tests := []struct {
		name  string
		given func(w *world)
		want  string
		tries int
	}{
		{"the cluster is gone", func(w *world) { w.Expect(w.clusters.Replace(nil, "")).To(Succeed()) }, "False ClusterNotFound", 1},
		{"its Secret is gone", func(w *world) { w.target.connectErr = secretGone }, "False SecretNotFound", 1},
		{"the target does not answer", func(w *world) { w.target.failures["a"] = clusterconn.Classify(context.DeadlineExceeded) }, "False TargetUnreachable", 1},
		{"the identity may not delete", func(w *world) { w.target.failures["a"] = clusterconn.ErrForbidden }, "False Forbidden", 1},
		{"something else", func(w *world) { w.target.failures["a"] = errors.New("no") }, "False PruneFailed", orphanAttempts + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
			tt.given(w)
			w.deleteRelease()
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal(tt.want))
			w.Expect(w.message(corev1alpha1.ConditionReady)).To(And(
				HavePrefix("1 object is left"), ContainSubstring("spec.deletionPolicy: orphan")))
			w.Expect(w.release().Status.Sync.NextRetryAt).NotTo(BeNil())
			w.Expect(w.inventory().Spec.Entries).To(HaveLen(1))

			w.change(orphaned)
			for range tt.tries {
				w.Expect(w.release()).NotTo(BeNil())
				w.clock.SetTime(w.clock.Now().Add(time.Hour))
				w.pass()
			}
			w.Expect(w.release()).To(BeNil(), "people can give the objects up")
			w.Expect(w.inventory()).To(BeNil())
		})
	}
}

func TestDeletionGoesOnWhenTheTargetIsBack(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.target.failures["a"] = clusterconn.Classify(context.DeadlineExceeded)
	w.deleteRelease()
	w.pass()
	delete(w.target.failures, "a")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(w.release()).To(BeNil())
}

func TestDeletionTogetherWithTheNamespaceCleansTheTarget(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.Expect(w.clusters.Replace(nil, "")).To(Succeed())
	w.gone = true
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a"}))
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.lastClusters.of).To(BeEmpty())
}

func TestDeletionTogetherWithTheNamespaceWithoutConnection(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.Expect(w.clusters.Replace(nil, "")).To(Succeed())
	w.gone = true
	w.lastClusters.forget(key) // as after a restart
	w.deleteRelease()
	w.pass()
	w.Expect(w.release()).To(BeNil(), "the namespace's end is not held up")
	w.Expect(w.events()).To(ContainElement(And(HavePrefix("Warning Orphaned"), ContainSubstring("ConfigMap ns/a"))))
}

func TestOrphan(t *testing.T) {
	w := settledWorld(t, newRelease(orphaned), objectOf("ConfigMap", "a", 0, "a1"))
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"orphan a"}))
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.target.names()).To(Equal([]string{"a"}))
	w.Expect(w.events()).To(ContainElement("Normal Orphaned left in the cluster: ConfigMap ns/a"))
}

func TestDeleteHooks(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{
		hookOf("backup", corev1alpha1.HookPreDelete), hookOf("farewell", corev1alpha1.HookPostDelete),
	}
	w.pass()
	w.target.takeCalls()
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply backup"}))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False WaitingForHook"))

	w.events()
	w.hook("backup", corev1alpha1.HookFailed, "disk full")
	w.pass()
	w.Expect(w.events()).To(ConsistOf(And(HavePrefix("Warning HookFailed"), ContainSubstring("disk full"))))
	w.pass()
	w.Expect(w.events()).To(BeEmpty(), "it is said once")
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(And(ContainSubstring("disk full"), ContainSubstring("spec.deletionPolicy: orphan")))

	w.hook("backup", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a", "apply farewell"}))
	w.hook("farewell", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.Expect(w.target.takeCalls()).To(ConsistOf("prune backup", "prune farewell"))
	w.Expect(w.release()).To(BeNil())
}

func TestDeletionWithoutSource(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.err = errors.New("down")
	w.deleteRelease()
	w.pass()
	w.Expect(w.release()).To(BeNil(), "what was applied has no hooks for a deletion: the source is not needed")
	w.Expect(w.events()).NotTo(ContainElement(HavePrefix("Warning HooksSkipped")))
}

func TestDeletionWithHooksWithoutSource(t *testing.T) {
	world := func() *world {
		w := newWorld(t, newRelease())
		w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("farewell", corev1alpha1.HookPostDelete)}
		w.pass()
		w.target.takeCalls()
		return w
	}
	w := world()
	w.source.err = errors.New("down")
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "there are hooks to run")
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("looking for preDelete hooks: down; if that is so until 2026-03-01T10:05:00Z, the objects are deleted without those that are not in spec.lifecycle"))
	w.clock.SetTime(w.release().DeletionTimestamp.Add(defaultTimeout))
	w.pass()
	w.Expect(w.release()).To(BeNil())

	w = world()
	w.Expect(w.config.GitRepositories.GetIndexer().Delete(&sourcev1alpha1.GitRepository{ObjectMeta: newRelease(func(r *corev1alpha1.Release) { r.Name = "apps" }).ObjectMeta})).To(Succeed())
	w.deleteRelease()
	w.pass()
	w.Expect(w.release()).To(BeNil(), "a source that is gone will not come back")
	w.Expect(w.events()).To(ContainElement(HavePrefix("Warning HooksSkipped")))
}

func TestSuspendedReleaseCanBeDeletedAndASuspendedClusterWaits(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
	cluster := w.cachedCluster(key.Namespace, "here").DeepCopy()
	cluster.Spec.Suspend = true
	w.Expect(w.clusters.Update(cluster)).To(Succeed())
	w.deleteRelease()
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False ClusterSuspended"))
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	cluster = cluster.DeepCopy()
	cluster.Spec.Suspend = false
	w.Expect(w.clusters.Update(cluster)).To(Succeed())
	w.pass()
	w.Expect(w.release()).To(BeNil())
}

func TestGoneReleaseIsForgotten(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.failures["a"] = errors.New("no")
	w.pass()
	w.Expect(w.attempts.of).To(HaveLen(1))
	delete(w.target.failures, "a")
	w.deleteRelease()
	w.pass()
	w.pass()
	w.Expect(w.attempts.of).To(BeEmpty())
	w.Expect(w.latestReleases.written).To(BeEmpty())
	w.Expect(w.latestInventories.written).NotTo(HaveKey(types.NamespacedName(key)))
}

func TestInventoryOfAReleaseWhoseFinalizerWasTakenOff(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	inventories := w.host.CoreV1alpha1().ReleaseInventories(key.Namespace)
	w.Expect(inventories.Delete(t.Context(), key.Name, deleteOptions)).To(Succeed())
	w.sync()
	w.Expect(w.endAbandoned(t.Context(), key)).To(Succeed())
	w.Expect(w.inventory()).NotTo(BeNil(), "the Release is there, even if a cache had lost it")

	w.Expect(w.host.Tracker().Delete(corev1alpha1.SchemeGroupVersion.WithResource("releases"), key.Namespace, key.Name)).To(Succeed())
	w.pass()
	w.Expect(w.inventory()).To(BeNil())
	w.Expect(w.events()).To(ConsistOf("Warning Orphaned left in the cluster with the marks of this Release, whose finalizer was taken off: ConfigMap ns/a"))
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.pass()
	w.Expect(w.events()).To(BeEmpty())
}

func TestInventoryOfAReleaseThatIsGoneWaitsForItsDeletion(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.Expect(w.host.Tracker().Delete(corev1alpha1.SchemeGroupVersion.WithResource("releases"), key.Namespace, key.Name)).To(Succeed())
	w.pass()
	w.Expect(w.inventory()).NotTo(BeNil(), "the garbage collector deletes it, if it is to go")
}
