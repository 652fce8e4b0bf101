// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/render"
)

// widgetDefinition defines the kind Widget.
func widgetDefinition(digest string) render.Object {
	definition := objectOf("CustomResourceDefinition", "widgets.ex.test", -2, digest)
	definition.Object.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.Object.Object["spec"] = map[string]any{"group": "ex.test", "names": map[string]any{"kind": "Widget"}}
	return definition
}

func widgetHook(name string) render.Hook {
	hook := hookOf(name, corev1alpha1.HookPreSync)
	hook.Object.Object.SetAPIVersion("ex.test/v1")
	hook.Object.Object.SetKind("Widget")
	return hook
}

// TestDefinitionsComeBeforeHooks: those of a chart's crds/ do in Helm, too.
func TestDefinitionsComeBeforeHooks(t *testing.T) {
	for _, hook := range []render.Hook{widgetHook("setup"), hookOf("setup", corev1alpha1.HookPreSync)} {
		w := newWorld(t, newRelease())
		w.source.offers("main@1", widgetDefinition("d1"), objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hook}
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply widgets.ex.test"}))
		w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix("waiting for the definitions before the preSync hooks"))
		w.observe(health("widgets.ex.test", corev1alpha1.HealthProgressing, "not established"))
		w.pass()
		w.Expect(w.target.takeCalls()).To(BeEmpty())
		w.observe()
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply setup"}))
		w.ends("setup succeeded")
		w.observe(health("widgets.ex.test", corev1alpha1.HealthProgressing, "no more of interest for hooks"))
		w.pass()
		w.observe()
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	}
}

// TestDefinitionsOfUpgrades: what hooks of an upgrade may have to prepare comes after them, but
// for the kinds that they are of themselves.
func TestDefinitionsOfUpgrades(t *testing.T) {
	for _, tt := range []struct {
		hook render.Hook
		want string
	}{{widgetHook("setup"), "apply widgets.ex.test"}, {hookOf("setup", corev1alpha1.HookPreSync), "apply setup"}} {
		w := newWorld(t, newRelease())
		w.source.offers("main@1", widgetDefinition("d1"))
		w.pass()
		w.observe()
		w.pass()
		w.target.takeCalls()
		w.source.offers("main@2", widgetDefinition("d2")).Hooks = []render.Hook{tt.hook}
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{tt.want}))
	}
}

func TestNamespacesOfHooksComeBeforeThem(t *testing.T) {
	namespace := func(name string) render.Object {
		object := objectOf("Namespace", name, -2, name)
		object.Object.SetNamespace("")
		return object
	}
	w := newWorld(t, newRelease())
	w.source.offers("main@1", namespace("ns"), namespace("other")).Hooks = []render.Hook{hookOf("setup", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply ns", "apply setup"}))
}

// TestHookThatCannotBeStarted: what ends by itself is waited for, but no longer than a hook may
// take.
func TestHookThatCannotBeStarted(t *testing.T) {
	unserved := &apply.WaitingError{For: "the target cluster to serve kind Widget of ex.test/v1"}
	hook := hookOf("setup", corev1alpha1.HookPreSync)
	world := func() *world {
		w := newWorld(t, newRelease())
		w.target.failures["setup"] = unserved
		w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hook, hookOf("undo", corev1alpha1.HookSyncFailed)}
		w.Expect(w.pass().RequeueAfter).To(Equal(time.Second))
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
		w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal("waiting for preSync hook setup (Job ns/setup): waits for the target cluster to serve kind Widget of ex.test/v1"))
		return w
	}
	w := world()
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	delete(w.target.failures, "setup")
	w.pass()
	status := w.release().Status.Lifecycle.Hooks[0]
	w.Expect(status.Object).NotTo(BeNil())
	w.Expect(status.StartedAt.Time).To(BeTemporally("==", w.clock.Now()), "it has all its time")
	w.Expect(status.Message).To(BeEmpty())

	w = world()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.target.takeCalls()
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HookFailed"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix(
		"preSync hook setup (Job ns/setup) failed: did not start within 1m0s (waits for the target cluster to serve kind Widget of ex.test/v1); "))
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply setup", "apply undo"}))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "it is not tried any more")
}

func TestHookOfAKindThatComesLater(t *testing.T) {
	w := newWorld(t, newRelease())
	s := &scope{key: key, release: newRelease(), now: w.clock.Now(), run: "run"}
	err := fmt.Errorf("%w%w", &apply.WaitingError{For: "the kind"}, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "ex.test", Kind: "Widget"}})
	out := w.hookNotStarted(t.Context(), s, widgetHook("setup"), err)
	w.Expect(out.message).To(HaveSuffix("waits for the kind: its definition has to be among the objects, or that of a hook that runs before"))
}

// TestHookWhoseNameIsTaken: nothing of it is written, and it is tried again.
func TestHookWhoseNameIsTaken(t *testing.T) {
	w := newWorld(t, newRelease())
	w.target.uids["migrate"] = "somebody's"
	w.target.obstacles = map[string]error{"migrate": &apply.ObstacleError{Why: "somebody's"}}
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False OwnershipConflict"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix("preSync hook migrate (Job ns/migrate): somebody's: delete it, or give the object of the hook another name"))
	w.Expect(w.inventory().Spec.Entries).NotTo(ContainElement(HaveField("Name", "migrate")), "it is not the Release's to delete")
	w.Expect(w.release().Status.Lifecycle.Hooks).To(ConsistOf(HaveField("Message", HavePrefix("somebody's"))))

	w.target.obstacles, w.target.uids = nil, map[string]types.UID{}
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate"}))
}

// TestHookOfAnIdentityWithoutRights: nothing was sent, so that nothing has to be removed.
func TestHookOfAnIdentityWithoutRights(t *testing.T) {
	w := newWorld(t, newRelease())
	w.target.obstacles = map[string]error{"migrate": clusterconn.ErrForbidden}
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False Forbidden"))
	w.Expect(w.inventory().Spec.Entries).To(BeEmpty())
}

// TestHookOfALastingKind: a claim, or what does not run, is applied over.
func TestHookOfALastingKind(t *testing.T) {
	for _, kind := range []string{"PersistentVolumeClaim", "Namespace", "Secret"} {
		hook := hookOf("data", corev1alpha1.HookPreSync, func(h *render.Hook) { h.Object = objectOf(kind, "data", 0, "d") })
		w := hookWorld(t, hook)
		w.ends("data succeeded")
		w.pass()
		w.target.takeCalls()
		w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hook}
		w.pass()
		w.Expect(w.target.takeCalls()).To(And(ContainElement("apply data"), Not(ContainElement("prune data"))), kind)
	}
}

// TestANamespaceGoesAfterWhatHooksLeftInIt: it waits for that, which is the last to go.
func TestANamespaceGoesAfterWhatHooksLeftInIt(t *testing.T) {
	w := newWorld(t, newRelease())
	namespace := objectOf("Namespace", "own", -2, "n")
	namespace.Object.SetNamespace("")
	hook := hookOf("migrate", corev1alpha1.HookPreSync)
	hook.Object.Object.SetNamespace("own")
	w.source.offers("main@1", namespace, objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hook}
	w.settle()
	w.ends("migrate succeeded")
	w.settle()
	w.observe()
	w.settle()
	w.Expect(w.target.names()).To(ConsistOf("own", "migrate", "a"))
	w.target.waitsFor = map[string]string{"own": "migrate"}
	w.target.takeCalls()
	w.deleteRelease()
	for range 3 {
		if w.release() != nil {
			w.pass()
		}
	}
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.target.names()).To(BeEmpty())
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a", "prune migrate", "prune own"}))
}
