// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/render"
)

// hookOf makes a hook whose object is a Job, unless kind says otherwise.
func hookOf(name string, on corev1alpha1.HookPoint, change ...func(*render.Hook)) render.Hook {
	hook := render.Hook{
		Name: name, On: on, Object: objectOf("Job", name, 0, name+" digest"), Timeout: time.Minute,
		DeletePolicy:  []corev1alpha1.HookDeletePolicy{corev1alpha1.HookDeleteBeforeCreation},
		FailurePolicy: corev1alpha1.HookFailureStop,
	}
	for _, c := range change {
		c(&hook)
	}
	return hook
}

func weight(n int) func(*render.Hook) { return func(h *render.Hook) { h.Weight = n } }

func deletePolicy(p corev1alpha1.HookDeletePolicy) func(*render.Hook) {
	return func(h *render.Hook) { h.DeletePolicy = []corev1alpha1.HookDeletePolicy{p} }
}

// hookWorld has a Release with one object and the given hooks, after its first pass.
func hookWorld(t *testing.T, hooks ...render.Hook) *world {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = hooks
	w.pass()
	return w
}

func TestPreSyncHook(t *testing.T) {
	w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync))
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal("waiting for preSync hook migrate (Job ns/migrate)"))
	status := w.release().Status.Lifecycle.Hooks[0]
	w.Expect(status.Phase).To(Equal(corev1alpha1.HookRunning))
	w.Expect(status.Run).To(Equal("render of main@1"))
	w.Expect(status.Object.UID).To(Equal(w.target.uids["migrate"]))
	w.Expect(w.inventory().Spec.Entries).To(ContainElement(And(HaveField("Hook", "migrate"), HaveField("UID", status.Object.UID))))

	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "it is started once")

	w.hook("migrate", corev1alpha1.HookSucceeded, "completed")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.observe(health("migrate", corev1alpha1.HealthDegraded, "a hook's object is not the Release's health"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
}

func TestHooksAreValidatedBeforeAnythingIsWritten(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("smoke", corev1alpha1.HookPostSync)}
	w.target.validateErr = &apply.ValidationError{Problems: []apply.Problem{{Reason: corev1alpha1.ReasonInvalidObjects, Message: "a variable twice"}}}
	w.pass()
	w.Expect(w.target.validated).To(Equal([]string{"a", "smoke"}))
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.inventory()).To(BeNil())
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False InvalidObjects"))
}

func TestHookThatFails(t *testing.T) {
	w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync), hookOf("undo", corev1alpha1.HookSyncFailed))
	w.hook("migrate", corev1alpha1.HookFailed, "exit code 1")
	w.target.takeCalls()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply undo"}))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False HookFailed"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix("preSync hook migrate (Job ns/migrate) failed: exit code 1; "))
	w.Expect(w.release().Status.History).To(ConsistOf(HaveField("Outcome", corev1alpha1.OutcomeFailed)))

	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "it is not repeated by itself")

	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "apply migrate"}), "a new desired state runs it afresh")
	w.hook("migrate", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.Expect(w.target.takeCalls()).To(ContainElement("apply a"))
}

func TestForcedSyncRunsHooksAfresh(t *testing.T) {
	w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync))
	w.hook("migrate", corev1alpha1.HookFailed, "exit code 1")
	w.pass()
	w.target.takeCalls()
	w.change(func(r *corev1alpha1.Release) {
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationSyncForceRequestedAt, "2026-03-01T10:00:00Z")
	})
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "apply migrate"}))
	w.hook("migrate", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.Expect(w.release().Status.Sync.LastHandledForceAt).To(Equal("2026-03-01T10:00:00Z"))
	w.target.takeCalls()
	w.change(func(r *corev1alpha1.Release) { r.Spec.Wave = 3 })
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "and once only")
}

func TestHookFailurePolicyIgnore(t *testing.T) {
	w := hookWorld(t, hookOf("warm", corev1alpha1.HookPreSync, func(h *render.Hook) { h.FailurePolicy = corev1alpha1.HookFailureIgnore }))
	w.hook("warm", corev1alpha1.HookFailed, "exit code 1")
	w.target.takeCalls()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
}

func TestHookTimeout(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.Expect(w.pass().RequeueAfter).To(Equal(time.Minute + time.Second))
	w.hook("migrate", corev1alpha1.HookRunning, "no pod could be created")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("did not end within 1m0s (no pod could be created)"))
}

func TestHookWeights(t *testing.T) {
	account := hookOf("account", corev1alpha1.HookPreSync, weight(-3))
	account.Object = objectOf("ServiceAccount", "account", 0, "s1")
	w := hookWorld(t, account, hookOf("one", corev1alpha1.HookPreSync, weight(-3)), hookOf("two", corev1alpha1.HookPreSync, weight(-3)),
		hookOf("last", corev1alpha1.HookPreSync, weight(2)))
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply account", "apply one", "apply two"}), "hooks of a weight run together")
	w.Expect(w.release().Status.Lifecycle.Hooks[0].Phase).To(Equal(corev1alpha1.HookSucceeded), "an object that does not run is done when applied")
	w.hook("one", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.hook("two", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply last"}))
}

func TestPostSyncHookWaitsForHealth(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("Deployment", "a", 0, "a1")).Hooks = []render.Hook{hookOf("smoke", corev1alpha1.HookPostSync)}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHealth"))
	w.observe()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply smoke"}))
	w.hook("smoke", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

func TestHookDeletePolicies(t *testing.T) {
	tests := []struct {
		name  string
		given corev1alpha1.HookDeletePolicy
		phase corev1alpha1.HookPhase
		want  []string
	}{
		{"succeeded, to be deleted then", corev1alpha1.HookDeleteSucceeded, corev1alpha1.HookSucceeded, []string{"prune migrate", "apply a"}},
		{"succeeded, to be deleted when failed", corev1alpha1.HookDeleteFailed, corev1alpha1.HookSucceeded, []string{"apply a"}},
		{"failed, to be deleted then", corev1alpha1.HookDeleteFailed, corev1alpha1.HookFailed, []string{"prune migrate"}},
		{"succeeded, to be deleted before the next", corev1alpha1.HookDeleteBeforeCreation, corev1alpha1.HookSucceeded, []string{"apply a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync, deletePolicy(tt.given)))
			w.hook("migrate", tt.phase, "")
			w.target.takeCalls()
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal(tt.want))
		})
	}
}

func TestHookIsAppliedMarkedAndWithItsOwnLimits(t *testing.T) {
	tests := []struct {
		name   string
		kind   string
		spec   map[string]any
		expect map[string]any
	}{
		{"a Job", "Job", map[string]any{"ttlSecondsAfterFinished": int64(0)}, map[string]any{"activeDeadlineSeconds": int64(91)}},
		{"a Job that ends earlier", "Job", map[string]any{"activeDeadlineSeconds": int64(30)}, map[string]any{"activeDeadlineSeconds": int64(30)}},
		{"a Job that would end later", "Job", map[string]any{"activeDeadlineSeconds": int64(300)}, map[string]any{"activeDeadlineSeconds": int64(91)}},
		{"a Pod", "Pod", map[string]any{}, map[string]any{"activeDeadlineSeconds": int64(91)}},
		{"what does not run to an end", "Deployment", map[string]any{"replicas": int64(1)}, map[string]any{"replicas": int64(1)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWithT(t)
			hook := hookOf("migrate", corev1alpha1.HookPreSync)
			hook.Object = objectOf(tt.kind, "migrate", 0, "digest")
			hook.Object.Object.Object["spec"] = tt.spec
			rendered := hook.Object.Object.DeepCopy()
			object := runnable(hook, "run 1", 90*time.Second+time.Millisecond)
			w.Expect(object.Object.GetAnnotations()).To(HaveKeyWithValue(apply.AnnotationHookRun, "run 1"))
			w.Expect(object.Object.Object["spec"]).To(Equal(tt.expect))
			w.Expect(hook.Object.Object).To(Equal(rendered), "what was rendered is shared")
		})
	}
}

// TestJobOfAHookGoesInItsTime: convoy itself honours the ttlSecondsAfterFinished that it takes
// out, once the end of the hook is on record.
func TestJobOfAHookGoesInItsTime(t *testing.T) {
	hook := hookOf("migrate", corev1alpha1.HookPreSync)
	hook.Object.Object.Object["spec"] = map[string]any{"ttlSecondsAfterFinished": int64(60)}
	w := hookWorld(t, hook)
	end := func(phase corev1alpha1.HookPhase, at time.Time) {
		w.hook("migrate", phase, "")
		release := w.release()
		release.Status.Lifecycle.Hooks[0].FinishedAt = &metav1.Time{Time: at}
		_, err := w.host.CoreV1alpha1().Releases(key.Namespace).UpdateStatus(context.Background(), release, metav1.UpdateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate"}), "it runs")

	end(corev1alpha1.HookSucceeded, w.clock.Now())
	result := w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(result.RequeueAfter).To(BeNumerically("<=", time.Minute))
	w.clock.SetTime(w.clock.Now().Add(59 * time.Second))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.target.lingering["migrate"] = true
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", deletionPoll), "it is looked at again")
	delete(w.target.lingering, "migrate")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "prune migrate"}))
	w.Expect(w.inventory().Spec.Entries).To(ConsistOf(HaveField("Name", "a")))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "and does not run again")

	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hook}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate"}))
	end(corev1alpha1.HookFailed, w.clock.Now())
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate"}), "one that failed goes as well")
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
}

func TestDiedBetweenStartingAHookAndNotingIt(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.host.fail["update releases/status"] = apierrors.NewInternalError(context.DeadlineExceeded)
	w.sync()
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).To(HaveOccurred())
	started := w.target.uids["migrate"]

	w.pass()
	w.Expect(w.target.takeCalls()).NotTo(ContainElement("prune migrate"))
	w.Expect(w.release().Status.Lifecycle.Hooks[0].Object.UID).To(Equal(started), "the run goes on")
	job := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	live, err := w.target.dynamic.Resource(job).Namespace("ns").Get(context.Background(), "migrate", metav1.GetOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(live.GetUID()).To(Equal(started))
}

func TestLastRunIsGoneBeforeTheNext(t *testing.T) {
	w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync))
	w.hook("migrate", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.target.takeCalls()
	w.target.lingering["migrate"] = true
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	result := w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
	w.Expect(result.RequeueAfter).To(Equal(time.Second))
	delete(w.target.lingering, "migrate")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "apply migrate"}))
}

func TestHookThatLeftTheRenderIsPruned(t *testing.T) {
	w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync))
	w.hook("migrate", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.target.takeCalls()
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "prune migrate"}))
	w.Expect(w.release().Status.Lifecycle.Hooks).To(BeEmpty())
}

func TestHooksOfOtherOccasionsStay(t *testing.T) {
	w := hookWorld(t, hookOf("install", corev1alpha1.HookPreSync))
	w.hook("install", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.target.takeCalls()
	result := w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	result.OtherHooks = []render.Hook{hookOf("install", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
}

func TestHookTexts(t *testing.T) {
	g := NewWithT(t)
	job := objectOf("Job", "migrate", 0, "1")
	own := render.Hook{Name: "db", On: corev1alpha1.HookPreSync, Object: job}
	charts := render.Hook{Name: "preSync/Job/migrate", On: corev1alpha1.HookPreSync, Object: job}
	g.Expect(hookText(own, "")).To(Equal("preSync hook db (Job ns/migrate)"))
	g.Expect(hookText(charts, "3 pods run")).To(Equal("preSync hook Job ns/migrate: 3 pods run"))
	g.Expect(failedText(own, "")).To(Equal("preSync hook db (Job ns/migrate) failed"))
	g.Expect(failedText(own, "did not end within 3s")).To(Equal("preSync hook db (Job ns/migrate) failed: did not end within 3s"))
	g.Expect(failedText(own, "failed: BackoffLimitExceeded")).To(Equal("preSync hook db (Job ns/migrate) failed: BackoffLimitExceeded"))
}
