// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/health/openapi"
)

var widgetV1 = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            metadata: {type: object, properties: {name: {type: string, maxLength: 63}}}
            spec:
              type: object
              properties:
                replicas: {type: integer, format: int32}
                paused: {type: boolean, nullable: true}
                weight: {type: number}
                selector: {type: object, additionalProperties: {type: string}}
                port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
                template: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {image: {type: string}}}}}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                half: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: integer}}}
                bare: {type: object}
            status:
              type: object
              properties:
                phase: {type: string}
                state: {type: string, enum: [Up, Down]}
                ready: {type: integer}
                since: {type: string, format: date-time}
                observedGeneration: {type: integer, format: int64}
                sizes: {type: array, items: {type: integer}}
                parts: {type: object, additionalProperties: {type: object, properties: {state: {type: string}}}}
                conditions:
                  type: array
                  items:
                    type: object
                    properties: {type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string}}
`

// widgetSchema is that of Widgets in a version.
func widgetSchema(g *WithT) *openapi.Schema {
	data, err := yaml.YAMLToJSON([]byte(widgetDefinition))
	g.Expect(err).NotTo(HaveOccurred())
	schemas, err := openapi.OfDefinition(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(schemas).To(HaveKey(widgetV1))
	return schemas[widgetV1]
}

// said are the findings about an expression.
func said(g *WithT, change func(r *extv1alpha1.HealthRule, expression string), expression string) []string {
	rule := widget()
	rule.Healthy = "true"
	change(&rule, expression)
	_, errs := Compile([]extv1alpha1.HealthRule{rule}, "HealthRuleSet/web", nil)
	g.Expect(errs).To(BeEmpty())
	findings, err := CheckTypes([]extv1alpha1.HealthRule{rule}, widgetV1, widgetSchema(g))
	g.Expect(err).NotTo(HaveOccurred())
	said := []string{}
	for _, finding := range findings {
		g.Expect(finding.Rule).To(Equal("phase"))
		said = append(said, finding.String())
	}
	return said
}

func asHealthy(r *extv1alpha1.HealthRule, expression string) { r.Healthy = expression }
func asMessage(r *extv1alpha1.HealthRule, expression string) { r.Message = expression }

func TestTypesThatDoNotFit(t *testing.T) {
	for _, test := range []struct{ name, expression, want string }{
		{"a misspelt field", `object.status.phse == "Done"`,
			`at 1:14: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`},
		{"behind has", `has(object.status.phse) && object.status.phse == "Done"`,
			`at 1:4: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`},
		{"behind a question mark", `object.?status.?Phase.orValue("") == "Done"`,
			`at 1:15: Widget.status has no field "Phase" in example.com/v1, did you mean "phase"?`},
		{"behind a question mark before", `object.?status.phse.orValue("") == "Done"`,
			`at 1:15: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`},
		{"as a key", `object.status["phse"] == "Done"`,
			`at 1:14: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`},
		{"as an optional key", `object.?status[?"phse"].orValue("") == "Done"`,
			`at 1:15: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`},
		{"behind an empty default", `object.?status.orValue({}).?phse.orValue("") == "Done"`,
			`at 1:27: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`},
		{"behind the default null", `object.?status.orValue(null).phse == "Done"`,
			`at 1:29: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`},
		{"of the whole object", `object.spec.replicas == 1 && object.state == "x"`,
			`at 1:36: Widget has no field "state" in example.com/v1; it has apiVersion, kind, metadata, spec, status`},
		{"of the metadata", `object.metadata.generatoin == object.status.observedGeneration`,
			`at 1:16: Widget.metadata has no field "generatoin" in example.com/v1, did you mean "generation"?`},
		{"of items of a list", `object.?status.conditions.orValue([]).exists(c, c.typ == "Ready" && c.status == "True")`,
			`at 1:50: Widget.status.conditions[] has no field "typ" in example.com/v1, did you mean "type"?`},
		{"of values of a map", `object.status.parts.all(p, object.status.parts[p].health == "x")`,
			`at 1:50: Widget.status.parts{} has no field "health" in example.com/v1; it has state`},
		{"of an embedded object", `object.spec.template.spec.imag == "x"`,
			`at 1:26: Widget.spec.template.spec has no field "imag" in example.com/v1, did you mean "image"?`},
		{"of the metadata of an embedded object", `object.spec.template.metadata.nme == "x"`,
			`at 1:30: Widget.spec.template.metadata has no field "nme" in example.com/v1, did you mean "name"?`},
		{"of a text", `object.status.phase.name == "x"`,
			`at 1:20: a value of type string has no field "name" in example.com/v1`},
		{"nothing like it", `object.spec.image == "x"`,
			`at 1:12: Widget.spec has no field "image" in example.com/v1; it has bare, free, half, paused, port, replicas, selector, template, weight`},
		{"told once, where it is first", `object.status.phse == "a" || object.status.phse == "b"`,
			`at 1:14: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?`},
		{"a number compared with a text", `object.spec.replicas == "3"`,
			`at 1:22: a value of type int never equals one of type string in example.com/v1`},
		{"a flag compared with a text", `object.?spec.paused.orValue(false) != "true"`,
			`at 1:36: a value of type bool never equals one of type string in example.com/v1`},
		{"an object compared with a text", `object.status == "Done"`,
			`at 1:15: a value of type Widget.status never equals one of type string in example.com/v1`},
		{"a default of another type", `object.?status.ready.orValue("") == "3"`,
			`at 1:29: found no matching overload for 'orValue' applied to 'optional_type(int).(string)' in example.com/v1`},
		{"a number among texts", `object.status.ready in ["1", "2"]`,
			`at 1:21: found no matching overload for '@in' applied to '(int, list(string))' in example.com/v1`},
		{"a function of another type", `object.spec.replicas.startsWith("1")`,
			`at 1:32: found no matching overload for 'startsWith' applied to 'int.(string)' in example.com/v1`},
		{"a date that is a text", `object.status.since < timestamp("2026-01-01T00:00:00Z")`,
			`at 1:21: found no matching overload for '_<_' applied to '(string, timestamp)' in example.com/v1`},
		{"a verdict that is a text", `object.status.phase`,
			`at 1:1: must be of type bool, is of type string in example.com/v1`},
		{"a text that an enumeration does not have", `object.status.state == "up"`,
			`at 1:24: Widget.status.state is never "up" in example.com/v1; it is one of Up, Down`},
		{"one of several", `object.?status.state.orValue("") in ["", "Up", "Gone"]`,
			`at 1:48: Widget.status.state is never "Gone" in example.com/v1; it is one of Up, Down`},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(said(g, asHealthy, test.expression)).To(Equal([]string{"expression healthy: " + test.want}))
		})
	}
}

func TestEveryFaultOfAnExpression(t *testing.T) {
	g := NewWithT(t)
	g.Expect(said(g, asHealthy, `object.status.state == "up" && object.status.phse == object.spec.imag && object.spec.replicas == ""`)).To(HaveExactElements(
		HavePrefix(`expression healthy: at 1:24: Widget.status.state is never "up"`),
		HavePrefix(`expression healthy: at 1:45: Widget.status has no field "phse"`),
		HavePrefix(`expression healthy: at 1:65: Widget.spec has no field "imag"`),
		HavePrefix(`expression healthy: at 1:95: a value of type int never equals one of type string`),
	))
}

// A schema is what a target says it is.
func TestNamesInMessages(t *testing.T) {
	g := NewWithT(t)
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("f%02d", i))
	}
	g.Expect(list([]string{"a", "b c", "", "d\ne", strings.Repeat("x", 64)})).To(Equal(`a, "b c", "", "d\ne" and 1 more`))
	g.Expect(list(many)).To(Equal("f00, f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11 and 8 more"))
	g.Expect(others("x", &openapi.Schema{Type: openapi.Object})).To(Equal("; it has none"))
}

// What works when it is evaluated must not be told of, however a schema types it.
func TestTypesThatFit(t *testing.T) {
	for _, expression := range []string{
		`object.?status.phase.orValue("") == "Done" && object.status.ready >= object.spec.replicas`,
		`object.?status.conditions.orValue([]).exists(c, c.type == "Ready" && c.?reason.orValue("") in ["A", "B"])`,
		`object.?status.orValue({}).?phase.orValue("") == ""`,
		`(has(object.status) ? object.status : {}).?phase.orValue("") == ""`,
		`object.status == {} || object.status.parts == {} || object.spec == object.spec`,
		`"phase" in object.status && object.status["phase"] == "Done" && object.?status[?"phase"].hasValue()`,
		`["phase", "state"].all(f, f in object.status && object.status[f] != "")`,
		`object.status.all(key, key != "") && size(object.status) > 0 && object.status.exists(k, object.status[k] == "x")`,
		`object.status.parts.all(name, name.startsWith("p") && object.status.parts[name].state == "Up")`,
		`object.status.parts["a"].state == "Up" && object.?status.parts[?"b"].state.orValue("") == "Down"`,
		`object.spec.selector.app == "x" && "app" in object.spec.selector && object.spec.?selector[?"a/b"].orValue("") == ""`,
		`object.spec.port == 80 || object.spec.port == "http" || string(object.spec.port) == "80"`,
		`object.spec.free.anything.at.all == 1 && object.spec.half.known == 1 && object.spec.half.other == "x" && object.spec.bare.x == 1`,
		`object.spec.weight == 1 && object.spec.weight != 0.5 && object.spec.weight > 1 && object.spec.weight in [1, 2]`,
		`object.spec.replicas == 1.0 && object.spec.replicas in [1.0]`,
		`object.spec.paused == null || object.status.phase != null && null != object.status || object.?status.phase.orValue(null) == null`,
		`(has(object.status.phase) ? object.status.phase : null) == "Done"`,
		`timestamp(object.status.since) < timestamp("2026-01-01T00:00:00Z") && timestamp(object.metadata.creationTimestamp).getFullYear() > 2000`,
		`object.metadata.labels["a"] == "b" && object.metadata.?annotations[?"x/y"].orValue("") == "" && object.metadata.ownerReferences.size() == 0`,
		`object.metadata.?generation.orValue(0) == object.?status.observedGeneration.orValue(0) && object.kind == "Widget"`,
		`object.spec.template.metadata.labels["a"] == "b" && object.spec.template.kind == "Pod" && object.spec.template.spec.image == "x"`,
		`object.status.sizes.sort()[0] == 1 && math.greatest(object.status.sizes) == 3 && sets.contains(object.status.sizes, [1])`,
		`object.status.sizes.map(s, s * 2).filter(s, s > 2) == [4] && object.status.sizes.all(s, s > 0)`,
		`object.?status.state.orValue("") in ["", "Up"] || object.status.state == object.status.phase`,
		`has(dyn(object.status).phse) && dyn(object.status).phse == "Done"`,
	} {
		t.Run(expression, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(said(g, asHealthy, expression)).To(BeEmpty())
		})
	}
	g := NewWithT(t)
	g.Expect(said(g, asMessage, `object.?status.conditions.orValue([]).map(c, [c.type + " is " + c.status, string(c.?reason.orValue("")),
		"", string(object.?status.ready.orValue(0))].filter(t, t != "").join(": ")).join("; ")`)).To(BeEmpty())
	g.Expect(said(g, asMessage, `object.spec.replicas`)).To(Equal([]string{`expression message: at 1:1: must be of type string, is of type int in example.com/v1`}))
}

func TestTypesOfOtherKinds(t *testing.T) {
	wrong := func(change ...func(r *extv1alpha1.HealthRule)) extv1alpha1.HealthRule {
		return widget(append([]func(r *extv1alpha1.HealthRule){func(r *extv1alpha1.HealthRule) { r.Healthy = `object.status.phse == "Done"` }}, change...)...)
	}
	for _, test := range []struct {
		name string
		rule extv1alpha1.HealthRule
		want int
	}{
		{"every version", wrong(), 1},
		{"the version", wrong(func(r *extv1alpha1.HealthRule) { r.Target.Version = "v1" }), 1},
		{"another version", wrong(func(r *extv1alpha1.HealthRule) { r.Target.Version = "v2" }), 0},
		{"another kind", wrong(func(r *extv1alpha1.HealthRule) { r.Target.Kind = "Gadget" }), 0},
		{"another group", wrong(func(r *extv1alpha1.HealthRule) { r.Target.Group = "" }), 0},
		{"an expression that does not compile", wrong(func(r *extv1alpha1.HealthRule) { r.Degraded = `object.status.phse +` }), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			findings, err := CheckTypes([]extv1alpha1.HealthRule{test.rule}, widgetV1, widgetSchema(g))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(findings).To(HaveLen(test.want))
		})
	}
}

// A schema may say that a list consists of such lists.
func TestTypesOfASchemaWithoutEnd(t *testing.T) {
	g := NewWithT(t)
	endless := &openapi.Schema{Type: openapi.List}
	endless.Elem = endless
	tree := &openapi.Schema{Type: openapi.Object, Fields: map[string]*openapi.Schema{"endless": endless}}
	tree.Fields["child"] = tree
	rule := widget(func(r *extv1alpha1.HealthRule) {
		r.Healthy = `object.endless[0][0][0] == [] && object.child.child.child.chld == 1`
	})
	findings, err := CheckTypes([]extv1alpha1.HealthRule{rule}, widgetV1, tree)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(findings).To(HaveLen(1))
	g.Expect(findings[0].Message).To(HavePrefix(`Widget.child.child.child has no field "chld"`))
}

func TestFindingsOfEveryVersion(t *testing.T) {
	g := NewWithT(t)
	at := func(column int, message string) Finding {
		return Finding{Rule: "r", Field: "healthy", Line: 1, Column: column, Message: message}
	}
	v1, v2 := []Finding{at(1, "one in v1"), at(5, "five in v1")}, []Finding{at(9, "nine in v2"), at(5, "five in v2")}
	g.Expect(Everywhere(v1, v2)).To(Equal([]Finding{at(5, "five in v1")}))
	g.Expect(Everywhere(v1)).To(Equal(v1))
	g.Expect(Everywhere(v1, nil)).To(BeEmpty())
	g.Expect(Everywhere()).To(BeEmpty())
	g.Expect(v1).To(HaveLen(2), "what is given must not be changed")
}
