// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/health"
)

// What clusters of a namespace publish is told in that namespace only.
func TestGlobalRulesQuoteNoSchemas(t *testing.T) {
	w := newTypeWorld(t, misspeltRule(`object.status.phase == "Done"`))
	local := misspeltRule(`object.status.phase == "New"`)
	global := &extv1alpha1.GlobalHealthRuleSet{
		ObjectMeta: metav1.ObjectMeta{Name: "all", UID: "all", Generation: 1},
		Spec:       extv1alpha1.HealthRuleSetSpec{Rules: local.Spec.Rules},
	}
	w.Expect(w.sets.Delete(local)).To(Succeed())
	w.Expect(w.global.Add(global)).To(Succeed())
	w.Expect(w.client.Tracker().Add(global)).To(Succeed())
	w.publish("one", map[string]string{"v1": schemaOfWidgets("v1", "phase")})
	judge := func() (message, condition string) {
		object, err := w.client.Tracker().Get(extv1alpha1.SchemeGroupVersion.WithResource("globalhealthrulesets"), "", "all")
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(w.global.Update(object)).To(Succeed())
		w.judge()
		w.awaitTypeChecks()
		w.judge()
		object, err = w.client.Tracker().Get(extv1alpha1.SchemeGroupVersion.WithResource("globalhealthrulesets"), "", "all")
		w.Expect(err).NotTo(HaveOccurred())
		if found := meta.FindStatusCondition(object.(*extv1alpha1.GlobalHealthRuleSet).Status.Conditions, conditionMistyped); found != nil {
			condition = found.Message
		}
		return w.inventory().Status.Health[0].Message, condition
	}
	message, condition := judge()
	own := "no expression of the rule holds; the rule may be wrong: " + misspelt
	w.Expect(message).To(Equal(own))
	w.Expect(condition).To(Equal(`correct the rule, or read with dyn() what objects have nevertheless: rule "phase": expression degraded: at 1:15: does not fit any of the schemas of Widget.example.com that clusters publish (1)`))

	// elsewhere is what is found with the schema of another namespace.
	kind := entry(widgetReady, "").GroupVersionKind()
	source := w.health.Rules.sources(w.release())[0]
	elsewhere := func(findings ...health.Finding) {
		check := &typeCheck{
			key:  clusterKey{cluster: types.NamespacedName{Namespace: "before", Name: "theirs"}},
			sets: map[schema.GroupVersionKind]map[types.UID]ruleSource{kind: {source.uid: source}},
		}
		w.health.Rules.types.learn(check, &published{hashes: map[schema.GroupVersion]string{kind.GroupVersion(): "two"}},
			map[types.UID]map[schemaKey]verdict{source.uid: {{"before", kind, "two"}: {known: true, findings: findings}}}, false, w.clock.Now())
		w.Expect(w.health.tellTypes(t.Context(), source)).To(Succeed())
	}
	elsewhere(health.Finding{Rule: "phase", Field: "degraded", Line: 1, Column: 15, Message: "theirs"})
	message, condition = judge()
	w.Expect(message).To(Equal(own))
	w.Expect(condition).To(HaveSuffix("(2)"))
	elsewhere()
	message, condition = judge()
	w.Expect(message).To(Equal(own), "another one's operator is no help here")
	w.Expect(condition).To(BeEmpty(), "but the rule has its use")
}
