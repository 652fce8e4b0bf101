// SPDX-License-Identifier: Apache-2.0

package ruletest

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
)

// set is a manifest of a rule set with the given rules.
func set(kind, name string, rules ...string) string {
	return "apiVersion: extensions.convoy.kumodo.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec:\n  rules:\n" + strings.Join(rules, "")
}

// rule is a rule of a manifest, with lines of fields.
func rule(name string, fields ...string) string {
	text := "    - name: " + name + "\n      target: {group: example.com, kind: Widget}\n"
	for _, field := range fields {
		text += "      " + field + "\n"
	}
	return text
}

func TestReadRulesOrder(t *testing.T) {
	g := NewWithT(t)
	healthy := `healthy: "true"`
	sets, err := ReadRules(
		File{Name: "a.yaml", Data: []byte(set("GlobalHealthRuleSet", "all", rule("global", healthy)) + "---\n" + set("HealthRuleSet", "web", rule("second", healthy)))},
		File{Name: "b.json", Data: []byte(`{"apiVersion": "v1", "kind": "List", "items": [
			{"apiVersion": "extensions.convoy.kumodo.io/v1alpha1", "kind": "HealthRuleSet", "metadata": {"name": "app"},
			 "spec": {"rules": [{"name": "first", "target": {"group": "example.com", "kind": "Widget"}, "healthy": "true"}]}}]}`)},
		File{Name: "kustomization.yaml", Data: []byte("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n")},
		File{Name: "empty.yaml", Data: []byte("# nothing\n---\n")},
	)
	g.Expect(err).NotTo(HaveOccurred())
	origins := []string{}
	for _, set := range sets {
		origins = append(origins, set.Origin())
	}
	g.Expect(origins).To(Equal([]string{"HealthRuleSet/app", "HealthRuleSet/web", "GlobalHealthRuleSet/all"}))

	objects, err := ReadObjects(File{Name: "w.yaml", Data: []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Judge(Assessor(sets), objects).Objects[0].Rule).To(Equal("HealthRuleSet/app/first"))
}

func TestReadRulesFaults(t *testing.T) {
	many := make([]string, extv1alpha1.MaxRules+1)
	long := make([]string, 40)
	for i := range many {
		many[i] = rule(fmt.Sprintf("r%d", i), `healthy: "true"`)
	}
	for i := range long {
		long[i] = rule(fmt.Sprintf("r%d", i), `healthy: object.a == "`+strings.Repeat("x", 1800)+`"`)
	}
	for _, test := range []struct {
		name, given string
		want        []string
	}{
		{
			"an expression of the second rule in the second document",
			"# first\n---\n" + set("HealthRuleSet", "web", rule("a", `healthy: "true"`), rule("b", "degraded: >-", "  object.spec ==")),
			[]string{`x.yaml:13: HealthRuleSet/web: rule "b": expression degraded: at 1:15: Syntax error:`, `near "object.spec =="`},
		},
		{
			"a type, late in an expression",
			set("HealthRuleSet", "web", rule("a", "message: >-", `  object.some.long.field.that.comes.first == 1 ? "a" : string(undeclared) + "a long text behind it"`, `healthy: "true"`)),
			[]string{`x.yaml:8: HealthRuleSet/web: rule "a": expression message: at 1:61: undeclared reference to 'undeclared' (in container ''), near "== 1 ? \"a\" : string(undeclared) + \"a long text behind it\""`},
		},
		{"two faults", set("HealthRuleSet", "web", rule("a", `healthy: '"text"'`, "degraded: 1 + 1")), []string{
			`rule "a": expression degraded: must be of type bool, is of type int`, `rule "a": expression healthy: must be of type bool, is of type string`,
		}},
		{"no YAML, in the second document", "a: 1\nkind: A\n---\na: b: c\n", []string{"x.yaml:4: "}},
		{"no object", "- a\n", []string{"x.yaml:1: no Kubernetes object: "}},
		{"another kind", "apiVersion: v1\nkind: Pod\n", []string{"x.yaml:2: a Pod is neither a HealthRuleSet nor a GlobalHealthRuleSet"}},
		{"another version", "apiVersion: extensions.convoy.kumodo.io/v2\nkind: HealthRuleSet\n", []string{`x.yaml:1: HealthRuleSet.extensions.convoy.kumodo.io has no version "v2", only v1alpha1`}},
		{"an unknown field", set("HealthRuleSet", "web", rule("a", `health: "true"`)), []string{`x.yaml:1: HealthRuleSet/web: `, `unknown field`, `health`}},
		{"the same set twice", set("HealthRuleSet", "web", rule("a", `healthy: "true"`)) + "---\n" + set("HealthRuleSet", "web", rule("a", `healthy: "true"`)), []string{"x.yaml:10: HealthRuleSet/web is there already, at x.yaml:1"}},
		{"the same rule twice", set("HealthRuleSet", "web", rule("a", `healthy: "true"`), rule("a", `healthy: "true"`)), []string{`x.yaml:9: HealthRuleSet/web: rule "a" is there already`}},
		{"no expression", set("HealthRuleSet", "web", rule("a", `message: '"b"'`)), []string{`x.yaml:6: HealthRuleSet/web: rule "a": has none of healthy, progressing, degraded and suspended`}},
		{"no kind", set("HealthRuleSet", "web", "    - name: a\n      target: {group: example.com}\n      healthy: \"true\"\n"), []string{`x.yaml:7: HealthRuleSet/web: rule "a": target: has no kind`}},
		{"a name", set("HealthRuleSet", "web", rule("A_b", `healthy: "true"`)), []string{`x.yaml:6: HealthRuleSet/web: name "A_b" of a rule: `}},
		{"a label selector", set("HealthRuleSet", "web", "    - name: a\n      target:\n        kind: Widget\n        labelSelector: {matchExpressions: [{key: a, operator: Like}]}\n      healthy: \"true\"\n"), []string{`x.yaml:9: HealthRuleSet/web: rule "a": target.labelSelector: "Like" is not a valid label selector operator`}},
		{"too many rules", set("HealthRuleSet", "web", many...), []string{`x.yaml:6: HealthRuleSet/web: a set has at most 256 rules, not 257`}},
		{"a long expression", set("HealthRuleSet", "web", rule("a", `healthy: object.a == "`+strings.Repeat("x", 2048)+`"`)), []string{`x.yaml:8: HealthRuleSet/web: rule "a": expression healthy: has 2062 bytes, at most 2048 are possible`}},
		{"long in sum", set("HealthRuleSet", "web", long...), []string{`x.yaml:6: HealthRuleSet/web: all expressions together have 72560 bytes, at most 65536 are possible: divide the set into several`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := ReadRules(File{Name: "x.yaml", Data: []byte(test.given)})
			g.Expect(err).To(HaveOccurred())
			for _, want := range test.want {
				g.Expect(err.Error()).To(ContainSubstring(want))
			}
			g.Expect(err.Error()).NotTo(ContainSubstring("<input>"))
		})
	}
}

func TestReadObjects(t *testing.T) {
	g := NewWithT(t)
	objects, err := ReadObjects(
		File{Name: "a.yaml", Data: []byte("\n--- # first\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n- {apiVersion: v1, kind: Pod, metadata: {name: c}}\n")},
		File{Name: "b.json", Data: []byte(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "d", "generation": 3}}`)},
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(4))
	g.Expect(objects[1].GetKind() + objects[2].GetName()).To(Equal("Secretc"))
	g.Expect(objects[3].GetGeneration()).To(BeEquivalentTo(3))

	report := Judge(Assessor(nil), objects)
	g.Expect(report.Status).To(Equal(corev1alpha1.HealthProgressing))
	g.Expect(report.Summary).To(Equal(corev1alpha1.HealthSummary{Healthy: 3, Progressing: 1}))
	g.Expect(report.Objects[2].ObjectKey).To(Equal(corev1alpha1.ObjectKey{Version: "v1", Kind: "Pod", Name: "c"}))

	_, err = ReadObjects(File{Name: "c.yaml", Data: []byte("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1}\n")})
	g.Expect(err).To(MatchError(ContainSubstring("c.yaml:4: no Kubernetes object")))
}
