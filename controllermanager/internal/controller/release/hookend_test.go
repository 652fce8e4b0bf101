// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// accountHook is a hook that has run once its ServiceAccount is there, and goes when it may.
func accountHook(change ...func(*render.Hook)) render.Hook {
	account := hookOf("account", corev1alpha1.HookPreSync, append(change, goesAfter)...)
	account.Object = objectOf("ServiceAccount", "account", 0, "s1")
	return account
}

// goesAfter has the object of a hook deleted whatever its end is.
func goesAfter(h *render.Hook) {
	h.DeletePolicy = []corev1alpha1.HookDeletePolicy{
		corev1alpha1.HookDeleteBeforeCreation, corev1alpha1.HookDeleteFailed, corev1alpha1.HookDeleteSucceeded,
	}
}

func ignored(h *render.Hook) { h.FailurePolicy = corev1alpha1.HookFailureIgnore }

// TestHooksGoWhenTheirPointIsOver: what a hook needs may be the object of another one, which is
// done when it is there.
func TestHooksGoWhenTheirPointIsOver(t *testing.T) {
	tests := []struct {
		name  string
		hooks []render.Hook
		// ends are what the hooks come to, one by one, and calls what is done after each.
		ends  []string
		calls [][]string
	}{
		{"of one weight", []render.Hook{accountHook(), hookOf("migrate", corev1alpha1.HookPreSync, goesAfter)},
			[]string{"migrate succeeded"}, [][]string{{"prune migrate", "prune account", "apply a"}}},
		{"of two weights", []render.Hook{accountHook(weight(-5)), hookOf("one", corev1alpha1.HookPreSync, weight(-5), goesAfter), hookOf("two", corev1alpha1.HookPreSync)},
			[]string{"one succeeded", "two succeeded"}, [][]string{{"apply two"}, {"prune one", "prune account", "apply a"}}},
		{"with one that fails", []render.Hook{accountHook(weight(-5)), hookOf("migrate", corev1alpha1.HookPreSync), hookOf("never", corev1alpha1.HookPreSync, weight(5))},
			[]string{"migrate failed"}, [][]string{{"prune account"}}},
		{"with one that fails and goes", []render.Hook{accountHook(), hookOf("migrate", corev1alpha1.HookPreSync, goesAfter)},
			[]string{"migrate failed"}, [][]string{{"prune migrate", "prune account"}}},
		{"with one that fails while another runs", []render.Hook{accountHook(), hookOf("fails", corev1alpha1.HookPreSync), hookOf("runs", corev1alpha1.HookPreSync)},
			[]string{"fails failed", "runs succeeded"}, [][]string{nil, {"prune account"}}},
		{"with one that may fail", []render.Hook{hookOf("may", corev1alpha1.HookPreSync, weight(-5), ignored, goesAfter), hookOf("migrate", corev1alpha1.HookPreSync)},
			[]string{"may failed", "migrate succeeded"}, [][]string{{"apply migrate"}, {"prune may", "apply a"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := hookWorld(t, tt.hooks...)
			w.Expect(w.target.takeCalls()).NotTo(ContainElement(HavePrefix("prune")))
			for i, end := range tt.ends {
				w.ends(end)
				w.pass()
				w.Expect(w.target.takeCalls()).To(Equal(tt.calls[i]), end)
			}
			w.pass()
			w.Expect(w.target.takeCalls()).To(BeEmpty(), "all is done")
		})
	}
}

// ends writes how a hook ended: "migrate failed".
func (w *world) ends(what string) {
	for _, phase := range []corev1alpha1.HookPhase{corev1alpha1.HookFailed, corev1alpha1.HookSucceeded} {
		if name, found := strings.CutSuffix(what, " "+string(phase)); found {
			w.hook(name, phase, "")
		}
	}
}

func TestHooksGoAfterTheProcessDied(t *testing.T) {
	w := hookWorld(t, accountHook(), hookOf("migrate", corev1alpha1.HookPreSync, goesAfter))
	w.ends("migrate succeeded")
	w.target.takeCalls()
	w.sync()
	w.host.fail["patch releaseinventories"] = apierrors.NewInternalError(context.DeadlineExceeded)
	_, err := w.Reconcile(context.Background(), key)
	w.Expect(err).To(HaveOccurred())
	w.target.takeCalls()

	reborn := newController(w.config)
	reborn.Controller = w.Controller.Controller
	w.Controller = reborn
	w.pass()
	w.Expect(w.target.takeCalls()).NotTo(ContainElement(HavePrefix("apply migrate")), "it does not run again")
	w.Expect(w.target.names()).To(Equal([]string{"a"}))
	w.Expect(w.inventory().Spec.Entries).To(ConsistOf(HaveField("Name", "a")))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

// TestHooksGoThoughItTakesTime: what has to wait for another object goes although the sync, which
// does not wait for that, is over.
func TestHooksGoThoughItTakesTime(t *testing.T) {
	w := hookWorld(t, accountHook(), hookOf("migrate", corev1alpha1.HookPreSync, goesAfter))
	w.ends("migrate succeeded")
	w.target.lingering["migrate"] = true
	w.target.takeCalls()
	w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", deletionPoll))
	w.Expect(w.target.takeCalls()).To(ContainElement("apply a"))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))

	delete(w.target.lingering, "migrate")
	// Those of installations do not run in upgrades.
	result := w.source.results["main@1"]
	result.OtherHooks, result.Hooks = result.Hooks, nil
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "prune account"}))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
}

// TestHooksThatAreOvertaken: the account of hooks that run afresh does not go with the run that
// was given up.
func TestHooksThatAreOvertaken(t *testing.T) {
	hooks := []render.Hook{accountHook(weight(-5)), hookOf("migrate", corev1alpha1.HookPreSync)}
	w := hookWorld(t, hooks...)
	w.target.takeCalls()
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = hooks
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "apply account", "apply migrate"}))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.ends("migrate succeeded")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune account", "apply a"}))
}

func TestHooksOfADeletionGoWhenTheirPointIsOver(t *testing.T) {
	at := func(point corev1alpha1.HookPoint) func(*render.Hook) { return func(h *render.Hook) { h.On = point } }
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{
		accountHook(at(corev1alpha1.HookPreDelete)), hookOf("backup", corev1alpha1.HookPreDelete), hookOf("farewell", corev1alpha1.HookPostDelete),
	}
	w.pass()
	w.target.takeCalls()
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply account", "apply backup"}))
	w.ends("backup succeeded")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune account", "prune a", "apply farewell"}))
}

// TestOneObjectAtTwoPoints: each hook has its own run of it.
func TestOneObjectAtTwoPoints(t *testing.T) {
	at := func(point corev1alpha1.HookPoint) render.Hook {
		hook := hookOf("toggle", point)
		hook.Name = string(point) + "/Job/toggle"
		return hook
	}
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{
		at(corev1alpha1.HookPreSync), at(corev1alpha1.HookPostSync), at(corev1alpha1.HookPreDelete), at(corev1alpha1.HookPostDelete),
	}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply toggle"}))
	w.ends("preSync/Job/toggle succeeded")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a", "prune toggle", "apply toggle"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
	w.ends("postSync/Job/toggle succeeded")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))

	w.target.takeCalls()
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune toggle", "apply toggle"}))
	w.ends("preDelete/Job/toggle succeeded")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a", "prune toggle", "apply toggle"}))
	w.ends("postDelete/Job/toggle succeeded")
	w.pass()
	w.Expect(w.release()).To(BeNil())
}

// TestDesiredStateThatComesBack: what its hooks came to then, before another one, counts no more.
func TestDesiredStateThatComesBack(t *testing.T) {
	named := func(job string) render.Hook {
		return hookOf("migrate", corev1alpha1.HookPreSync, func(h *render.Hook) { h.Object = objectOf("Job", job, 0, job) })
	}
	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Prune = ptr.To(false) }))
	for _, version := range []string{"1", "2"} {
		w.source.offers("main@"+version, objectOf("ConfigMap", "a", 0, "a"+version)).Hooks = []render.Hook{named("up-" + version)}
		w.pass()
		w.ends("migrate succeeded")
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	}
	w.Expect(w.target.names()).To(Equal([]string{"a", "up-1", "up-2"}))
	w.target.takeCalls()
	w.source.revision = "main@1"
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune up-1", "apply up-1"}))
}

func TestMarkOfARun(t *testing.T) {
	g := NewWithT(t)
	mark := func(change ...func(s *scope, hook *render.Hook)) string {
		hook := hookOf("migrate", corev1alpha1.HookPreSync)
		s := &scope{run: "run", release: newRelease(), before: &corev1alpha1.ReleaseStatus{}}
		for _, c := range change {
			c(s, &hook)
		}
		return s.runMark(hook)
	}
	at := metav1.Unix(1, 0)
	marks := map[string]bool{}
	for _, change := range []func(*scope, *render.Hook){
		func(*scope, *render.Hook) {},
		func(_ *scope, hook *render.Hook) { hook.Name = "other" },
		func(s *scope, _ *render.Hook) { s.run = "other" },
		func(s *scope, _ *render.Hook) { s.release.UID = "other" },
		func(s *scope, _ *render.Hook) { s.before.Applied = &corev1alpha1.AppliedStatus{At: at} },
		func(s *scope, _ *render.Hook) { s.before.Sync = &corev1alpha1.SyncStatus{StartedAt: &at} },
	} {
		g.Expect(mark(change)).To(Equal(mark(change)))
		marks[mark(change)] = true
	}
	g.Expect(marks).To(HaveLen(6))
	g.Expect(mark(func(s *scope, _ *render.Hook) { s.release.Status.Sync = &corev1alpha1.SyncStatus{StartedAt: &at} })).To(
		Equal(mark()), "what the pass writes itself is lost with it")
}
