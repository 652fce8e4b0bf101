// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// stagedWorld has a Release of two stages of which the first was just applied.
func stagedWorld(t *testing.T) *world {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("Deployment", "db", -1, "d1"), objectOf("Deployment", "app", 0, "a1"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply db"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForStage"))
	return w
}

func TestNextStageWaitsForHealth(t *testing.T) {
	tests := []struct {
		name  string
		given func(w *world)
		want  []string
	}{
		{"no health yet", func(*world) {}, nil},
		{"progressing", func(w *world) { w.observe(health("db", corev1alpha1.HealthProgressing, "1 of 2")) }, nil},
		{"degraded", func(w *world) { w.observe(health("db", corev1alpha1.HealthDegraded, "crashes")) }, nil},
		{"missing", func(w *world) { w.observe(health("db", corev1alpha1.HealthMissing, "")) }, nil},
		{"unknown", func(w *world) { w.observe(health("db", corev1alpha1.HealthUnknown, "")) }, nil},
		{"healthy", func(w *world) { w.observe() }, []string{"apply app"}},
		{"suspended on purpose", func(w *world) { w.observe(health("db", corev1alpha1.HealthSuspended, "")) }, []string{"apply app"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := stagedWorld(t)
			tt.given(w)
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal(tt.want))
		})
	}
}

// TestWhatIsNeededComesFirst: a stage of its own can put a definition or a namespace behind
// what needs it.
func TestWhatIsNeededComesFirst(t *testing.T) {
	definition := func(stage int32) render.Object {
		object := objectOf("CustomResourceDefinition", "widgets.ex.test", stage, "d")
		object.Object.SetAPIVersion("apiextensions.k8s.io/v1")
		object.Object.SetNamespace("")
		object.Object.Object["spec"] = map[string]any{"group": "ex.test", "names": map[string]any{"kind": "Widget"}}
		return object
	}
	widget := func(stage int32) render.Object {
		object := objectOf("Widget", "w", stage, "w")
		object.Object.SetAPIVersion("ex.test/v1")
		return object
	}
	namespace := func(stage int32) render.Object {
		object := objectOf("Namespace", "ns", stage, "n")
		object.Object.SetNamespace("")
		return object
	}
	tests := []struct {
		name  string
		given []render.Object
		want  []string
	}{
		{"in the usual order", []render.Object{namespace(-2), definition(-2), objectOf("ConfigMap", "a", -1, "a"), widget(0)},
			[]string{"-2 ns widgets.ex.test", "-1 a", "0 w"}},
		{"a late definition", []render.Object{objectOf("ConfigMap", "a", -1, "a"), widget(0), definition(3)}, []string{"-1 a", "3 widgets.ex.test", "4 w"}},
		{"a definition in the stage of its custom resource", []render.Object{widget(0), definition(0)}, []string{"0 widgets.ex.test", "1 w"}},
		{"a late namespace", []render.Object{objectOf("ConfigMap", "a", -1, "a"), namespace(2), objectOf("ConfigMap", "b", 5, "b")}, []string{"2 ns", "3 a", "5 b"}},
		{"both", []render.Object{widget(0), definition(1), namespace(2)}, []string{"1 widgets.ex.test", "2 ns", "3 w"}},
		{"a kind of the same name in another group", []render.Object{objectOf("Widget", "w", 0, "w"), definition(3)}, []string{"0 w", "3 widgets.ex.test"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stages []string
			for _, stage := range stagesOf(tt.given) {
				text := fmt.Sprint(stage.number)
				for _, object := range stage.objects {
					text += " " + object.Object.GetName()
				}
				stages = append(stages, text)
			}
			NewWithT(t).Expect(stages).To(Equal(tt.want))
		})
	}
}

func TestHealthOfAnOlderInventoryDoesNotCount(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("Deployment", "db", -1, "d1"), objectOf("Deployment", "app", 0, "a1"))
	w.target.onApply = func() {
		if w.inventory().Generation == 1 {
			w.observe() // before the outcome of the first stage is written
		}
	}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply db"}))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
}

func TestStageMessages(t *testing.T) {
	w := stagedWorld(t)
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal("waiting for stage -1: the health of 1 object is not known yet"))
	w.observe(health("db", corev1alpha1.HealthDegraded, "container crashes"))
	result := w.pass()
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal("waiting for stage -1: Deployment ns/db is degraded: container crashes"))
	w.Expect(result.RequeueAfter).To(BeNumerically("<=", defaultTimeout+time.Second))

	w.clock.SetTime(w.clock.Now().Add(defaultTimeout))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HealthTimeout"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix("stage -1 is not healthy after 5m0s: Deployment ns/db is degraded"))
}

// deaf has the target answer no question about objects until it is back.
func (w *world) deaf() (back func()) {
	w.target.dynamic.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("away")
	})
	return func() { w.target.dynamic.ReactionChain = w.target.dynamic.ReactionChain[1:] }
}

// TestHealthThatNobodyKnows: it may not be known for good, which is not waited out. That the target does
// not answer takes no time of the stage.
func TestHealthThatNobodyKnows(t *testing.T) {
	unknown := health("db", corev1alpha1.HealthUnknown, "rule broken: no such key")
	w := stagedWorld(t)
	w.observe(unknown)
	w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", defaultTimeout+time.Second))
	w.after(defaultTimeout - time.Second)
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForStage"))
	w.after(time.Second)
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HealthTimeout"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(Equal(
		"stage -1 is not healthy after 5m0s: Deployment ns/db is unknown: rule broken: no such key"))

	w = stagedWorld(t)
	w.observe(unknown)
	w.pass()
	w.after(defaultTimeout)
	back := w.deaf()
	for range 3 {
		w.Expect(w.pass().RequeueAfter).To(Equal(longestSoon))
		w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
		w.Expect(w.message(corev1alpha1.ConditionReady)).To(HavePrefix(
			"waiting for stage -1: Deployment ns/db is unknown: rule broken: no such key; looking at Deployment ns/db: "))
		w.after(time.Hour)
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False WaitingForStage"), "it has all its time again")
		w.after(time.Hour)
	}
	back()
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HealthTimeout"))
	w.observe()
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

// TestHealthThatNobodyKnowsIsNoFailure: the observer alone may be cut off, from every target at once. What is
// known to be ill is one.
func TestHealthThatNobodyKnowsIsNoFailure(t *testing.T) {
	for _, tt := range []struct {
		name    string
		db      corev1alpha1.ObjectHealth
		history []string
	}{
		{"unknown", health("db", corev1alpha1.HealthUnknown, "the target cannot be reached"), []string{"main@1 healthy"}},
		{"ill", health("db", corev1alpha1.HealthProgressing, "1 of 2"), []string{"main@2 failed", "main@1 healthy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, newRelease(rollsBack))
			w.config.Renders = w.source
			w.source.offers("main@1", objectOf("Deployment", "db", -1, "d1"), objectOf("Deployment", "app", 0, "a1"))
			w.settle()
			w.source.offers("main@2", objectOf("Deployment", "db", -1, "d2"), objectOf("Deployment", "app", 0, "a2"))
			w.pass()
			w.target.takeCalls()
			w.observe(tt.db)
			w.pass()
			w.after(defaultTimeout)
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HealthTimeout"))
			w.Expect(w.release().Status.Sync.Attempts).To(BeZero())
			w.Expect(w.outcomes()).To(Equal(tt.history))
			w.pass()
			w.Expect(w.release().Status.Rollback != nil).To(Equal(len(tt.history) > 1))
		})
	}
}

func TestPassiveKindsAreNotWaitedFor(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "settings", -1, "s1"), objectOf("Deployment", "app", 0, "a1"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply settings", "apply app"}))
}

func TestUnchangedStagesAreNotWaitedForWithoutNeed(t *testing.T) {
	w := stagedWorld(t)
	w.observe()
	w.pass()
	w.observe()
	w.pass()
	w.target.takeCalls()
	w.source.offers("main@2", objectOf("Deployment", "db", -1, "d2"), objectOf("Deployment", "app", 0, "a1"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"), "no later stage has anything to apply")
}

func TestNewRevisionSupersedesAStuckStage(t *testing.T) {
	w := stagedWorld(t)
	w.observe(health("db", corev1alpha1.HealthDegraded, "crashes"))
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.source.offers("main@2", objectOf("Deployment", "db", -1, "d2"), objectOf("Deployment", "app", 0, "a2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply db"}))
	w.Expect(w.release().Status.Sync.StartedAt.Time.Equal(w.clock.Now())).To(BeTrue(), "its time begins anew")
	w.observe()
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply app"}))
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@2"))
	w.Expect(w.release().Status.Sync).To(BeNil())
	w.Expect(w.events()).To(ContainElement("Normal Applied main@2 applied: 2 objects"))
}

func TestDiedBetweenStages(t *testing.T) {
	w := stagedWorld(t)
	w.observe()
	reborn := newController(w.config)
	reborn.Controller = w.Controller.Controller
	w.Controller = reborn
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply app"}), "the first stage is not sent again")
}

func TestHealthyCondition(t *testing.T) {
	objects := []render.Object{objectOf("Deployment", "a", 0, "1"), objectOf("Deployment", "b", 0, "1"), objectOf("ConfigMap", "c", 0, "1")}
	tests := []struct {
		name    string
		given   []corev1alpha1.ObjectHealth
		later   time.Duration
		want    string
		message string
		outcome corev1alpha1.HistoryOutcome
	}{
		{"all healthy", nil, 0, "True Healthy", "3 objects are healthy", corev1alpha1.OutcomeHealthy},
		{"one suspended", []corev1alpha1.ObjectHealth{health("a", corev1alpha1.HealthSuspended, "")}, 0,
			"True Healthy", "2 objects are healthy, 1 suspended", corev1alpha1.OutcomeHealthy},
		{"one progressing", []corev1alpha1.ObjectHealth{health("a", corev1alpha1.HealthProgressing, "1 of 2")}, 0,
			"False Progressing", "1 of 3 objects is not healthy: Deployment ns/a is progressing: 1 of 2", corev1alpha1.OutcomeApplied},
		{"one progressing for too long", []corev1alpha1.ObjectHealth{health("a", corev1alpha1.HealthProgressing, "1 of 2")}, defaultTimeout,
			"False HealthTimeout", "after 5m0s 1 of 3 objects is not healthy: Deployment ns/a is progressing: 1 of 2", corev1alpha1.OutcomeFailed},
		{"the worst first", []corev1alpha1.ObjectHealth{health("a", corev1alpha1.HealthProgressing, ""), health("b", corev1alpha1.HealthDegraded, "crashes")}, 0,
			"False Degraded", "2 of 3 objects are not healthy: Deployment ns/b is degraded: crashes; Deployment ns/a is progressing", corev1alpha1.OutcomeApplied},
		{"degraded for too long", []corev1alpha1.ObjectHealth{health("b", corev1alpha1.HealthDegraded, "")}, defaultTimeout,
			"False Degraded", "1 of 3 objects is not healthy: Deployment ns/b is degraded", corev1alpha1.OutcomeFailed},
		{"one missing", []corev1alpha1.ObjectHealth{health("c", corev1alpha1.HealthMissing, "")}, 0,
			"False Degraded", "1 of 3 objects is not healthy: ConfigMap ns/c is missing", corev1alpha1.OutcomeApplied},
		{"one unknown", []corev1alpha1.ObjectHealth{health("c", corev1alpha1.HealthUnknown, "no answer")}, defaultTimeout,
			"Unknown Unknown", "the health of 1 of 3 objects is not known: ConfigMap ns/c is unknown: no answer", corev1alpha1.OutcomeApplied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, newRelease())
			w.source.offers("main@1", objects...)
			w.pass()
			w.observe(tt.given...)
			w.pass()
			w.clock.SetTime(w.clock.Now().Add(tt.later))
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionHealthy)).To(Equal(tt.want))
			w.Expect(w.message(corev1alpha1.ConditionHealthy)).To(Equal(tt.message))
			w.Expect(w.release().Status.History[0].Outcome).To(Equal(tt.outcome))
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"), "health does not undo what was applied")
		})
	}
}

func TestUnhealthyDoesNotStopANewRevision(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("Deployment", "a", 0, "1"))
	w.pass()
	w.observe(health("a", corev1alpha1.HealthDegraded, "crashes"))
	w.pass()
	w.target.takeCalls()
	w.source.offers("main@2", objectOf("Deployment", "a", 0, "2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.release().Status.History).To(HaveExactElements(
		HaveField("Outcome", corev1alpha1.OutcomeApplied), HaveField("Outcome", corev1alpha1.OutcomeSuperseded)))
}

func TestAilmentsAreToldByTrouble(t *testing.T) {
	away := corev1alpha1.ObjectHealth{Status: corev1alpha1.HealthUnknown, Message: "cluster edge: no answer"}
	gone := corev1alpha1.ObjectHealth{Status: corev1alpha1.HealthMissing, Message: "not in the cluster"}
	of := func(name string, health corev1alpha1.ObjectHealth) ailment {
		return ailmentOf(corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: name}, health)
	}
	NewWithT(t).Expect(ailments([]ailment{of("a", away), of("b", gone), of("c", away)})).To(Equal(
		"ConfigMap ns/b is missing; ConfigMap ns/a, ConfigMap ns/c are unknown: cluster edge: no answer"))
}
