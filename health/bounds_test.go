// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
)

// What a rule says is kept for each object: it is cut, and a rule that takes too much work says so.
func TestRulesAreBounded(t *testing.T) {
	g := NewWithT(t)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"},
		"data": map[string]any{"x": strings.Repeat("x", 1<<20)},
	}}
	assess := func(rule extv1alpha1.HealthRule) Result {
		rule.Name, rule.Target = "a", extv1alpha1.HealthRuleTarget{Kind: "ConfigMap"}
		set, errs := Compile([]extv1alpha1.HealthRule{rule}, "HealthRuleSet/a", field.NewPath("spec", "rules"))
		g.Expect(errs).To(BeEmpty())
		return NewAssessor(set).Assess(object)
	}
	long := assess(extv1alpha1.HealthRule{Healthy: "true", Message: "object.data.x"})
	g.Expect(long.Status).To(Equal(corev1alpha1.HealthHealthy))
	g.Expect(len(long.Message)).To(And(BeNumerically(">", 1000), BeNumerically("<", 1100)))
	heavy := assess(extv1alpha1.HealthRule{Healthy: `object.data.x.replace("", object.data.x) == ""`})
	g.Expect(heavy.Status).To(Equal(corev1alpha1.HealthUnknown))
	g.Expect(heavy.Message).To(ContainSubstring("cost limit exceeded"))
}
