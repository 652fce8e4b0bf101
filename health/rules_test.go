// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
)

// widget is a rule for Widgets that a test changes.
func widget(change ...func(*extv1alpha1.HealthRule)) extv1alpha1.HealthRule {
	rule := extv1alpha1.HealthRule{
		Name:    "phase",
		Target:  extv1alpha1.HealthRuleTarget{Group: "example.com", Kind: "Widget"},
		Healthy: `object.status.phase == "Done"`,
	}
	for _, f := range change {
		f(&rule)
	}
	return rule
}

func compile(t *testing.T, origin string, rules ...extv1alpha1.HealthRule) *RuleSet {
	t.Helper()
	set, errs := Compile(rules, origin, field.NewPath("spec", "rules"))
	NewWithT(t).Expect(errs).To(BeEmpty())
	return set
}

func TestRuleVerdicts(t *testing.T) {
	all := func(r *extv1alpha1.HealthRule) {
		r.Degraded = `object.status.phase == "Broken"`
		r.Suspended = `object.spec.?paused.orValue(false)`
		r.Progressing = `object.status.phase == "Working"`
		r.Message = `"phase " + object.status.phase`
	}
	for _, test := range []struct {
		name   string
		rule   extv1alpha1.HealthRule
		object string
		want   Result
	}{{
		name:   "healthy",
		rule:   widget(all),
		object: `{spec: {}, status: {phase: Done}}`,
		want:   Result{Status: corev1alpha1.HealthHealthy, Message: "phase Done"},
	}, {
		name:   "degraded goes before suspended",
		rule:   widget(all),
		object: `{spec: {paused: true}, status: {phase: Broken}}`,
		want:   Result{Status: corev1alpha1.HealthDegraded, Message: "phase Broken"},
	}, {
		name:   "suspended goes before healthy",
		rule:   widget(all),
		object: `{spec: {paused: true}, status: {phase: Done}}`,
		want:   Result{Status: corev1alpha1.HealthSuspended, Message: "phase Done"},
	}, {
		name:   "progressing",
		rule:   widget(all),
		object: `{spec: {}, status: {phase: Working}}`,
		want:   Result{Status: corev1alpha1.HealthProgressing, Message: "phase Working"},
	}, {
		name:   "none holds",
		rule:   widget(),
		object: `{status: {phase: Odd}}`,
		want:   Result{Status: corev1alpha1.HealthProgressing, Message: "no expression of the rule holds"},
	}, {
		name:   "the rule decides, whatever the conditions and generations say",
		rule:   widget(),
		object: `{metadata: {generation: 3}, status: {phase: Done, observedGeneration: 1, conditions: [{type: Stalled, status: "True"}]}}`,
		want:   Result{Status: corev1alpha1.HealthHealthy},
	}, {
		name:   "a field that is absent",
		rule:   widget(),
		object: `{spec: {}}`,
		want:   Result{Status: corev1alpha1.HealthUnknown, Message: `expression "healthy" of the rule failed: no such key: status`},
	}, {
		name:   "a value that is no bool",
		rule:   widget(func(r *extv1alpha1.HealthRule) { r.Healthy = `object.status.phase` }),
		object: `{status: {phase: Done}}`,
		want:   Result{Status: corev1alpha1.HealthUnknown, Message: `expression "healthy" of the rule failed: the value is of type string, not bool`},
	}, {
		name:   "a message that fails leaves the verdict",
		rule:   widget(func(r *extv1alpha1.HealthRule) { r.Message = `object.status.text` }),
		object: `{status: {phase: Done}}`,
		want:   Result{Status: corev1alpha1.HealthHealthy, Message: `expression "message" of the rule failed: no such key: text`},
	}, {
		name: "libraries: strings, lists, math, sets, optionals, numbers of two types",
		rule: widget(func(r *extv1alpha1.HealthRule) {
			r.Healthy = `object.status.phase.lowerAscii() == "done" && object.status.list.sort()[0] == 1 &&
				math.greatest(object.status.list) == 3 && sets.contains(object.status.list, [2]) && object.status.list[0] < 3.5`
		}),
		object: `{status: {phase: DONE, list: [3, 1, 2]}}`,
		want:   Result{Status: corev1alpha1.HealthHealthy},
	}, {
		name:   "being deleted goes before rules",
		rule:   widget(),
		object: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Done}}`,
		want:   Result{Status: corev1alpha1.HealthProgressing, Message: "being deleted", Rule: "generic/deletion"},
	}} {
		t.Run(test.name, func(t *testing.T) {
			obj := objectFromYAML(t, `{apiVersion: example.com/v1, kind: Widget, `+strings.TrimPrefix(test.object, "{"))
			if test.want.Rule == "" {
				test.want.Rule = "HealthRuleSet/web/phase"
			}
			got := NewAssessor(compile(t, "HealthRuleSet/web", test.rule)).Assess(obj)
			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
}

func TestRuleCostLimit(t *testing.T) {
	g := NewWithT(t)
	list := make([]any, 300)
	for i := range list {
		list[i] = int64(i)
	}
	obj := objectFromYAML(t, `{apiVersion: example.com/v1, kind: Widget}`)
	obj.Object["list"] = list
	set := compile(t, "HealthRuleSet/web", widget(func(r *extv1alpha1.HealthRule) {
		r.Healthy = `object.list.all(a, object.list.all(b, object.list.all(c, a + b + c >= 0)))`
	}))

	got := NewAssessor(set).Assess(obj)

	g.Expect(got.Status).To(Equal(corev1alpha1.HealthUnknown))
	g.Expect(got.Message).To(ContainSubstring("cost limit exceeded"))
}

func TestRuleMatching(t *testing.T) {
	const object = `{apiVersion: example.com/v1, kind: Widget, metadata: {labels: {tier: web}}, status: {phase: Done}}`
	for _, test := range []struct {
		name   string
		target extv1alpha1.HealthRuleTarget
		want   string
	}{
		{"group and kind", extv1alpha1.HealthRuleTarget{Group: "example.com", Kind: "Widget"}, "HealthRuleSet/web/phase"},
		{"version", extv1alpha1.HealthRuleTarget{Group: "example.com", Version: "v1", Kind: "Widget"}, "HealthRuleSet/web/phase"},
		{"labels", extv1alpha1.HealthRuleTarget{Group: "example.com", Kind: "Widget",
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}}, "HealthRuleSet/web/phase"},
		{"another group", extv1alpha1.HealthRuleTarget{Kind: "Widget"}, "generic/conditions"},
		{"another kind", extv1alpha1.HealthRuleTarget{Group: "example.com", Kind: "Gadget"}, "generic/conditions"},
		{"another version", extv1alpha1.HealthRuleTarget{Group: "example.com", Version: "v2", Kind: "Widget"}, "generic/conditions"},
		{"other labels", extv1alpha1.HealthRuleTarget{Group: "example.com", Kind: "Widget",
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "db"}}}, "generic/conditions"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := compile(t, "HealthRuleSet/web", widget(func(r *extv1alpha1.HealthRule) { r.Target = test.target }))
			got := NewAssessor(set).Assess(objectFromYAML(t, object))
			NewWithT(t).Expect(got.Rule).To(Equal(test.want))
		})
	}
}

func TestAssessorOrder(t *testing.T) {
	g := NewWithT(t)
	renamed := func(name string) extv1alpha1.HealthRule {
		return widget(func(r *extv1alpha1.HealthRule) { r.Name = name })
	}
	local := compile(t, "HealthRuleSet/web", renamed("first"), renamed("second"))
	global := compile(t, "GlobalHealthRuleSet/all", renamed("third"))
	obj := objectFromYAML(t, `{apiVersion: example.com/v1, kind: Widget, status: {phase: Done}}`)

	g.Expect(NewAssessor(local, global).Assess(obj).Rule).To(Equal("HealthRuleSet/web/first"))
	g.Expect(NewAssessor(global, local).Assess(obj).Rule).To(Equal("GlobalHealthRuleSet/all/third"))
	g.Expect(NewAssessor(nil, global).Assess(obj).Rule).To(Equal("GlobalHealthRuleSet/all/third"))
	g.Expect(NewAssessor().Assess(obj).Rule).To(Equal("generic/conditions"))
}

func TestExisting(t *testing.T) {
	secretRule := widget(func(r *extv1alpha1.HealthRule) { r.Target = extv1alpha1.HealthRuleTarget{Kind: "Secret"} })
	for _, test := range []struct {
		name  string
		kind  schema.GroupKind
		rules []extv1alpha1.HealthRule
		want  string
	}{
		{"configuration", schema.GroupKind{Kind: "Secret"}, nil, "builtin/core/Secret"},
		{"a rule for another kind", schema.GroupKind{Kind: "Secret"}, []extv1alpha1.HealthRule{widget()}, "builtin/core/Secret"},
		{"a rule for the kind", schema.GroupKind{Kind: "Secret"}, []extv1alpha1.HealthRule{secretRule}, ""},
		{"a kind that is looked into", schema.GroupKind{Group: "apps", Kind: "Deployment"}, nil, ""},
		{"a kind of a group of which the others are not", schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}, nil, ""},
		{"a quota, which has to be counted first", schema.GroupKind{Kind: "ResourceQuota"}, nil, ""},
		{"a custom resource", schema.GroupKind{Group: "example.com", Kind: "Secret"}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got, ok := NewAssessor(nil, compile(t, "HealthRuleSet/web", test.rules...)).Existing(test.kind)
			g.Expect(ok).To(Equal(test.want != ""))
			g.Expect(got.Rule).To(Equal(test.want))
			if ok {
				g.Expect(got.Status).To(Equal(corev1alpha1.HealthHealthy))
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	for _, test := range []struct {
		name        string
		given       extv1alpha1.HealthRule
		wantField   string
		wantMessage string
	}{{
		name:        "syntax",
		given:       widget(func(r *extv1alpha1.HealthRule) { r.Degraded = `object.status ==` }),
		wantField:   "spec.rules[0].degraded",
		wantMessage: "Syntax error",
	}, {
		name:        "unknown variable",
		given:       widget(func(r *extv1alpha1.HealthRule) { r.Suspended = `self.spec.suspend` }),
		wantField:   "spec.rules[0].suspended",
		wantMessage: "undeclared reference to 'self'",
	}, {
		name:        "type of a verdict",
		given:       widget(func(r *extv1alpha1.HealthRule) { r.Healthy = `"yes"` }),
		wantField:   "spec.rules[0].healthy",
		wantMessage: "must be of type bool, is of type string",
	}, {
		name:        "type of a message",
		given:       widget(func(r *extv1alpha1.HealthRule) { r.Message = `1 + 1` }),
		wantField:   "spec.rules[0].message",
		wantMessage: "must be of type string, is of type int",
	}, {
		name: "label selector",
		given: widget(func(r *extv1alpha1.HealthRule) {
			r.Target.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
		}),
		wantField:   "spec.rules[0].target.labelSelector",
		wantMessage: "not a valid label selector operator",
	}} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			set, errs := Compile([]extv1alpha1.HealthRule{test.given}, "HealthRuleSet/web", field.NewPath("spec", "rules"))
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Type).To(Equal(field.ErrorTypeInvalid))
			g.Expect(errs[0].Field).To(Equal(test.wantField))
			g.Expect(errs[0].Detail).To(ContainSubstring(test.wantMessage))

			got := NewAssessor(set).Assess(objectFromYAML(t, `{apiVersion: example.com/v1, kind: Widget, status: {phase: Done}}`))
			g.Expect(got.Status).To(Equal(corev1alpha1.HealthUnknown), "a faulty rule must not leave its objects to other rules")
			g.Expect(got.Rule).To(Equal("HealthRuleSet/web/phase"))
			g.Expect(got.Message).To(ContainSubstring(test.wantMessage))
		})
	}
}

func TestDoubtsAreToldOfWhatIsNotSettled(t *testing.T) {
	rule := widget(func(r *extv1alpha1.HealthRule) {
		r.Degraded, r.Message = `object.status.phase == "Broken"`, `object.status.?text.orValue("")`
	})
	for _, test := range []struct {
		name, object, message string
	}{
		{"on its way", `{status: {phase: New}}`, "the rule may be wrong: phse"},
		{"on its way, with a message", `{status: {phase: New, text: starts}}`, "starts; the rule may be wrong: phse"},
		{"not known", `{}`, `expression "degraded" of the rule failed: no such key: status; the rule may be wrong: phse`},
		{"well", `{status: {phase: Done, text: done}}`, "done"},
		{"broken", `{status: {phase: Broken, text: broken}}`, "broken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			obj := objectFromYAML(t, `{apiVersion: example.com/v1, kind: Widget, `+strings.TrimPrefix(test.object, "{"))
			set := compile(t, "HealthRuleSet/web", rule)
			before := NewAssessor(set).Assess(obj)
			got := NewAssessor(set.Doubting(map[string]string{"phase": "phse", "other": "x"})).Assess(obj)
			g.Expect(got.Message).To(Equal(test.message))
			g.Expect(got.Status).To(Equal(before.Status))
			g.Expect(got.Rule).To(Equal("HealthRuleSet/web/phase"))
			g.Expect(NewAssessor(set).Assess(obj)).To(Equal(before), "the set itself must not be changed")
			g.Expect(NewAssessor(set.Doubting(nil)).Assess(obj)).To(Equal(before))
		})
	}
	g := NewWithT(t)
	set := compile(t, "HealthRuleSet/web", rule)
	g.Expect(set.Has(schema.GroupKind{Group: "example.com", Kind: "Widget"})).To(BeTrue())
	g.Expect(set.Has(schema.GroupKind{Kind: "Widget"})).To(BeFalse())
}

func TestRulesDoNotSeeSecretValues(t *testing.T) {
	for _, test := range []struct{ name, message, want string }{
		{"data", `"token " + object.data.token`, "token "},
		{"data that was written as text", `"token " + object.stringData.token`, "token "},
		{"a field that no Secret has", `"token " + object.dat.token`, "token "},
		{"a copy in an annotation", `"token " + object.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, "token "},
		{"what tells no value", `object.metadata.name + " " + object.metadata.labels.app + " " + object.type`, "login shop Opaque"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			set := compile(t, "HealthRuleSet/web", extv1alpha1.HealthRule{
				Name:    "token",
				Target:  extv1alpha1.HealthRuleTarget{Kind: "Secret"},
				Healthy: `has(object.data.token) && object.metadata.name == "login"`,
				Message: test.message,
			})
			const manifest = `{apiVersion: v1, kind: Secret, type: Opaque, data: {token: Y2FuYXJ5}, stringData: {token: canary}, dat: {token: canary},
				metadata: {name: login, labels: {app: shop}, annotations: {kubectl.kubernetes.io/last-applied-configuration: canary}}}`
			obj := objectFromYAML(t, manifest)

			got := NewAssessor(set).Assess(obj)

			g.Expect(got).To(Equal(Result{Status: corev1alpha1.HealthHealthy, Message: test.want, Rule: "HealthRuleSet/web/token"}))
			g.Expect(obj).To(Equal(objectFromYAML(t, manifest)), "the object must not be changed")
		})
	}
}

func TestAssessorIsSafeForConcurrentUse(t *testing.T) {
	g := NewWithT(t)
	assessor := NewAssessor(compile(t, "HealthRuleSet/web", widget()))
	obj := objectFromYAML(t, `{apiVersion: example.com/v1, kind: Widget, status: {phase: Done}}`)
	results := make([]Result, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = assessor.Assess(obj) })
	}
	wg.Wait()
	g.Expect(results).To(HaveEach(HaveField("Status", corev1alpha1.HealthHealthy)))
}
