// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/render"
)

var (
	errDenied          = errors.New("invalid: jobs are denied here")
	errNamespaceIsGone = apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")
	errAway            = clusterconn.Classify(apierrors.NewServiceUnavailable("away"))
)

// refusals are what keeps the object of a hook from being made, with the reason that says so.
var refusals = map[string]error{
	corev1alpha1.ReasonApplyFailed:       errDenied,
	corev1alpha1.ReasonForbidden:         clusterconn.Classify(apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "setup", errors.New("exceeded quota: q"))),
	corev1alpha1.ReasonOwnershipConflict: &apply.OwnershipError{Owner: "here/team/other"},
}

// TestHookThatIsAppliedOverStaysTheReleases: a process that died before it could note that leaves an
// object that the Release made as one that the Release made.
func TestHookThatIsAppliedOverStaysTheReleases(t *testing.T) {
	for _, death := range deaths {
		w := newWorld(t, newRelease())
		hook := hookOf("setup", corev1alpha1.HookPreSync, func(h *render.Hook) { h.Object = objectOf("ConfigMap", "setup", 0, "s1") })
		w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hook}
		w.pass()
		ofHook := func() corev1alpha1.InventoryEntry {
			for _, entry := range w.inventory().Spec.Entries {
				if entry.Name == "setup" {
					return entry
				}
			}
			return corev1alpha1.InventoryEntry{}
		}
		made := ofHook()
		w.Expect(made).To(And(HaveField("UID", Not(BeEmpty())), HaveField("Adopted", BeFalse())))

		w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hook}
		w.dies(death)
		w.pass()
		w.Expect(ofHook()).To(And(HaveField("UID", made.UID), HaveField("Adopted", BeFalse())), death)
	}
}

// TestHookThatIsRefused: whoever refuses the object of a hook, that is in the status, and has an end.
func TestHookThatIsRefused(t *testing.T) {
	missing := map[string]error{corev1alpha1.ReasonApplyFailed: errNamespaceIsGone}
	for _, errs := range []map[string]error{refusals, missing} {
		for reason, err := range errs {
			w := newWorld(t, newRelease())
			w.target.failures["setup"] = err
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{
				hookOf("setup", corev1alpha1.HookPreSync), hookOf("undo", corev1alpha1.HookSyncFailed),
			}
			w.Expect(w.pass().RequeueAfter).To(Equal(time.Second))
			w.Expect(w.target.takeCalls()).To(Equal([]string{"apply setup"}))
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False " + reason))
			w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal(
				"preSync hook setup (Job ns/setup): " + err.Error() + "; it is tried again, and has failed if it cannot be started until 2026-03-01T10:01:00Z"))
			w.Expect(w.release().Status.Lifecycle.Hooks).To(ConsistOf(And(HaveField("Phase", corev1alpha1.HookRunning),
				HaveField("Object", BeNil()), HaveField("Message", err.Error()))))
			w.Expect(w.release().Status.History).To(BeEmpty(), "it has not failed yet")
			w.Expect(w.events()).To(ContainElement(HavePrefix("Warning " + reason)))

			w.clock.SetTime(w.clock.Now().Add(8 * time.Second))
			w.Expect(w.pass().RequeueAfter).To(Equal(8*time.Second), "less and less often")
			w.target.takeCalls()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal([]string{"apply setup", "apply undo"}))
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
			w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix(
				"preSync hook setup (Job ns/setup) failed: did not start within 1m0s (" + err.Error() + "); "))
			w.Expect(w.release().Status.History).To(ConsistOf(HaveField("Outcome", corev1alpha1.OutcomeFailed)))
			w.pass()
			w.Expect(w.target.takeCalls()).To(BeEmpty(), "it is not tried any more")
		}
	}
}

func TestRefusedHookIsStartedOnceItMayBe(t *testing.T) {
	w := newWorld(t, newRelease())
	w.target.failures["setup"] = errDenied
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("setup", corev1alpha1.HookPreSync)}
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	delete(w.target.failures, "setup")
	w.pass()
	w.Expect(w.release().Status.Lifecycle.Hooks).To(ConsistOf(And(HaveField("Object", Not(BeNil())), HaveField("Message", BeEmpty()))))
	w.ends("setup succeeded")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

// What a target names is cut: a status with all of it could not be written.
func TestHookThatWaitsForWhatIsLong(t *testing.T) {
	w := newWorld(t, newRelease())
	w.target.failures["setup"] = &apply.WaitingError{For: "the object to be gone: " + strings.Repeat("x", 1<<20)}
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("setup", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.release().Status.Lifecycle.Hooks).To(ConsistOf(HaveField("Message", And(HavePrefix("waits for the object to be gone"), WithTransform(func(s string) int { return len(s) }, BeNumerically("<=", maxMessage))))))
}

func TestRefusedHookThatMayFail(t *testing.T) {
	for _, err := range refusals {
		w := newWorld(t, newRelease())
		w.target.failures["warm"] = err
		w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("warm", corev1alpha1.HookPreSync, ignored)}
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.target.takeCalls()
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply warm", "apply a"}))
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
		w.Expect(w.release().Status.Lifecycle.Hooks).To(ConsistOf(And(HaveField("Phase", corev1alpha1.HookFailed), HaveField("Message", ContainSubstring(err.Error())))))
	}
}

// TestHookOfATargetThatIsAway: that nobody could ask for the object takes no time of the hook.
func TestHookOfATargetThatIsAway(t *testing.T) {
	for _, away := range []func(w *world){
		func(w *world) { w.target.failures["setup"] = errAway },
		func(w *world) { w.target.connectErr = errAway },
	} {
		w := newWorld(t, newRelease())
		w.target.failures["setup"] = errDenied
		w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("setup", corev1alpha1.HookPreSync)}
		w.pass()
		away(w)
		for range 5 {
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).NotTo(Equal("False HookFailed"))
			w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
		}
		w.target.connectErr, w.target.failures["setup"] = nil, errDenied
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"), "it has all its time")
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
	}
}

// TestRefusedHookWaitsForTheOwner: it is tried again when the Release changes that has its object.
func TestRefusedHookWaitsForTheOwner(t *testing.T) {
	w := newWorld(t, newRelease())
	w.target.obstacles = map[string]error{"setup": &apply.OwnershipError{Owner: corev1alpha1.ReleaseAnnotationValue("here", key.Namespace, "other")}}
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("setup", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.awaits.get(key)).To(ConsistOf(HaveField("Name", "other")))
}

// deletedWorld has a Release with delete hooks that is being deleted, before the first pass of that.
func deletedWorld(t *testing.T, hooks ...render.Hook) *world {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = hooks
	w.pass()
	w.target.takeCalls()
	w.events()
	w.deleteRelease()
	return w
}

func TestRefusedHookOfADeletion(t *testing.T) {
	for _, point := range []corev1alpha1.HookPoint{corev1alpha1.HookPreDelete, corev1alpha1.HookPostDelete} {
		w := deletedWorld(t, hookOf("bye", point))
		w.target.failures["bye"] = errDenied
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False ApplyFailed"))
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False HookFailed"))
		w.Expect(w.message(corev1alpha1.ConditionReady)).To(And(
			HavePrefix(string(point)+" hook bye (Job ns/bye) failed: did not start within 1m0s (invalid: jobs are denied here); "),
			ContainSubstring("kubectl convoy -n team retry app bye"), ContainSubstring("kubectl convoy -n team skip app bye"),
			ContainSubstring("once its entry is taken out of status.lifecycle.hooks"), ContainSubstring("has the phase succeeded"), ContainSubstring("spec.deletionPolicy: orphan")))
		w.Expect(w.release()).NotTo(BeNil())
		delete(w.target.failures, "bye")
		w.hook("bye", corev1alpha1.HookSucceeded, "skipped by hand")
		w.target.takeCalls()
		w.pass()
		w.Expect(w.release()).To(BeNil(), "the way out is one")
		w.Expect(w.target.takeCalls()).NotTo(ContainElement("apply bye"))

		w = deletedWorld(t, hookOf("bye", point, ignored))
		w.target.failures["bye"] = errDenied
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.target.failures = map[string]error{}
		w.target.obstacles = map[string]error{"bye": errDenied}
		w.pass()
		w.Expect(w.release()).To(BeNil(), "it may fail")
	}
}

func TestPreDeleteHookInANamespaceThatIsGone(t *testing.T) {
	w := deletedWorld(t, hookOf("backup", corev1alpha1.HookPreDelete))
	w.target.failures["backup"] = errNamespaceIsGone
	w.target.lingering["a"] = true
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply backup", "prune a"}))
	w.Expect(w.events()).To(ContainElement("Warning HooksSkipped preDelete hook backup (Job ns/backup): passed over: " +
		"namespace ns does not exist any more, and nothing is left in it to prepare"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a"}), "it is not tried again")
	w.Expect(w.events()).To(BeEmpty(), "and told once")
}

// TestPostDeleteHookInANamespaceOfTheRelease: what such a hook needs goes last.
func TestPostDeleteHookInANamespaceOfTheRelease(t *testing.T) {
	namespace := func(name string) render.Object {
		object := objectOf("Namespace", name, -2, name)
		object.Object.SetNamespace("")
		return object
	}
	bye := widgetHook("bye")
	bye.On = corev1alpha1.HookPostDelete
	w := newWorld(t, newRelease())
	w.source.offers("main@1", namespace("ns"), namespace("other"), widgetDefinition("d1"), objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{bye}
	w.pass()
	for range 3 { // one stage after the other
		w.observe()
		w.pass()
	}
	w.target.takeCalls()
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a", "prune other", "apply bye"}))
	w.ends("bye succeeded")
	w.pass()
	w.Expect(w.target.takeCalls()).To(And(HaveExactElements("prune bye", HavePrefix("prune "), HavePrefix("prune ")), ContainElements("prune ns", "prune widgets.ex.test")))
	w.Expect(w.release()).To(BeNil())
}

func TestDeletionOfHooksOnly(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1").Hooks = []render.Hook{hookOf("backup", corev1alpha1.HookPreDelete), hookOf("bye", corev1alpha1.HookPostDelete)}
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.inventory().Spec.Entries).To(BeEmpty())
	w.deleteRelease()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply backup"}))
	w.ends("backup succeeded")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply bye"}))
	w.ends("bye succeeded")
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.target.names()).To(BeEmpty())
}

func TestOrphanOfHooksOnly(t *testing.T) {
	w := newWorld(t, newRelease(orphaned))
	w.source.offers("main@1").Hooks = []render.Hook{hookOf("backup", corev1alpha1.HookPreDelete)}
	w.pass()
	w.deleteRelease()
	w.target.connectErr = errAway
	w.events()
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.events()).To(BeEmpty(), "there is nothing to give up")
}
