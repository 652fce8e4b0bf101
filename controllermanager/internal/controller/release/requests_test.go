// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestJudge(t *testing.T) {
	done := situation{sameRender: true, sameInput: true}
	with := func(base situation, change func(*situation)) situation {
		change(&base)
		return base
	}
	tests := []struct {
		name  string
		given situation
		want  verdict
	}{
		{"all as desired", done, idle},
		{"all as desired, manual", with(done, func(s *situation) { s.manual = true }), idle},
		{"requested", with(done, func(s *situation) { s.requested = true }), act},
		{"requested, manual, outside of windows", with(done, func(s *situation) { s.requested, s.manual, s.closed = true, true, true }), act},
		{"a new render", situation{}, act},
		{"a new render, manual", situation{manual: true}, awaitRequest},
		{"a new render, outside of windows", situation{closed: true}, awaitWindow},
		{"a new generation or revision with the same objects", situation{sameRender: true}, act},
		{"the same, manual: nothing is sent", situation{sameRender: true, manual: true}, act},
		{"the same, outside of windows", situation{sameRender: true, closed: true}, act},
		{"an object that was not applied", with(done, func(s *situation) { s.unapplied = true }), act},
		{"the same, manual", with(done, func(s *situation) { s.unapplied, s.manual = true, true }), awaitRequest},
		{"something is yet to be pruned", with(done, func(s *situation) { s.stale, s.manual, s.closed = true, true, true }), act},
		{"pruning was just switched on, manual", situation{sameRender: true, stale: true, manual: true}, awaitRequest},
		{"an empty render", situation{empty: true}, refuseEmpty},
		{"an empty render, requested", situation{empty: true, requested: true}, refuseEmpty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { NewWithT(t).Expect(tt.given.judge()).To(Equal(tt.want)) })
	}
}

func manual(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeManual }

func (w *world) requestSync(value string) {
	w.change(func(r *corev1alpha1.Release) {
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationSyncRequestedAt, value)
	})
}

func TestManualMode(t *testing.T) {
	w := newWorld(t, newRelease(manual))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForSync"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal("revision main@1 is not applied yet: request a sync, spec.sync.mode is manual"))
	w.Expect(w.inventory()).To(BeNil())

	w.requestSync("2026-03-01T09:59:00Z")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T09:59:00Z"))
	w.observe()
	w.pass()

	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True WaitingForSync"), "what was applied stays applied")
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("revision main@2 (main@1 is applied)"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))

	w.change(func(r *corev1alpha1.Release) { r.Spec.TargetNamespace = "elsewhere" })
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False WaitingForSync"), "it is not applied at its current spec")
}

func TestRequestSendsEverythingOnce(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.requestSync("2026-03-01T10:00:00Z")
	w.target.onApply = func() {
		for _, entry := range w.inventory().Spec.Entries {
			w.Expect(entry.Digest).To(BeEmpty(), "what is about to be sent is not as desired for sure")
		}
	}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "apply b"}))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.release().Status.History).To(HaveLen(1), "it is the same render")
}

func TestRequestLeavesAloneWhatNobodyTouched(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.target.untouched = map[string]bool{"a": true}
	w.requestSync("2026-03-01T10:00:00Z")
	w.target.onApply = func() {
		for _, entry := range w.inventory().Spec.Entries {
			w.Expect(entry.Digest == "").To(Equal(entry.Name == "b"), entry.Name)
		}
	}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply b"}))
	w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T10:00:00Z"))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))

	w.change(func(r *corev1alpha1.Release) {
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationSyncForceRequestedAt, "2026-03-01T11:00:00Z")
	})
	w.target.onApply = nil
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "apply b"}), "a forced sync asks nobody")
}

func TestRequestThatHasNothingSentWritesNoInventory(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.target.untouched = map[string]bool{"a": true, "b": true}
	before := w.inventory()
	w.requestSync("2026-03-01T10:00:00Z")
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T10:00:00Z"))
	w.Expect(w.inventory()).To(Equal(before))
}

func TestRequestThatFailsGoesOnWithWhatIsLeft(t *testing.T) {
	w := settledWorld(t, newRelease(manual, func(r *corev1alpha1.Release) {
		r.Annotations = map[string]string{corev1alpha1.AnnotationSyncRequestedAt: "2026-03-01T09:00:00Z"}
	}), objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1"))
	w.requestSync("2026-03-01T10:00:00Z")
	w.target.failures["b"] = apierrors.NewBadRequest("no")
	w.pass()
	w.Expect(w.target.takeCalls()).To(HaveLen(2))
	w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T09:00:00Z"), "it is not handled yet")
	delete(w.target.failures, "b")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply b"}))
	w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T10:00:00Z"))
}

func TestRequestIsNotKeptWaitingByABackoff(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.failures["a"] = apierrors.NewBadRequest("no")
	w.pass()
	delete(w.target.failures, "a")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"))
	w.requestSync("2026-03-01T10:00:00Z")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

func TestAgeOfTheLookAtTheSource(t *testing.T) {
	tests := []struct {
		name  string
		given func(w *world)
		want  time.Duration
	}{
		{"as always", func(*world) {}, defaultInterval},
		{"a new spec", func(w *world) { w.change(func(r *corev1alpha1.Release) { r.Spec.Wave = 1 }) }, freshAge},
		{"a request", func(w *world) { w.requestSync("2026-03-01T09:59:55Z") }, 5 * time.Second},
		{"an old request", func(w *world) { w.requestSync("2026-03-01T00:00:00Z") }, defaultInterval},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
			tt.given(w)
			w.pass()
			asked := w.source.asked
			w.Expect(asked[len(asked)-1].MaxAge).To(Equal(tt.want))
		})
	}
}

func TestFailedAttemptLooksAgain(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.err = context.DeadlineExceeded
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	asked := w.source.asked
	w.Expect(asked[len(asked)-1].MaxAge).To(Equal(freshAge))
}

func TestPinnedRevision(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.change(func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@1"} })
	result := w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
	w.Expect(result.RequeueAfter).To(BeZero(), "there is nothing to look at")
}

func TestGates(t *testing.T) {
	w := settledWorld(t, newRelease(func(r *corev1alpha1.Release) {
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{}
	}), objectOf("ConfigMap", "a", 0, "a1"))
	w.change(func(r *corev1alpha1.Release) {
		r.Spec.Lifecycle.Gates = []corev1alpha1.Gate{{Name: "qa", Before: "sync"}}
	})
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"), "nothing new waits")
	w.requestSync("2026-03-01T10:00:00Z")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}), "what was approved before needs no approval")

	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True WaitingForGate"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("kubectl convoy -n team approve app, or set approved in status.lifecycle.gates"))
	w.Expect(w.release().Status.Sync.BlockedBy).To(Equal([]string{"gate qa"}))
	w.Expect(w.release().Status.Lifecycle.Gates).To(ConsistOf(
		corev1alpha1.GateStatus{Name: "qa", Revision: "main@2", Render: "render of main@2"}), "what waits is told")

	w.approve("qa")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	approved := corev1alpha1.GateStatus{Name: "qa", Revision: "main@2", Render: "render of main@2", Approved: true, By: "eve"}
	w.Expect(w.release().Status.Lifecycle.Gates).To(ConsistOf(approved), "who approved what is applied stays known")
	w.Expect(w.release().Status.History[0].Approvals).To(ConsistOf(corev1alpha1.Approval{Gate: "qa", By: "eve"}))
	w.pass()
	w.Expect(w.release().Status.Lifecycle.Gates).To(ConsistOf(approved))

	w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "an approval is for one render")
	w.Expect(w.release().Status.Lifecycle.Gates).To(ConsistOf(
		corev1alpha1.GateStatus{Name: "qa", Revision: "main@3", Render: "render of main@3"}))
}

// approve approves gates as a person does.
func (w *world) approve(gates ...string) {
	w.set("app", w.release().Status.Conditions, func(r *corev1alpha1.Release) {
		for i := range r.Status.Lifecycle.Gates {
			if gate := &r.Status.Lifecycle.Gates[i]; slices.Contains(gates, gate.Name) {
				gate.Approved, gate.By = true, "eve"
			}
		}
	})
}

func TestApprovalGivesWayToAnotherRender(t *testing.T) {
	gated := func(r *corev1alpha1.Release) {
		manual(r)
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "qa", Before: "sync"}, {Name: "security", Before: "sync"}}}
	}
	w := newWorld(t, newRelease(gated))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForSync"))
	w.Expect(w.release().Status.Lifecycle.Gates).To(HaveLen(2), "they can be approved before a sync is requested")
	w.approve("qa", "security")
	w.pass()

	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.requestSync("2026-03-01T10:00:00Z")
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.release().Status.Sync.BlockedBy).To(Equal([]string{"gate qa", "gate security"}))
	w.Expect(w.events()).To(ContainElement(ContainSubstring("the approval of gate qa by eve was for main@1")))

	w.approve("qa")
	w.pass()
	w.Expect(w.release().Status.Sync.BlockedBy).To(Equal([]string{"gate security"}))
	w.approve("security")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))

	w.change(func(r *corev1alpha1.Release) { r.Spec.Lifecycle.Gates = r.Spec.Lifecycle.Gates[:1] })
	w.pass()
	w.Expect(w.release().Status.Lifecycle.Gates).To(ConsistOf(HaveField("Name", "qa")), "a gate that left the spec leaves the status")

	w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3"))
	w.pass()
	w.source.revision = "main@2"
	w.pass()
	w.Expect(w.release().Status.Lifecycle.Gates).To(BeEmpty(), "nothing waits any more")
	w.Expect(w.release().Status.History[0].Approvals).To(HaveLen(2))
}

func TestWindows(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.change(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Allow: true, Schedule: "0 22 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
	})
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("opens at 2026-03-01T22:00:00Z"))

	w.clock.SetTime(time.Date(2026, 3, 1, 22, 0, 1, 0, time.UTC))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
}

func TestRenderStore(t *testing.T) {
	w := newWorld(t, newRelease())
	w.config.Renders = w.source
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.onApply = func() { w.Expect(w.source.stored).To(HaveKey("render of main@1"), "it is stored before it is applied") }
	w.pass()
	w.observe()
	w.pass()
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.target.onApply = nil
	w.pass()
	w.target.takeCalls()

	w.source.err = context.DeadlineExceeded // the source is gone
	w.change(func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Render: "1"} })
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.release().Status.Applied).To(And(HaveField("Render", "render of main@1"), HaveField("Revision", "main@1")))

	w.change(func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Render: "sha256:unknown"} })
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("False RenderFailed"))
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(ContainSubstring("status.history"))

	w.config.Renders = nil
	w.change(func(r *corev1alpha1.Release) { r.Spec.Wave = 2 })
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("False InvalidConfiguration"))
}

func TestNonDeterministicRenderIsApplied(t *testing.T) {
	w := newWorld(t, newRelease())
	w.config.Renders = w.source
	random := func(revision, digest string) {
		result := w.source.offers("main@1", objectOf("Secret", "a", 0, digest))
		result.Digest, result.NonDeterministic = revision, []corev1alpha1.ObjectKey{{Version: "v1", Kind: "Secret", Namespace: "ns", Name: "a"}}
	}
	random("first", "a1")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("True NonDeterministicRender"))
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(ContainSubstring("Secret ns/a"))
	w.target.takeCalls()
	random("second", "a2")
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "the same inputs give what they gave first")
	w.Expect(w.release().Status.Applied.Render).To(Equal("first"))
}

func TestInstallationIsNotFollowedByAnUpgradeToItself(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "installed"))
	upgraded := *w.source.results["main@1"]
	upgraded.Digest, upgraded.Objects = "upgrade of main@1", nil
	w.source.results["upgrade main@1"] = &upgraded
	w.pass()
	w.target.takeCalls()
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.release().Status.Applied.Render).To(Equal("render of main@1"))

	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "installed"))
	w.source.offers("upgrade main@2", objectOf("ConfigMap", "a", 0, "upgraded"))
	w.source.revision = "main@2"
	w.pass()
	w.Expect(w.inventory().Spec.Entries).To(ConsistOf(HaveField("Digest", "upgraded")))
}
