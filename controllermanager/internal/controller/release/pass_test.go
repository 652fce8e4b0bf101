// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/render"
)

func TestFirstSync(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.target.onApply = func() {
		entries := w.inventory().Spec.Entries
		w.Expect(entries).To(HaveLen(2), "the inventory is written before anything is applied")
		w.Expect(entries[0].Digest).To(BeEmpty())
		w.Expect(w.release().Finalizers).To(ContainElement(corev1alpha1.FinalizerRelease))
	}

	w.pass()
	release, inventory := w.release(), w.inventory()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "apply b"}))
	w.Expect(release.Status.Applied).To(HaveField("Render", "render of main@1"))
	w.Expect(release.Status.Applied).To(HaveField("Revision", "main@1"))
	w.Expect(release.Status.Applied).To(HaveField("Generation", int64(1)))
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("True Fetched"))
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("True Rendered"))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.condition(corev1alpha1.ConditionHealthy)).To(Equal("Unknown Progressing"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("Unknown Progressing"))
	w.Expect(release.Status.History).To(ConsistOf(HaveField("Outcome", corev1alpha1.OutcomeApplied)))
	w.Expect(inventory.Spec.Entries[0]).To(And(HaveField("Digest", "a1"), HaveField("UID", Not(BeEmpty()))))
	w.Expect(inventory.OwnerReferences).To(ConsistOf(HaveField("UID", release.UID)))
	w.Expect(inventory.Finalizers).To(ConsistOf(corev1alpha1.FinalizerRelease))
	w.Expect(w.events()).To(Equal([]string{"Normal Applied main@1 applied: 2 created"}))

	w.observe()
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(w.release().Status.History).To(ConsistOf(HaveField("Outcome", corev1alpha1.OutcomeHealthy)))
	w.Expect(w.events()).To(Equal([]string{"Normal Healthy main@1: 2 objects are healthy"}))
}

// settledWorld has the Release applied at revision main@1 and healthy.
func settledWorld(t *testing.T, release *corev1alpha1.Release, objects ...render.Object) *world {
	w := newWorld(t, release)
	w.source.offers("main@1", objects...)
	w.pass()
	for range objects { // one stage after the other
		w.observe()
		w.pass()
	}
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.host.forgetWrites()
	w.target.takeCalls()
	w.events()
	return w
}

func TestNothingToDoWritesAndSendsNothing(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	result := w.pass()
	w.Expect(w.host.writes).To(BeEmpty())
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.events()).To(BeEmpty())
	w.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "the source is looked at again")
}

func TestNewRevisionSendsWhatChangedAndPrunesWhatLeft(t *testing.T) {
	w := settledWorld(t, newRelease(),
		objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"), objectOf("ConfigMap", "c", 0, "c1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply b", "prune c"}))
	w.Expect(w.target.names()).To(Equal([]string{"a", "b"}))
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(2))
	w.Expect(w.release().Status.History).To(HaveExactElements(
		And(HaveField("ID", int64(2)), HaveField("Outcome", corev1alpha1.OutcomeApplied)),
		And(HaveField("ID", int64(1)), HaveField("Outcome", corev1alpha1.OutcomeHealthy))))
	w.Expect(w.events()).To(Equal([]string{"Normal Applied main@2 applied: 1 changed, 1 pruned"}))
}

func TestNewRevisionWithTheSameContentSendsNothing(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1")).Digest = "render of main@1"
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@2"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(w.host.writes).To(Equal([]string{"update releases/status"}))
	w.Expect(w.events()).To(BeEmpty())
}

func TestFailedApply(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "old", 0, "o1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"), objectOf("ConfigMap", "b", 0, "b1"))
	w.target.failures["b"] = &apply.OwnershipError{Owner: "convoy/team/other"}

	result := w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "apply b"}), "nothing is pruned when an apply failed")
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False OwnershipConflict"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False OwnershipConflict"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("1 of 2 objects failed: ConfigMap ns/b"))
	w.Expect(w.inventory().Spec.Entries).To(HaveExactElements(
		And(HaveField("Name", "a"), HaveField("Digest", "a2")),
		And(HaveField("Name", "b"), HaveField("Digest", "")),
		And(HaveField("Name", "old"), HaveField("Digest", ""))))
	w.Expect(w.release().Status.Sync).To(And(HaveField("Attempts", int32(1)), HaveField("NextRetryAt", Not(BeNil())), HaveField("LastError", Not(BeEmpty()))))
	w.Expect(result.RequeueAfter).To(Equal(5 * time.Second))
	w.Expect(w.release().Status.History[0].Outcome).To(Equal(corev1alpha1.OutcomeFailed))
	w.Expect(w.events()).To(ConsistOf(HavePrefix("Warning OwnershipConflict")))

	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "an event does not repeat it before it is due")

	w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
	result = w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply b"}), "what was applied is not sent again")
	w.Expect(w.release().Status.Sync.Attempts).To(Equal(int32(2)))
	w.Expect(result.RequeueAfter).To(Equal(10 * time.Second))
	w.Expect(w.events()).To(BeEmpty(), "a transition is announced once")

	delete(w.target.failures, "b")
	w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a2"), objectOf("ConfigMap", "b", 0, "b3"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply b", "prune old"}), "a change of input is not kept waiting")
	w.Expect(w.release().Status.Sync).To(BeNil())
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

func TestRetryLimit(t *testing.T) {
	limit := int32(1)
	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Retry = &corev1alpha1.RetrySpec{Limit: &limit} }))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.failures["a"] = errors.New("no")
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.Expect(w.target.takeCalls()).To(HaveLen(2))
	w.Expect(w.release().Status.Sync.NextRetryAt).To(BeNil())
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	result := w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "the source is looked at all the same")
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(HaveLen(1))
}

func TestPassingFailureIsRetriedSoonAndIsNoRejection(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.failures["a"] = clusterconn.Classify(context.DeadlineExceeded)
	for range 8 {
		result := w.pass()
		w.Expect(result.RequeueAfter).To(BeNumerically("<=", longestSoon))
		w.clock.SetTime(w.clock.Now().Add(longestSoon))
	}
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False TargetUnreachable"))
	w.Expect(w.release().Status.History).To(BeEmpty())
	w.Expect(w.probed).To(BeEmpty(), "its circuit breaker sees to that")
}

func TestClusterIsLookedAtWhenItIsTheTrouble(t *testing.T) {
	missing := fmt.Errorf("%w: %w", clusterconn.ErrInvalid, apierrors.NewNotFound(corev1.Resource("secrets"), "kubeconfig"))
	for _, test := range []struct {
		name   string
		given  error
		want   string
		probed bool
	}{
		{"it does not answer", clusterconn.ErrUnreachable, "False TargetUnreachable", false},
		{"it does not accept the credentials", clusterconn.ErrUnauthenticated, "False AuthenticationFailed", true},
		{"its Secret is gone", missing, "False SecretNotFound", true},
		{"its kubeconfig is broken", clusterconn.ErrInvalid, "False InvalidConfiguration", true},
		{"the Release's identity may not", clusterconn.ErrForbidden, "False Forbidden", false},
		{"the object is not accepted", apierrors.NewBadRequest("no"), "False ApplyFailed", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, newRelease())
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
			w.target.failures["a"] = test.given
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal(test.want))
			w.Expect(w.probed != nil).To(Equal(test.probed))
		})
	}
}

func TestFailuresAreToldByCause(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"),
		objectOf("ConfigMap", "c", 0, "c1"), objectOf("ConfigMap", "d", 0, "d1"), objectOf("ConfigMap", "e", 1, "e1"))
	for _, name := range []string{"a", "b"} {
		w.target.failures[name] = fmt.Errorf("configmaps %q is forbidden: quota", name)
	}
	w.target.failures["c"] = errors.New(`configmaps "c" is odd`)
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal("3 of 4 objects failed: " +
		"ConfigMap ns/a, ConfigMap ns/b: configmaps it is forbidden: quota; " +
		`ConfigMap ns/c: configmaps "c" is odd; 1 object of a later stage was not tried`))
	w.observe()
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionHealthy)).To(Equal("1 object is healthy; 4 objects are not as desired yet and not judged"))
}

func TestRefusedIdentityLeavesNoEntries(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", -1, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.target.failures["a"] = clusterconn.ErrForbidden
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False Forbidden"))
	w.Expect(w.inventory().Spec.Entries).To(BeEmpty(), "nothing can be there")
	w.pass()
	w.Expect(w.inventory().Spec.Entries).To(BeEmpty(), "nothing is prepared for what is not due")

	w.target.failures["a"] = errors.New("answer lost")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(2), "something may be there")
	w.target.failures["a"] = clusterconn.ErrForbidden
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(2))
}

func TestSourceProblems(t *testing.T) {
	tests := []struct {
		name  string
		given func(w *world)
		want  string
		ready string
	}{
		{"an absent source", func(w *world) {
			w.change(func(r *corev1alpha1.Release) { r.Spec.Source.Git.RepositoryRef.Name = "none" })
		}, "False SourceNotFound", "False SourceNotFound"},
		{"no source", func(w *world) { w.change(func(r *corev1alpha1.Release) { r.Spec.Source.Git = nil }) },
			"False InvalidConfiguration", "False InvalidConfiguration"},
		{"an absent revision", func(w *world) { w.source.err = fetch.ErrNotFound }, "False RevisionNotFound", "False RevisionNotFound"},
		{"refused credentials", func(w *world) { w.source.err = fetch.ErrUnauthorized }, "False AuthenticationFailed", "False AuthenticationFailed"},
		{"an absent Secret", func(w *world) {
			w.source.err = errors.Join(fetch.ErrSecret, fetch.ErrSecretNotFound)
		}, "False SecretNotFound", "False SecretNotFound"},
		{"content that does not render", func(w *world) {
			w.source.renderErr = &render.Error{Reason: corev1alpha1.ReasonUnknownKind, Message: "kind Widget"}
		}, "True Fetched", "False UnknownKind"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
			tt.given(w)
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal(tt.want))
			w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal(tt.ready))
			w.Expect(w.target.takeCalls()).To(BeEmpty(), "what is applied stays")
			w.Expect(w.inventory().Spec.Entries).To(HaveLen(1))
		})
	}
}

func TestEmptyRender(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False EmptyRender"))
	w.Expect(w.target.takeCalls()).To(BeEmpty())

	w.change(func(r *corev1alpha1.Release) { r.Spec.Sync.AllowEmpty = true })
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a"}))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
}

func TestPruneDisabled(t *testing.T) {
	no := false
	w := settledWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Prune = &no }),
		objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(2), "what stays is not forgotten")
	w.observe(health("b", corev1alpha1.HealthDegraded, "old"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"), "what left the render does not count")
}

func TestPruneThatTakesTime(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.lingering["b"] = true
	result := w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("waiting for the deletion of ConfigMap ns/b"))
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(2))
	w.Expect(result.RequeueAfter).To(Equal(deletionPoll))

	delete(w.target.lingering, "b")
	w.pass()
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(1))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).NotTo(ContainSubstring("waiting"))
}

func TestFailedPrune(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.failures["b"] = errors.New("finalizer webhook down")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False PruneFailed"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal("deleting ConfigMap ns/b: finalizer webhook down"))
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(2))
}

func TestLostWritesLoseNothing(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.host.fail["update releases/status"] = apierrors.NewServiceUnavailable("lost")
	w.sync()
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue())
	w.target.takeCalls()
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "the inventory knows what was applied")
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

// What was applied is on record, though the spec and the observer's condition were written
// while it was.
func TestStatusGoesOnTopOfWhatOthersWrote(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	inSync := metav1.Condition{Type: corev1alpha1.ConditionInSync, Status: metav1.ConditionTrue, Reason: corev1alpha1.ReasonInSync}
	w.target.onApply = func() {
		w.set("app", []metav1.Condition{inSync})
		w.change(func(r *corev1alpha1.Release) { r.Spec.Wave = 7 })
	}
	w.sync()
	_, err := w.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	status := w.release().Status
	w.Expect(status.History).To(HaveLen(1))
	w.Expect(status.ObservedGeneration).To(BeEquivalentTo(1), "it speaks of the spec that was applied")
	w.Expect(meta.FindStatusCondition(status.Conditions, corev1alpha1.ConditionInSync)).To(HaveValue(HaveField("Reason", corev1alpha1.ReasonInSync)))
	w.Expect(w.release().Spec.Wave).To(BeEquivalentTo(7))
}

// Who writes into what a pass went by has it made again.
func TestStatusDoesNotGoOnTopOfAnotherStatus(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.onApply = func() {
		w.set("app", nil, func(r *corev1alpha1.Release) { r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{} })
	}
	w.sync()
	_, err := w.Reconcile(t.Context(), key)
	w.Expect(apierrors.IsConflict(err)).To(BeTrue())
}

func TestStaleCachesRepeatNothing(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.sync()
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.target.takeCalls()
	w.host.forgetWrites()
	_, err = w.Reconcile(context.Background(), key) // the caches have not seen anything yet
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.host.writes).To(BeEmpty())
}

func TestInventoryWriteGoesOnTopOfTheObserversStatus(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.onApply = func() { w.observe() } // between the two writes of the inventory
	w.pass()
	w.Expect(w.inventory().Spec.Entries[0].Digest).To(Equal("a1"))
	w.Expect(w.inventory().Status.ObservedGeneration).To(Equal(int64(1)), "the observer's part is kept")
}

func TestDeletedInventoryIsMadeAgain(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.Expect(w.host.CoreV1alpha1().ReleaseInventories(key.Namespace).Delete(context.Background(), key.Name, deleteOptions)).To(Succeed())
	w.Expect(w.inventory().DeletionTimestamp).NotTo(BeNil(), "its finalizer keeps it")
	w.source.offers("main@2", objectOf("ConfigMap", "b", 0, "b1"))
	w.target.onApply = func() {
		w.Expect(w.inventory().Spec.Entries).To(HaveLen(2), "it is written ahead while it is being deleted, too")
	}
	w.pass()
	w.Expect(w.inventory().DeletionTimestamp).NotTo(BeNil())
	w.target.onApply = nil
	w.pass()
	w.Expect(w.inventory().DeletionTimestamp).To(BeNil())
	w.Expect(w.inventory().Spec.Entries).To(ConsistOf(HaveField("Digest", "b1")))
	w.Expect(w.inventory().Finalizers).To(ConsistOf(corev1alpha1.FinalizerRelease))
	w.target.takeCalls()
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
}

func TestInventoryOfATerminatingNamespaceIsKept(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.Expect(w.host.CoreV1alpha1().ReleaseInventories(key.Namespace).Delete(context.Background(), key.Name, deleteOptions)).To(Succeed())
	w.gone = true // and the Release is not deleted yet
	w.pass()
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(1), "it could not be made anew")
	w.deleteRelease()
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.target.names()).To(BeEmpty(), "nothing is left behind")
}

func TestSuspended(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False Suspended"))
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = false })
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
}

// TestFailureThatCouldNotBeToldIsTriedAgain: a status that could not be written must not
// swallow a failure, with no retry due least of all.
func TestFailureThatCouldNotBeToldIsTriedAgain(t *testing.T) {
	limit := int32(0)
	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Retry = &corev1alpha1.RetrySpec{Limit: &limit} }))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.failures["a"] = errors.New("no")
	w.host.fail["update releases/status"] = apierrors.NewServiceUnavailable("lost")
	w.sync()
	_, err := w.Reconcile(t.Context(), key)
	w.Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue())

	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"))
	w.Expect(w.release().Status.Sync.Attempts).To(BeEquivalentTo(1), "the attempt that nobody was told of does not count")
	w.target.takeCalls()
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "no retry is due")
}

// The inventory is written before the first object is sent and after the last, however many
// stages there are between.
func TestStagesOfPassiveObjectsAreRecordedOnce(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"), objectOf("Secret", "b", 1, "b1"), objectOf("Widget", "c", 2, "c1"), objectOf("ConfigMap", "d", 3, "d1"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "apply b", "apply c"}), "the health of c is waited for")
	w.Expect(w.host.writes).To(Equal([]string{
		"patch releases", "create releaseinventories", "patch releaseinventories", "update releases/status",
	}))
	for _, entry := range w.inventory().Spec.Entries {
		w.Expect(entry.Digest != "").To(Equal(entry.Name != "d"), entry.Name)
	}
}

// So it is when objects are removed and hooks run, and where the inventory itself goes, it is not
// told at all.
func TestRemovalsAreRecordedOnce(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 1, "b1"), objectOf("ConfigMap", "c", 2, "c1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{
		hookOf("told", corev1alpha1.HookPostSync, func(h *render.Hook) { h.Object = objectOf("ConfigMap", "told", 0, "t1") }),
	}
	w.host.forgetWrites()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "apply told", "prune c", "prune b"}))
	w.Expect(w.host.writes).To(Equal([]string{
		"patch releaseinventories", // ahead of everything
		"patch releaseinventories", // ahead of the hook
		"patch releaseinventories", "update releases/status",
	}))
	w.Expect(w.listed()).To(HaveLen(2))

	w.deleteRelease()
	w.host.forgetWrites()
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.host.writes).To(Equal([]string{"patch releaseinventories", "delete releaseinventories", "patch releases"}))
}

// What was found out on the target is not lost when the pass fails later.
func TestWhatAFailedPassRemovedIsRecorded(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 1, "b1"))
	w.target.failures["a"] = errors.New("no")
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune b", "prune a"}))
	w.Expect(w.inventory().Spec.Entries).To(ConsistOf(HaveField("Name", "a")))
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(HavePrefix("1 object is left: deleting "))
}

// What the observer writes into the status of the inventory meanwhile is in nobody's way, and
// what another process writes into its spec is not overwritten.
func TestInventoryIsWrittenForTheSpecThatIsKnown(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.target.onApply = func() { w.observe() }
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.inventory().Spec.Entries[0].Digest).To(Equal("a2"))

	w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3"))
	w.target.onApply = func() {
		other := w.inventory().DeepCopy()
		other.Spec.Entries = nil
		_, err := w.host.CoreV1alpha1().ReleaseInventories(other.Namespace).Update(t.Context(), other, metav1.UpdateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.sync()
	_, err := w.Reconcile(t.Context(), key)
	w.Expect(apierrors.IsConflict(err)).To(BeTrue())
	w.Expect(w.inventory().Spec.Entries).To(BeEmpty())
}
