// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/render"
)

// TestSupersededHooksEnd: what a hook runs for another desired state is gone before anything is done
// for the present one at its point, whatever it is called.
func TestSupersededHooksEnd(t *testing.T) {
	tests := []struct {
		name  string
		hooks []render.Hook // of the present state
		calls []string
	}{
		{"by a hook of another name", []render.Hook{hookOf("migrate-2", corev1alpha1.HookPreSync)}, []string{"prune migrate-1", "apply migrate-2"}},
		{"by one of its name", []render.Hook{hookOf("migrate-1", corev1alpha1.HookPreSync)}, []string{"prune migrate-1", "apply migrate-1"}},
		{"by one of its name that runs later", []render.Hook{hookOf("first", corev1alpha1.HookPreSync, weight(-1)), hookOf("migrate-1", corev1alpha1.HookPreSync)},
			[]string{"prune migrate-1", "apply first"}},
		{"by one of another point", []render.Hook{hookOf("smoke", corev1alpha1.HookPostSync)}, []string{"prune migrate-1", "apply a", "apply smoke"}},
		{"by none", nil, []string{"prune migrate-1", "apply a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := hookWorld(t, hookOf("migrate-1", corev1alpha1.HookPreSync))
			w.target.takeCalls()
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = tt.hooks
			w.target.lingering["migrate-1"] = true
			w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", deletionPoll))
			w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate-1"}))
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
			w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal(
				"ending preSync hook Job ns/migrate-1, which runs for what was to be applied before: waits for the object of its last run to be gone"))

			delete(w.target.lingering, "migrate-1")
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal(tt.calls))
			w.pass()
			w.Expect(w.target.takeCalls()).To(BeEmpty())
		})
	}
}

func TestSupersededHookIsToldAsEnded(t *testing.T) {
	w := hookWorld(t, hookOf("migrate-1", corev1alpha1.HookPreSync))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate-2", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.release().Status.Lifecycle.Hooks).To(ConsistOf(
		And(HaveField("Name", "migrate-1"), HaveField("Phase", corev1alpha1.HookFailed), HaveField("Message", "ended, because something else is to be applied")),
		And(HaveField("Name", "migrate-2"), HaveField("Phase", corev1alpha1.HookRunning))))
	w.Expect(w.inventory().Spec.Entries).NotTo(ContainElement(HaveField("Name", "migrate-1")))
	w.ends("migrate-2 succeeded")
	w.pass()
	w.Expect(w.release().Status.Lifecycle.Hooks).To(ConsistOf(HaveField("Name", "migrate-2")))
}

func TestSupersededHookThatCannotBeEnded(t *testing.T) {
	w := hookWorld(t, hookOf("migrate-1", corev1alpha1.HookPreSync))
	w.target.takeCalls()
	w.target.obstacles = map[string]error{"migrate-1": errors.New("no")}
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate-2", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HaveSuffix("which runs for what was to be applied before: no"))

	w.target.obstacles["migrate-1"] = &apply.OwnershipError{Owner: "here/team/other"}
	w.requestSync("2026-03-01T10:00:00Z")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate-2"}), "what bears its name is not what it made")
}

// TestHooksThatDoNotRunStay: a claim that a hook made is not taken for something that runs.
func TestHooksThatDoNotRunStay(t *testing.T) {
	w := hookWorld(t, hookOf("data", corev1alpha1.HookPreSync, func(h *render.Hook) { h.Object = objectOf("PersistentVolumeClaim", "data", 0, "d") }))
	w.target.takeCalls()
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate"}))
}

// TestHooksRunWhenADesiredStateComesBack: what ran for it counts for nothing once another one has
// begun.
func TestHooksRunWhenADesiredStateComesBack(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("Deployment", "a", 0, "a1")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync), hookOf("smoke", corev1alpha1.HookPostSync)}
	w.pass()
	w.ends("migrate succeeded")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate", "apply a"}))
	w.source.offers("main@2", objectOf("Deployment", "a", 0, "a2")).Hooks = []render.Hook{hookOf("smoke", corev1alpha1.HookPostSync)}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))

	w.source.revision = "main@1"
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "apply migrate"}))
	w.ends("migrate succeeded")
	w.pass()
	w.observe()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "apply smoke"}))
	w.ends("smoke succeeded")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

func TestHooksDoNotRunAgainAfterWhatNeverBegan(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("Deployment", "a", 0, "a1"), objectOf("ConfigMap", "b", 5, "b1")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.pass()
	w.ends("migrate succeeded")
	w.pass()
	w.target.takeCalls()
	w.source.offers("main@2", objectOf("Deployment", "a", 0, "a2"))
	w.change(manual)
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForSync"))
	w.source.revision = "main@1"
	w.change(func(r *corev1alpha1.Release) { r.Spec.Sync.Mode = corev1alpha1.SyncModeAutomatic })
	w.observe()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply b"}))
}

// TestRunOfAHookThatRunsAgain: what an earlier run of the same desired state left is not taken for
// the present one, however soon that comes back.
func TestRunOfAHookThatRunsAgain(t *testing.T) {
	g := NewWithT(t)
	hook := hookOf("migrate", corev1alpha1.HookPreSync)
	s := &scope{key: key, release: newRelease(), before: &corev1alpha1.ReleaseStatus{}, run: "run"}
	first := s.runMark(hook)
	s.setHookStatus(corev1alpha1.HookStatus{Name: "migrate", On: hook.On, Run: "run", Object: &corev1alpha1.ObjectUID{UID: "1"}})
	g.Expect(s.runMark(hook)).To(Equal(first))
	s.run = "another"
	s.retireHooks()
	s.run = "run"
	g.Expect(s.runMark(hook)).NotTo(Equal(first))
}
