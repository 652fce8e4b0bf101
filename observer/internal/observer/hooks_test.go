// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/observer/internal/testcluster"
)

const (
	running   = "{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: job}, status: {active: 1}}"
	succeeded = "{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: job}, status: {succeeded: 1, conditions: [{type: Complete, status: 'True'}]}}"
	failed    = "{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: job}, status: {failed: 1, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: no luck}]}}"
)

// withHook gives the Release a hook that runs as the Job.
func withHook(change func(h *corev1alpha1.HookStatus)) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) {
		job := entry(running, "d")
		hook := corev1alpha1.HookStatus{
			Name: "migrate", On: corev1alpha1.HookPreSync, Run: "run", Phase: corev1alpha1.HookRunning,
			Object: &corev1alpha1.ObjectUID{ObjectKey: job.ObjectKey, UID: job.UID},
		}
		change(&hook)
		r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{
			Hooks: []corev1alpha1.HookStatus{{Name: "before", On: corev1alpha1.HookPreSync, Phase: corev1alpha1.HookSucceeded}, hook},
			Gates: []corev1alpha1.GateStatus{{Name: "gate", Approved: true, By: "somebody"}},
		}
	}
}

func TestHooksAreFollowed(t *testing.T) {
	same := func(*corev1alpha1.HookStatus) {}
	for _, test := range []struct {
		name    string
		job     string
		hook    func(h *corev1alpha1.HookStatus)
		phase   corev1alpha1.HookPhase
		message string
	}{
		{"succeeded", succeeded, same, corev1alpha1.HookSucceeded, ""},
		{"failed", failed, same, corev1alpha1.HookFailed, "no luck"},
		{"vanished", "", same, corev1alpha1.HookFailed, "Job ns/job vanished before it finished"},
		{"another object of the name", succeeded, func(h *corev1alpha1.HookStatus) { h.Object.UID = "another" },
			corev1alpha1.HookFailed, "vanished before it finished"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			if test.job != "" {
				w.cluster.Put(marked(test.job))
			}
			w.setRelease(withHook(test.hook))
			w.setEntries()
			before := w.release()
			w.judge()

			w.Expect(w.lifecycles).To(HaveLen(1))
			written := w.lifecycles[0]
			w.Expect(written.ResourceVersion).To(Equal(before.ResourceVersion), "a newer run is not overwritten")
			w.Expect(written.Status.Lifecycle.Gates).To(Equal(before.Status.Lifecycle.Gates))
			w.Expect(written.Status.Lifecycle.Hooks[0]).To(Equal(before.Status.Lifecycle.Hooks[0]))
			hook := written.Status.Lifecycle.Hooks[1]
			w.Expect(hook.Phase).To(Equal(test.phase))
			w.Expect(hook.Message).To(ContainSubstring(test.message))
			w.Expect(hook.FinishedAt.Time).To(BeTemporally("==", w.clock.Now()))
			w.Expect(hook.Run).To(Equal("run"))
		})
	}
}

func TestHooksThatAreNotWritten(t *testing.T) {
	for _, test := range []struct {
		name string
		job  string
		hook func(h *corev1alpha1.HookStatus)
	}{
		{"runs as it is known to", running, func(h *corev1alpha1.HookStatus) { h.Message = "1 active" }},
		{"ended before", failed, func(h *corev1alpha1.HookStatus) { h.Phase = corev1alpha1.HookSucceeded }},
		{"is not applied yet", succeeded, func(h *corev1alpha1.HookStatus) { h.Object = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Put(marked(test.job))
			w.setRelease(withHook(test.hook))
			w.setEntries()
			w.judge()
			if len(w.lifecycles) > 0 {
				// What a running Job says is the health module's; a second pass says nothing new.
				w.setRelease(func(r *corev1alpha1.Release) { r.Status.Lifecycle = w.lifecycles[0].Status.Lifecycle })
				w.Expect(r0(w).Phase).To(Equal(corev1alpha1.HookRunning))
				w.lifecycles = nil
				w.judge()
			}
			w.Expect(w.lifecycles).To(BeEmpty())
		})
	}
}

func r0(w *world) corev1alpha1.HookStatus { return w.lifecycles[0].Status.Lifecycle.Hooks[1] }

func TestAHookWhoseKindIsNotServedIsNotJudged(t *testing.T) {
	w := newWorld(t)
	w.setRelease(withHook(func(h *corev1alpha1.HookStatus) { h.Object.Kind = "Gadget" }))
	w.setEntries()
	w.judge()
	w.Expect(r0(w).Phase).To(Equal(corev1alpha1.HookRunning))
	w.Expect(r0(w).FinishedAt).To(BeNil())
}

func TestAHookThatCannotBeReadIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(configMap))
	w.cluster.Refuse("GET "+w.cluster.Path(running), apierrors.NewInternalError(errors.New("etcd")))
	w.setRelease(withHook(func(*corev1alpha1.HookStatus) {}))
	w.setEntries(entry(configMap, "d"))
	_, err := w.health.Reconcile(t.Context(), key)
	w.Expect(err).To(MatchError(ContainSubstring("hook migrate")))
	w.Expect(w.lifecycles).To(BeEmpty())
	w.Expect(w.inventory().Status.Summary.Healthy).To(BeEquivalentTo(1), "the health is written nevertheless")
}

// The object of a hook may be of any kind: what tells when it has ended is the rules, as for health.
func TestRulesTellWhenAHookHasEnded(t *testing.T) {
	for _, test := range []struct {
		name, status string
		phase        corev1alpha1.HookPhase
		message      string
	}{
		{"nobody has looked at it", "", corev1alpha1.HookRunning, "not looked at"},
		{"runs", "status: {phase: Running}", corev1alpha1.HookRunning, "phase Running"},
		{"failed", "status: {phase: Failed}", corev1alpha1.HookFailed, "phase Failed"},
		{"succeeded", "status: {phase: Succeeded}", corev1alpha1.HookSucceeded, "phase Succeeded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Serve(testcluster.Widget)
			object := "{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: job}, " + test.status + "}"
			w.cluster.Put(marked(object))
			set := ruleSet("ns", "runs")
			set.Spec.Rules = []extv1alpha1.HealthRule{{
				Name: "widget", Target: extv1alpha1.HealthRuleTarget{Group: "example.com", Kind: "Widget"},
				Degraded: "object.?status.phase.orValue('') == 'Failed'", Healthy: "object.?status.phase.orValue('') == 'Succeeded'",
				Message: "has(object.status) ? 'phase ' + object.status.phase : 'not looked at'",
			}}
			w.Expect(w.sets.Add(set)).To(Succeed())
			w.setRelease(withHook(func(h *corev1alpha1.HookStatus) { h.Object.ObjectKey = entry(object, "").ObjectKey }))
			w.setEntries(entry(object, "d"))
			w.judge()
			w.Expect(r0(w).Phase).To(Equal(test.phase))
			w.Expect(r0(w).Message).To(Equal(test.message))
		})
	}
}

// What the controller-manager waits for is told at once; the health of other objects has its rest
// all the same.
func TestHooksAreFollowedWhileHealthRests(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(running))
	w.cluster.Put(marked(ready))
	w.setRelease(withHook(func(*corev1alpha1.HookStatus) {}))
	w.setEntries(entry(running, "d"), entry(ready, "d"))
	w.judge()
	w.writes()
	w.lifecycles = nil
	for i := range 5 {
		w.cluster.Put(marked(strings.Replace(ready, "availableReplicas: 1", fmt.Sprintf("availableReplicas: %d", i%2), 1)))
		w.catchUp()
		result, err := w.health.Reconcile(t.Context(), key)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(result.RequeueAfter).To(Equal(rest))
		w.see()
	}
	w.Expect(w.writes()).NotTo(ContainElement(ContainSubstring("releaseinventories")))
	w.cluster.Put(marked(succeeded))
	w.lifecycles = nil
	_, err := w.health.Reconcile(t.Context(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.lifecycles).To(HaveLen(1))
	w.Expect(r0(w).Phase).To(Equal(corev1alpha1.HookSucceeded))
	w.Expect(w.writes()).NotTo(ContainElement(ContainSubstring("releaseinventories")))
}
