// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/render"
)

// fails has an object refused by the target, so that a sync begins and does not end.
func (w *world) fails(name string) { w.target.failures[name] = errors.New("refused") }

// What takes the place of a sync has its own time, also when it had to wait between its render
// and its start.
func TestASyncHasItsOwnTime(t *testing.T) {
	w := newWorld(t, newRelease(gated))
	approve := func() {
		release := w.release()
		release.Status.Lifecycle.Gates[0].Approved = true
		_, err := w.host.CoreV1alpha1().Releases(key.Namespace).UpdateStatus(t.Context(), release, metav1.UpdateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
	staged := func(revision, digest string) {
		w.source.offers(revision, objectOf("Deployment", "db", -1, digest), objectOf("Deployment", "app", 0, digest))
	}
	staged("main@1", "1")
	w.pass()
	approve()
	w.pass()
	began := w.release().Status.Sync.StartedAt
	w.Expect(began).NotTo(BeNil())

	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	staged("main@2", "2")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(HaveSuffix("WaitingForGate"))
	w.Expect(w.release().Status.Sync).To(Or(BeNil(), HaveField("StartedAt", BeNil())), "no sync of it is under way")

	w.clock.SetTime(w.clock.Now().Add(defaultTimeout))
	approve()
	w.pass()
	w.Expect(w.release().Status.Sync.StartedAt.Time).To(BeTemporally("==", w.clock.Now()))
	w.observe(health("db", corev1alpha1.HealthProgressing, "starts"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).NotTo(HaveSuffix("HealthTimeout"))
}

// A window lets the sync go on that began in it, and no other.
func TestAWindowIsForTheSyncThatBeganInIt(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.change(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Allow: true, Schedule: "0 22 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
	})
	w.clock.SetTime(time.Date(2026, 3, 1, 22, 0, 1, 0, time.UTC))
	w.fails("a")
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"))

	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}), "what began goes on")

	w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3"))
	delete(w.target.failures, "a")
	for range 3 {
		w.pass()
	}
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("revision main@3 (main@1 is applied) is not applied yet: the next window of spec.sync.windows opens at 2026-03-02T22:00:00Z"))
}

// A pin is a person's will, and waits for no window.
func TestAPinWaitsForNoWindow(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.observe()
	w.pass()
	w.target.takeCalls()
	w.change(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Deny: true, Schedule: "* * * * *", Duration: metav1.Duration{Duration: time.Hour}}}
		r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@1"}
	})
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
}

// A request is for what there was to sync, not for what came after it.
func TestARequestIsForOneSync(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*corev1alpha1.Release)
		applied string
	}{
		{"manual", manual, "main@1"},
		{"outside of windows", func(r *corev1alpha1.Release) {
			r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Deny: true, Schedule: "* * * * *", Duration: metav1.Duration{Duration: time.Hour}}}
		}, "main@1"},
		{"automatic", func(*corev1alpha1.Release) {}, "main@3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
			w.change(test.change)
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
			w.fails("a")
			w.requestSync("2026-03-01T10:00:00Z")
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"))
			w.target.takeCalls()

			delete(w.target.failures, "a")
			w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3"))
			for range 3 {
				w.pass()
			}
			w.Expect(w.release().Status.Applied.Revision).To(Equal(test.applied))
			w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T10:00:00Z"))

			w.requestSync("2026-03-01T11:00:00Z")
			w.pass()
			w.Expect(w.release().Status.Applied.Revision).To(Equal("main@3"), "another request is one")
		})
	}
}

// A request is for what there was to sync, whatever came of that, as far as that came.
func TestARequestIsSpentByWhatComesAfterIt(t *testing.T) {
	two := func(w *world, hooks ...render.Hook) {
		w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = hooks
		w.requestSync("2026-03-01T10:00:00Z")
		w.pass()
	}
	for name, given := range map[string]func(w *world){
		"it was not valid": func(w *world) {
			w.target.validateErr = &apply.ValidationError{Problems: []apply.Problem{{Reason: corev1alpha1.ReasonInvalidObjects, Message: "a variable twice"}}}
			two(w)
			w.target.validateErr = nil
		},
		"its hook failed": func(w *world) {
			two(w, hookOf("migrate", corev1alpha1.HookPreSync))
			w.hook("migrate", corev1alpha1.HookFailed, "boom")
			w.pass()
		},
		"only its hooks are new, and failed": func(w *world) {
			w.target.untouched = map[string]bool{"a": true}
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
			w.requestSync("2026-03-01T10:00:00Z")
			w.pass()
			w.hook("migrate", corev1alpha1.HookFailed, "boom")
			w.pass()
		},
		"another request while its hook runs": func(w *world) {
			two(w, hookOf("smoke", corev1alpha1.HookPostSync))
			w.observe()
			w.pass()
			w.target.untouched = map[string]bool{"a": true}
			w.requestSync("2026-03-01T10:01:00Z")
			w.pass()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
			w.change(manual)
			w.pass()
			given(w)
			w.Expect(w.release().Status.Sync.Requested).NotTo(BeNil(), "it is not handled yet")
			w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3"))
			for range 3 {
				w.pass()
			}
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForSync"))
			w.Expect(w.release().Status.Sync.Requested).To(BeNil())
			w.requestSync("2026-03-01T11:00:00Z")
			w.settle()
			w.Expect(w.release().Status.Applied.Revision).To(Equal("main@3"))
		})
	}
}

// Time in which nothing could be done does not count: what is healthy at last is not rolled back.
func TestTimeAwayDoesNotCount(t *testing.T) {
	outages := map[string][2]func(w *world){
		"the target": {func(w *world) { w.answers(false) }, func(w *world) { w.answers(true) }},
		"suspended":  {func(w *world) { w.change(suspended) }, func(w *world) { w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = false }) }},
	}
	staged := func(w *world, revision, digest string) {
		w.source.offers(revision, objectOf("Deployment", "a", 0, digest), objectOf("Deployment", "b", 1, digest), objectOf("Deployment", "c", 2, digest))
	}
	// underWay has all of main@1 applied and healthy, and the first stage of main@2 sent.
	underWay := func(t *testing.T, change ...func(*corev1alpha1.Release)) *world {
		w := newWorld(t, newRelease(append(change, rollsBack)...))
		w.config.Renders = w.source
		staged(w, "main@1", "1")
		w.settle()
		w.settle()
		staged(w, "main@2", "2")
		w.pass()
		return w
	}
	for name, outage := range outages {
		t.Run(name+", in the middle of a sync", func(t *testing.T) {
			w := underWay(t)
			w.observe(health("a", corev1alpha1.HealthProgressing, "rolls out"))
			w.pass()
			outage[0](w)
			w.pass()
			w.clock.SetTime(w.clock.Now().Add(2 * defaultTimeout))
			w.pass()
			outage[1](w)
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(HaveSuffix("WaitingForStage"))
			w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
			w.observe()
			w.pass()
			w.observe(health("b", corev1alpha1.HealthProgressing, "rolls out"))
			for range 3 {
				w.clock.SetTime(w.clock.Now().Add(time.Second))
				w.pass()
			}
			w.settle()
			w.Expect(w.release().Status.Applied.Revision).To(Equal("main@2"))
			w.Expect(w.outcomes()).To(Equal([]string{"main@2 healthy", "main@1 healthy"}))
		})
	}
	t.Run("a lower wave, in the middle of a sync", func(t *testing.T) {
		w := underWay(t, wave(1))
		w.observe()
		w.create(newRelease(func(r *corev1alpha1.Release) { r.Name = "low" }))
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(HaveSuffix("WaitingForWave"))
		w.clock.SetTime(w.clock.Now().Add(2 * defaultTimeout))
		w.set("low", conditions(isTrue, isTrue, 1), func(r *corev1alpha1.Release) {
			r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@2", Generation: 1, Render: "x"}
		})
		w.pass()
		w.observe(health("b", corev1alpha1.HealthProgressing, "rolls out"))
		for range 3 {
			w.clock.SetTime(w.clock.Now().Add(time.Second))
			w.pass()
		}
		w.Expect(w.outcomes()[0]).NotTo(Equal("main@2 failed"))
	})
	t.Run("who looks at health", func(t *testing.T) {
		w := underWay(t)
		w.observe(health("a", corev1alpha1.HealthUnknown, "target cluster is unreachable"))
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(2 * defaultTimeout))
		back := w.deaf()
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(HaveSuffix("TargetUnreachable"), "nobody knows that it is ill")
		back()
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(HaveSuffix("WaitingForStage"))
		w.settle()
		w.settle()
		w.Expect(w.outcomes()).To(Equal([]string{"main@2 healthy", "main@1 healthy"}))
	})
	t.Run("the target, when all is applied", func(t *testing.T) {
		w := newWorld(t, newRelease(rollsBack))
		w.config.Renders = w.source
		w.source.offers("main@1", objectOf("Deployment", "a", 0, "1"))
		w.settle()
		w.source.offers("main@2", objectOf("Deployment", "a", 0, "2"))
		w.pass()
		w.answers(false)
		w.observe(health("a", corev1alpha1.HealthUnknown, "no answer"))
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(2 * defaultTimeout))
		w.answers(true)
		w.pass()
		w.observe(health("a", corev1alpha1.HealthProgressing, "rolls out"))
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionHealthy)).To(Equal("False Progressing"))
		w.clock.SetTime(w.clock.Now().Add(defaultTimeout + time.Second))
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionHealthy)).To(Equal("False HealthTimeout"), "it has had its time now")
	})
}

// What is not being rendered any more is not said to be.
func TestSuspendedWhileItIsRendered(t *testing.T) {
	w := newWorld(t, newRelease())
	release := w.release()
	release.Status.Conditions = []metav1.Condition{{
		Type: corev1alpha1.ConditionRendered, Status: metav1.ConditionUnknown, Reason: corev1alpha1.ReasonProgressing,
		Message: "is being rendered, or waits for its turn, since 2026-03-01T09:00:00Z", LastTransitionTime: metav1.NewTime(w.clock.Now()),
	}}
	_, err := w.host.CoreV1alpha1().Releases(key.Namespace).UpdateStatus(t.Context(), release, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(Equal("is not rendered yet: something comes before, see Ready"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False Suspended"))
}

// A sync that has begun, and a rollback, go on by the stored render when the source is gone.
func TestWithoutItsSource(t *testing.T) {
	t.Run("a change of the spec waits for it", func(t *testing.T) {
		w := newWorld(t, newRelease())
		w.config.Renders = w.source
		w.source.offers("main@1", objectOf("Deployment", "db", -1, "d1"), objectOf("Deployment", "app", 0, "a1"))
		w.pass()
		w.target.takeCalls()
		w.source.err = errors.New("the source is gone")
		w.change(func(r *corev1alpha1.Release) { r.Spec.TargetNamespace = "elsewhere" })
		w.observe()
		for range 3 {
			w.pass()
			w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
		}
		w.Expect(w.target.takeCalls()).To(BeEmpty(), "what is stored is of another spec")
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).NotTo(HavePrefix("True"))
		w.source.err = nil
		w.settle()
		w.Expect(w.release().Status.Applied).To(HaveField("Generation", w.release().Generation))
	})
	t.Run("a request waits for it", func(t *testing.T) {
		w := newWorld(t, newRelease(manual))
		w.config.Renders = w.source
		w.source.offers("main@1", objectOf("Deployment", "db", -1, "d1"), objectOf("Deployment", "app", 0, "a1"))
		w.requestSync("2026-03-01T10:00:00Z")
		w.pass()
		w.source.err = errors.New("the source is gone")
		w.requestSync("2026-03-01T11:00:00Z")
		w.settle()
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"), "what had begun has gone on")
		w.Expect(w.release().Status.Sync.LastHandledAt).NotTo(Equal("2026-03-01T11:00:00Z"), "nobody has looked for something new")
		w.source.err = nil
		w.source.offers("main@2", objectOf("Deployment", "db", -1, "d2"), objectOf("Deployment", "app", 0, "a2"))
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.settle()
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@2"))
		w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T11:00:00Z"))
	})
	t.Run("a request sends again what was rolled back to", func(t *testing.T) {
		w := failedWorld(t)
		w.settle()
		w.source.err = errors.New("the source is gone")
		w.requestSync("2026-03-01T11:00:00Z")
		w.settle()
		w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T11:00:00Z"))
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
	})
	t.Run("a rollback begins and stays", func(t *testing.T) {
		w := failedWorld(t)
		w.source.err = errors.New("the source is gone")
		w.settle()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
		w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(HavePrefix("False"))
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True RolledBack"))
		w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("rolled back to main@1, because main@2 failed"))
		for range 3 {
			w.pass()
		}
		w.Expect(w.target.takeCalls()).To(BeEmpty())
		w.Expect(w.release().Status.Rollback).To(HaveField("Failed", "render of main@2"))
	})
	t.Run("a sync goes on", func(t *testing.T) {
		w := newWorld(t, newRelease())
		w.config.Renders = w.source
		w.source.offers("main@1", objectOf("Deployment", "db", -1, "d1"), objectOf("Deployment", "app", 0, "a1"))
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply db"}))
		w.source.err = errors.New("the source is gone")
		w.observe()
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply app"}))
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionReady)).To(HavePrefix("False"), "with nothing left to be done, the source is what is to be told of")
	})
	t.Run("nothing new begins", func(t *testing.T) {
		w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
		w.config.Renders = w.source
		w.source.err = errors.New("the source is gone")
		w.change(func(r *corev1alpha1.Release) { r.Spec.Wave = 2 })
		w.pass()
		w.Expect(w.target.takeCalls()).To(BeEmpty())
		w.Expect(w.condition(corev1alpha1.ConditionReady)).To(HavePrefix("False"))
	})
}
