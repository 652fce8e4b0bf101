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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// outages are times in which nobody can look at hooks: of the target, of a person's making, of the
// whole of convoy.
var outages = map[string]func(w *world, outage time.Duration){
	"the target": func(w *world, outage time.Duration) {
		w.answers(false)
		w.pass()
		w.after(outage)
		w.pass()
		w.answers(true)
	},
	"suspended": func(w *world, outage time.Duration) {
		w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
		w.pass()
		w.after(outage)
		w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = false })
	},
	"convoy": func(w *world, outage time.Duration) {
		w.after(outage)
		w.restart()
	},
}

func (w *world) after(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// job gives the object of a hook's run.
func (w *world) job(name string) *corev1alpha1.ObjectUID {
	for _, status := range w.release().Status.Lifecycle.Hooks {
		if status.Name == name {
			return status.Object
		}
	}
	return nil
}

// erases removes an object from the target by hand.
func (w *world) erases(name string) {
	jobs := w.target.dynamic.Resource(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}).Namespace("ns")
	w.Expect(jobs.Delete(context.Background(), name, metav1.DeleteOptions{})).To(Succeed())
	delete(w.target.uids, name)
}

// TestHookThatNobodyCouldLookAt: what its Job says counts, and then the time in which it could be
// looked at.
func TestHookThatNobodyCouldLookAt(t *testing.T) {
	for name, outage := range outages {
		given := func(t *testing.T, meanwhile func(w *world)) *world {
			w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync))
			w.target.takeCalls()
			meanwhile(w)
			outage(w, 10*time.Minute)
			w.pass()
			return w
		}
		t.Run(name+", it has succeeded", func(t *testing.T) {
			w := given(t, func(w *world) { w.target.ends(w.job("migrate"), corev1alpha1.HookSucceeded) })
			w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
			w.Expect(w.release().Status.Lifecycle.Hooks).To(ConsistOf(And(HaveField("Phase", corev1alpha1.HookSucceeded), HaveField("Message", "completed"),
				HaveField("FinishedAt.Time", BeTemporally("==", time.Date(2026, 3, 1, 10, 0, 30, 0, time.UTC))))))
		})
		t.Run(name+", it has failed", func(t *testing.T) {
			w := given(t, func(w *world) { w.target.ends(w.job("migrate"), corev1alpha1.HookFailed) })
			w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix("preSync hook migrate (Job ns/migrate) failed: Because: it has ended; "))
			w.Expect(w.target.takeCalls()).To(BeEmpty())
		})
		t.Run(name+", it is gone", func(t *testing.T) {
			w := given(t, func(w *world) { w.erases("migrate") })
			w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix("preSync hook migrate (Job ns/migrate) failed: Job ns/migrate vanished before it finished; "))
		})
		t.Run(name+", it runs still", func(t *testing.T) {
			w := given(t, func(*world) {})
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
			w.after(59 * time.Second)
			w.Expect(w.pass().RequeueAfter).To(Equal(2 * time.Second))
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
			w.after(time.Second)
			w.pass()
			w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("did not end within 1m0s"))
		})
		t.Run(name+", only the observer can tell", func(t *testing.T) {
			w := hookWorld(t, hookOf("flow", corev1alpha1.HookPreSync, func(h *render.Hook) { h.Object = objectOf("Deployment", "flow", 0, "f") }))
			w.target.takeCalls()
			outage(w, 10*time.Minute)
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
			w.ends("flow succeeded")
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
		})
		t.Run(name+", it could not be started", func(t *testing.T) {
			w := newWorld(t, newRelease())
			w.target.failures["setup"] = errDenied
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("setup", corev1alpha1.HookPreSync)}
			w.pass()
			outage(w, 10*time.Minute)
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"))
			w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HaveSuffix("has failed if it cannot be started until 2026-03-01T10:11:00Z"))
			w.after(time.Minute)
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
		})
	}
}

// TestHookWhoseTimeIsOver: a Job that has ended by then has, though that was not noted yet; and who
// cannot look goes by the time, unless the target does not answer.
func TestHookWhoseTimeIsOver(t *testing.T) {
	given := func(t *testing.T) *world {
		w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync))
		w.after(time.Minute)
		return w
	}
	refuse := func(w *world, err error) {
		w.target.dynamic.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return err != nil, nil, err })
	}
	w := given(t)
	w.target.ends(w.job("migrate"), corev1alpha1.HookSucceeded)
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))

	w = given(t)
	refuse(w, apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "migrate", errors.New("no")))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HookFailed"))

	w = given(t)
	refuse(w, apierrors.NewServiceUnavailable("away"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
	w.after(time.Hour)
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
	w.target.dynamic.ReactionChain = w.target.dynamic.ReactionChain[1:]
	w.target.ends(w.job("migrate"), corev1alpha1.HookSucceeded)
	w.after(time.Hour)
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}
