// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

func rollsBack(r *corev1alpha1.Release) { r.Spec.Sync.OnFailure = corev1alpha1.OnFailureRollback }

// failedWorld has main@1 applied and healthy, and main@2, which does not become healthy, just
// when that is known. Renders are stored.
func failedWorld(t *testing.T, change ...func(*corev1alpha1.Release)) *world {
	release := newRelease(append(change, rollsBack)...)
	w := newWorld(t, release)
	w.config.Renders = w.source
	w.source.offers("main@1", objectOf("Deployment", "a", 0, "a1"))
	w.settle()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.source.offers("main@2", objectOf("Deployment", "a", 0, "a2"))
	w.pass()
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@2"))
	w.observe(health("a", corev1alpha1.HealthDegraded, "crashes"))
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(defaultTimeout + time.Second))
	w.Expect(w.pass().RequeueAfter).To(Equal(time.Second), "it is acted upon at once")
	w.Expect(w.outcomes()).To(Equal([]string{"main@2 failed", "main@1 healthy"}))
	w.target.takeCalls()
	w.events()
	return w
}

// settle makes passes with everything healthy until all is applied.
func (w *world) settle() {
	for range 3 {
		w.pass()
		w.observe()
	}
	w.pass()
}

// outcomes gives the history as "revision outcome", newest first.
func (w *world) outcomes() []string {
	var outcomes []string
	for _, entry := range w.release().Status.History {
		outcomes = append(outcomes, entry.Revision+" "+string(entry.Outcome))
	}
	return outcomes
}

func TestRollback(t *testing.T) {
	w := failedWorld(t)
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.inventory().Spec.Entries[0].Digest).To(Equal("a1"))
	const why = "rolled back to main@1, because main@2 failed: did not become healthy: 1 of 1 object is not healthy: " +
		"Deployment ns/a is degraded: crashes; another revision or spec, or a forced sync, is tried again"
	w.Expect(w.release().Status.Applied).To(And(HaveField("Revision", "main@1"), HaveField("Render", "render of main@1")))
	w.Expect(w.release().Status.Source.Revision).To(Equal("main@2"), "what the source has is still told")
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True RolledBack"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal("1 object is applied from main@1; " + why))
	w.Expect(w.release().Status.Rollback).To(And(HaveField("Failed", "render of main@2"), HaveField("Message", why)))
	w.Expect(w.events()).To(ContainElement("Warning RolledBack " + why))

	w.settle()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "what failed is not tried again")
	w.Expect(w.events()).NotTo(ContainElement(ContainSubstring("RolledBack")), "it is told once")
	w.Expect(w.condition(corev1alpha1.ConditionHealthy)).To(Equal("True Healthy"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False RolledBack"))
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal(why))
	w.Expect(w.outcomes()).To(Equal([]string{"main@1 healthy", "main@2 failed", "main@1 healthy"}))
	w.Expect(w.release().Status.History[0].Message).To(Equal("rolled back from main@2"))

	w.source.offers("main@3", objectOf("Deployment", "a", 0, "a3"))
	w.settle()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.release().Status.Rollback).To(BeNil(), "another revision ends it")
}

// A commit that gives what failed is no other revision; one that gives what works is.
func TestRollbackEnds(t *testing.T) {
	tests := []struct {
		name   string
		change func(w *world)
		ends   bool
	}{
		{"a commit that renders the same", func(w *world) { w.source.offers("main@3").Digest = "render of main@2" }, false},
		{"a render of the same inputs", func(w *world) { w.source.offers("main@3").Inputs = "inputs of main@2" }, false},
		{"a commit that takes it back", func(w *world) {
			w.source.offers("main@3", objectOf("Deployment", "a", 0, "a1")).Digest = "render of main@1"
		}, true},
		{"it is not wanted any more", func(w *world) { w.change(func(r *corev1alpha1.Release) { r.Spec.Sync.OnFailure = "" }) }, true},
		{"a person pins", func(w *world) {
			w.change(func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@2"} })
		}, true},
		{"a sync is requested", func(w *world) { w.request(corev1alpha1.AnnotationSyncRequestedAt) }, false},
		{"a sync is forced", func(w *world) { w.request(corev1alpha1.AnnotationSyncForceRequestedAt) }, true},
		{"the process starts anew", func(w *world) { w.restart() }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := failedWorld(t)
			w.settle()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			tt.change(w)
			w.settle()
			if tt.ends {
				w.Expect(w.release().Status.Rollback).To(BeNil())
			} else {
				w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
				w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False RolledBack"))
			}
		})
	}
}

// What the failed revision only took over was there before it, and so it is after it; what it made goes.
func TestRollbackKeepsWhatWasThereBefore(t *testing.T) {
	pins := func(w *world) {
		w.change(func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@1"} })
	}
	tests := []struct {
		name  string
		given func(w *world)
		dies  bool
		kept  bool
	}{
		{"by itself", func(*world) {}, false, true},
		{"by hand", pins, false, true},
		{"when the process died after it took the object over", func(*world) {}, true, true},
		{"but not what the source took out again", func(w *world) {
			w.source.offers("main@3", objectOf("Deployment", "a", 0, "a3"))
		}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, newRelease(rollsBack))
			w.config.Renders = w.source
			w.source.offers("main@1", objectOf("Deployment", "a", 0, "a1"))
			w.settle()
			w.target.put(t.Context(), objectOf("PersistentVolumeClaim", "data", -1, "by hand"))
			w.source.offers("main@2", objectOf("PersistentVolumeClaim", "data", -1, "d1"),
				objectOf("ConfigMap", "made", -1, "m1"), objectOf("Deployment", "a", 0, "a2"))
			if tt.dies {
				ctx, die := context.WithCancel(t.Context())
				w.target.onApply = die
				_, err := w.Reconcile(ctx, key)
				w.Expect(err).To(HaveOccurred())
				w.Expect(w.target.takeCalls()).To(ContainElement("apply data"))
				w.target.onApply = nil
				w.restart()
			}
			for range 3 {
				w.pass()
				w.observe(health("a", corev1alpha1.HealthDegraded, "crashes"))
			}
			w.Expect(w.target.names()).To(Equal([]string{"a", "data", "made"}))
			w.events()
			tt.given(w)
			w.clock.SetTime(w.clock.Now().Add(defaultTimeout + time.Second))
			w.settle()
			if !tt.kept {
				w.Expect(w.target.names()).To(Equal([]string{"a"}))
				return
			}
			if tt.dies { // nobody knows who made that one
				w.Expect(w.target.names()).To(Equal([]string{"a", "data", "made"}))
			} else {
				w.Expect(w.target.names()).To(Equal([]string{"a", "data"}))
			}
			w.Expect(w.events()).To(ContainElement("Normal Kept PersistentVolumeClaim ns/data: kept, because it was there before"))
			w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
			w.Expect(w.inventory().Spec.Entries).To(HaveLen(1))
		})
	}
}

// worldThatMovesAnObject has a Release that rolls back, and a commit that takes ConfigMap x out of it and
// into Release next.
func worldThatMovesAnObject(t *testing.T) *world {
	w := newWorld(t, newRelease(rollsBack))
	w.config.Renders = w.source
	w.create(other("next"))
	w.source.offers("main@1", objectOf("ConfigMap", "x", -1, "x1"), objectOf("Deployment", "a", 0, "a1"))
	w.settle()
	w.source.results["next main@2"] = &render.Result{Digest: "next", Inputs: "next", Objects: []render.Object{objectOf("ConfigMap", "x", -1, "x1")}}
	w.source.offers("main@2", objectOf("Deployment", "a", 0, "a2"))
	w.pass()
	return w
}

// What the failed commit moved to another Release stays there, and holds up nothing else of the rollback.
func TestRollbackLeavesOutWhatAnotherReleaseHas(t *testing.T) {
	w := worldThatMovesAnObject(t)
	w.target.failures["x"] = &apply.OwnershipError{Owner: "i/team/next", Installation: "i", Claimed: true}
	w.target.heirs = map[string]types.NamespacedName{"x": {Namespace: "team", Name: "next"}}
	w.observe(health("a", corev1alpha1.HealthDegraded, "crashes"))
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(defaultTimeout + time.Second))
	w.pass()
	w.pass()
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("left out: ConfigMap ns/x, which Release team/next has; rolled back to main@1"))
	w.settle()
	w.target.takeCalls()
	w.pass()
	w.Expect(w.target.takeCalls()).NotTo(Or(ContainElement("apply x"), ContainElement("revert x")), "while nothing changes of the other Release")
	w.Expect(w.inventory().Spec.Entries).To(ContainElement(And(HaveField("Name", "x"), HaveField("Digest", ""))),
		"so that it is given back, and not deleted, when the other has it no more")
	w.Expect(w.standing(xKey)).To(Equal(apply.Holds))
	w.restart()
	w.settle()
	w.Expect(w.inventory().Spec.Entries).To(ContainElement(HaveField("Name", "x")))
	w.target.takeCalls()

	delete(w.target.failures, "x")
	w.target.heirs = nil
	w.set("next", conditions(isTrue, isTrue, 1), func(r *corev1alpha1.Release) { r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@3"} })
	w.settle()
	w.Expect(w.target.takeCalls()).To(ContainElement("apply x"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).NotTo(ContainSubstring("left out"))
}

// A rollback of which all is left out is not an empty render: what the failed commit brought goes, also
// when that takes its time.
func TestRollbackThatLeavesOutAll(t *testing.T) {
	w := newWorld(t, newRelease(rollsBack))
	w.config.Renders = w.source
	w.create(other("next"))
	x := objectOf("ConfigMap", "x", -1, "x1")
	w.source.offers("main@1", x)
	w.settle()
	w.source.results["next main@2"] = &render.Result{Digest: "next", Inputs: "next", Objects: []render.Object{x}}
	w.source.offers("main@2", objectOf("Deployment", "a", 0, "a2"))
	w.pass()
	w.target.failures["x"] = &apply.OwnershipError{Owner: "i/team/next", Installation: "i", Claimed: true}
	w.target.heirs = map[string]types.NamespacedName{"x": {Namespace: "team", Name: "next"}}
	w.observe(health("a", corev1alpha1.HealthDegraded, "crashes"))
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(defaultTimeout + time.Second))
	w.target.lingering["a"] = true
	for range 3 {
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).NotTo(Equal("False EmptyRender"))
	}
	delete(w.target.lingering, "a")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.settle()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True RolledBack"))
	w.Expect(w.target.names()).NotTo(ContainElement("a"))
}

// What a neighbour that is rolled back brings back is its own, whatever its source says: it is not deleted
// by who has it no more.
func TestMoveBackToARolledBackRelease(t *testing.T) {
	tests := []struct {
		name   string
		given  func(*corev1alpha1.RollbackStatus)
		stored bool // what it is rolled back to
		pruned bool
	}{
		{"it is rolled back to what has it", func(*corev1alpha1.RollbackStatus) {}, true, false},
		{"without a render store", func(*corev1alpha1.RollbackStatus) {}, false, false},
		{"its newest render is not the one that failed", func(r *corev1alpha1.RollbackStatus) { r.Failed = "another" }, true, true},
		{"the rollback was refused", func(r *corev1alpha1.RollbackStatus) { r.Render, r.Revision = "", "" }, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := settledWorld(t, newRelease(), objectOf("ConfigMap", "keep", 0, "k1"), objectOf("ConfigMap", "x", 0, "x1"))
			good := &render.Result{Digest: "next1", Inputs: "next1", Objects: []render.Object{objectOf("ConfigMap", "x", 0, "x1")}}
			w.source.results["next main@1"] = good
			if tt.stored {
				w.config.Renders = w.source
				w.source.stored["next1"] = store.Record{Result: good}
			}
			next := other("next", rollsBack)
			next.Spec.Source = w.release().Spec.Source
			w.create(next)
			w.source.results["next main@2"] = &render.Result{Digest: "next2", Inputs: "next2", Objects: []render.Object{objectOf("ConfigMap", "y", 0, "y1")}}
			w.source.offers("main@2", objectOf("ConfigMap", "keep", 0, "k1"))
			w.set("next", conditions(isTrue, isTrue, 1), func(r *corev1alpha1.Release) {
				r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@1", Render: "next1", Generation: 1}
				r.Status.Rollback = &corev1alpha1.RollbackStatus{Revision: "main@1", Render: "next1", Failed: "next2", FailedRevision: "main@2"}
				tt.given(r.Status.Rollback)
			})
			w.pass()
			if tt.pruned {
				w.Expect(w.target.takeCalls()).To(Equal([]string{"prune x"}))
				return
			}
			w.Expect(w.target.takeCalls()).To(BeEmpty())
			w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("ConfigMap ns/x moves to Release next, and stays until that has taken it over"))
		})
	}
}

// A Release that is rolled back has what its rollback brings back, whatever its source says.
func TestStandingOfARolledBackRelease(t *testing.T) {
	w := worldThatMovesAnObject(t)
	w.observe(health("a", corev1alpha1.HealthDegraded, "crashes"))
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(defaultTimeout + time.Second))
	w.settle()
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
	standing, err := w.standing(xKey)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(standing).To(Equal(apply.Holds))
}

// request asks for a sync now.
func (w *world) request(annotation string) {
	w.change(func(r *corev1alpha1.Release) {
		r.Annotations = map[string]string{annotation: w.clock.Now().Format(time.RFC3339Nano)}
	})
}

// restart goes on with a controller that remembers nothing.
func (w *world) restart() {
	reborn := newController(w.config)
	reborn.Controller = w.Controller.Controller
	w.Controller = reborn
}

// A forced sync tries what failed once more, and is handled by the rollback if it fails again.
func TestForcedSyncOfWhatWasRolledBack(t *testing.T) {
	w := failedWorld(t)
	w.settle()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.request(corev1alpha1.AnnotationSyncForceRequestedAt)
	w.target.takeCalls()
	w.target.failures["a"] = errors.New("no")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.release().Status.History[0]).To(And(HaveField("Revision", "main@2"), HaveField("Outcome", corev1alpha1.OutcomeFailed)))
	delete(w.target.failures, "a")
	w.pass()
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
	w.Expect(w.release().Status.Sync.LastHandledForceAt).NotTo(BeEmpty())
	w.settle()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False RolledBack"))
}

// What cannot be applied is rolled back, after as many retries as the spec allows.
func TestRollbackOfWhatCannotBeApplied(t *testing.T) {
	limit := func(n int32) func(*corev1alpha1.Release) {
		return func(r *corev1alpha1.Release) { r.Spec.Sync.Retry = &corev1alpha1.RetrySpec{Limit: &n} }
	}
	tests := []struct {
		name     string
		limit    int32
		attempts int
	}{{"without a limit", -1, 1}, {"without retries", 0, 1}, {"with two retries", 2, 3}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, newRelease(rollsBack, limit(tt.limit)))
			w.config.Renders = w.source
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
			w.settle()
			w.target.takeCalls()
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"), objectOf("ConfigMap", "b", 0, "b2"))
			w.target.failures["b"] = errors.New("no")
			for range tt.attempts {
				w.pass()
				w.Expect(w.target.takeCalls()).To(ContainElement("apply b"))
				w.clock.SetTime(w.clock.Now().Add(time.Minute))
			}
			delete(w.target.failures, "b")
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "prune b"}))
			w.settle()
			w.Expect(w.target.takeCalls()).To(BeEmpty())
			w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False RolledBack"))
			w.Expect(w.outcomes()).To(Equal([]string{"main@2 failed", "main@1 healthy"}))
		})
	}
}

// A stage that does not become healthy in time is a failure, too.
func TestRollbackOfAStage(t *testing.T) {
	w := newWorld(t, newRelease(rollsBack))
	w.config.Renders = w.source
	w.source.offers("main@1", objectOf("Deployment", "a", 0, "a1"), objectOf("Deployment", "z", 1, "z1"))
	w.settle()
	w.source.offers("main@2", objectOf("Deployment", "a", 0, "a2"), objectOf("Deployment", "z", 1, "z2"))
	w.pass()
	w.observe(health("a", corev1alpha1.HealthProgressing, ""))
	w.clock.SetTime(w.clock.Now().Add(defaultTimeout + time.Second))
	w.target.takeCalls()
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.settle()
	w.Expect(w.inventory().Spec.Entries).To(HaveEach(HaveField("Digest", HaveSuffix("1"))))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False RolledBack"))
}

// Without a store, the revision is rendered again, and refused when that gives another render.
func TestRollbackByRevision(t *testing.T) {
	t.Run("the same", func(t *testing.T) {
		w := failedWorld(t)
		w.config.Renders = nil
		w.pass()
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
	})
	t.Run("another", func(t *testing.T) {
		w := failedWorld(t)
		w.config.Renders = nil
		w.source.results["main@1"] = &render.Result{Digest: "something else"}
		w.pass()
		const why = "not rolled back: the past render cannot be made again: main@1 gives something else with the present spec, values and cluster; a render store keeps renders (--render-store-url)"
		w.Expect(w.events()).To(ContainElement("Warning RollbackRefused " + why))
		w.Expect(w.message(corev1alpha1.ConditionHealthy)).To(HaveSuffix("; " + why))
		w.Expect(w.release().Status.History[0].Message).To(HaveSuffix("; " + why))
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@2"))
		w.pass()
		w.Expect(w.target.takeCalls()).To(BeEmpty())
		w.Expect(w.events()).To(BeEmpty())
	})
	t.Run("the source is away", func(t *testing.T) {
		w := failedWorld(t)
		w.config.Renders = away{}
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False RolledBack"))
		w.config.Renders = w.source
		w.clock.SetTime(w.clock.Now().Add(longestSoon))
		w.pass()
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
	})
}

// The first render has nothing to be rolled back to, and goes on being tried.
func TestRollbackOfTheFirst(t *testing.T) {
	w := newWorld(t, newRelease(rollsBack))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.failures["a"] = errors.New("no")
	w.pass()
	w.pass()
	const why = "ConfigMap ns/a: no; not rolled back: no other render of status.history was healthy"
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal(why))
	w.target.takeCalls()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal(why))
	delete(w.target.failures, "a")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.settle()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
}

// The hooks of the failure are at their end before anything is rolled back.
func TestRollbackAfterTheHooksOfTheFailure(t *testing.T) {
	w := failedWorld(t)
	w.source.results["main@2"].Hooks = []render.Hook{{Name: "report", On: corev1alpha1.HookSyncFailed, Object: objectOf("Job", "report", 0, "j")}}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply report"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
	w.hook("report", corev1alpha1.HookFailed, "cannot report")
	w.pass()
	w.Expect(w.target.takeCalls()).To(ContainElement("apply a"))
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
}

// Nothing that holds up what is new holds up a rollback.
func TestRollbackIsNotHeldUp(t *testing.T) {
	tests := []struct {
		name   string
		change func(*corev1alpha1.Release)
	}{
		{"manual", manual},
		{"a window", func(r *corev1alpha1.Release) {
			r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Deny: true, Schedule: "* * * * *", Duration: metav1.Duration{Duration: time.Hour}}}
		}},
		{"a gate", gated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := failedWorld(t)
			w.change(tt.change)
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True RolledBack"))
		})
	}
}

// A rollback that does not become healthy either stays: nothing is tried in turns.
func TestRollbackThatFails(t *testing.T) {
	w := failedWorld(t)
	w.pass()
	w.observe(health("a", corev1alpha1.HealthDegraded, "crashes"))
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(defaultTimeout + time.Second))
	for range 4 {
		w.pass()
	}
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.outcomes()).To(Equal([]string{"main@1 failed", "main@2 failed", "main@1 healthy"}))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False Degraded"))
}

// What was rolled back to stays when it cannot be made again: what failed is not tried once more.
func TestRollbackThatCannotBeMadeAgain(t *testing.T) {
	w := failedWorld(t)
	w.config.Renders = nil
	w.settle()
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
	w.restart()
	w.target.takeCalls()
	w.source.results["main@1"] = &render.Result{Digest: "another", Inputs: "other", Objects: []render.Object{objectOf("Deployment", "a", 0, "a1'")}}
	w.settle()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False RolledBack"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("what is applied stays as it is, and nothing is corrected"))
	w.source.offers("main@3", objectOf("Deployment", "a", 0, "a3"))
	w.settle()
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@3"), "what is new ends it")
}

// A rollback that cannot begin yet is not asked for all the time.
func TestRollbackWithoutATarget(t *testing.T) {
	w := failedWorld(t)
	w.source.err = errors.New("the source is gone")
	w.target.connectErr = errors.New("no kubeconfig")
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.Expect(w.pass().RequeueAfter).To(BeNumerically(">", time.Second))
}

// A process that dies before the rollback is on record does it again.
func TestRollbackThatIsInterrupted(t *testing.T) {
	w := failedWorld(t)
	w.host.fail["update releases/status"] = errors.New("down")
	w.sync()
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).To(HaveOccurred())
	w.restart()
	w.settle()
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False RolledBack"))
}
