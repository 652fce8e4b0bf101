// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// TestIgnoredFields applies a Widget with size 2, then one with size 2 and another colour,
// where /spec/size is ignored.
func TestIgnoredFields(t *testing.T) {
	widget := func(colour string) render.Object {
		return rendered("{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w, namespace: shop}, spec: {size: 2, colour: " + colour + "}}")
	}
	tests := []struct {
		name     string
		between  func(s *apiServer) // what happens between the two
		wantSize any
		wantSent bool // size is in the second request
	}{
		{"still as created: the server must not fall back to a default", func(*apiServer) {}, int64(2), true},
		{"another manager took it over", func(s *apiServer) {
			scaled := s.get(widgetPath).DeepCopy()
			_ = unstructured.SetNestedField(scaled.Object, int64(5), "spec", "size")
			s.put(widgetPath, "autoscaler", scaled)
		}, int64(5), false},
		{"another manager removed it", func(s *apiServer) {
			scaled := s.get(widgetPath).DeepCopy()
			unstructured.RemoveNestedField(scaled.Object, "spec", "size")
			s.put(widgetPath, "autoscaler", scaled)
		}, nil, false},
		{"the object is gone", func(s *apiServer) { s.drop(widgetPath) }, int64(2), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release(ignoring("/spec/size"))), widget("red"))
			tt.between(s)
			var sent any
			s.before = func(r request) {
				if r.verb == "apply" {
					sent = r.body["spec"].(map[string]any)["size"]
				}
			}

			apply1(t, applier(s, release(ignoring("/spec/size")), e), widget("blue"))

			g.Expect(sent != nil).To(Equal(tt.wantSent))
			want := map[string]any{"colour": "blue"}
			if tt.wantSize != nil {
				want["size"] = tt.wantSize
			}
			g.Expect(s.get(widgetPath).Object["spec"]).To(Equal(want))
		})
	}
}

func TestIgnoreRules(t *testing.T) {
	widget := rendered("{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w, namespace: shop, labels: {tier: web}}}").Object
	rule := func(target corev1alpha1.ObjectSelector, paths ...string) *corev1alpha1.DriftSpec {
		return &corev1alpha1.DriftSpec{Ignore: []corev1alpha1.DriftIgnore{{Target: target, Paths: paths}}}
	}
	tests := []struct {
		name  string
		given *corev1alpha1.DriftSpec
		want  []pointer
		err   string
	}{
		{"no drift spec", nil, nil, ""},
		{"an empty target selects all", rule(corev1alpha1.ObjectSelector{}, "/a", "/b/c"), []pointer{{"a"}, {"b", "c"}}, ""},
		{"a target that fits", rule(corev1alpha1.ObjectSelector{Kind: "Widget", LabelSelector: "tier=web"}, "/a"), []pointer{{"a"}}, ""},
		{"a target that does not", rule(corev1alpha1.ObjectSelector{Kind: "Gadget"}, "/a"), nil, ""},
		{"escapes", rule(corev1alpha1.ObjectSelector{}, "/metadata/annotations/a.b~1c~0d"), []pointer{{"metadata", "annotations", "a.b/c~d"}}, ""},
		{"no pointer", rule(corev1alpha1.ObjectSelector{}, "/a", "spec.replicas"), nil, `spec.drift.ignore[0].paths[1]: "spec.replicas" is not a JSON pointer to a field, such as /spec/replicas`},
		{"no selector", rule(corev1alpha1.ObjectSelector{LabelSelector: "a in"}, "/a"), nil, "spec.drift.ignore[0].target.labelSelector"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			rules, err := compileIgnores(tt.given)
			if tt.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tt.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ignoredIn(rules, widget)).To(Equal(tt.want))
		})
	}
}

func TestInvalidIgnoreRuleAppliesNothing(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	a := applier(s, release(ignoring("nonsense")))

	g.Expect(Reason(a.Validate(context.Background(), nil))).To(Equal(corev1alpha1.ReasonInvalidConfiguration))
	result := a.Apply(context.Background(), []render.Object{settings("{k: v}")})[0]

	g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonInvalidConfiguration))
	g.Expect(s.asked()).To(BeEmpty())
}

func TestWithIgnored(t *testing.T) {
	const owned = `f:spec: {"f:replicas": {}, "f:items": {'k:{"name":"b"}': {".": {}, "f:v": {}}}, "f:whole": {}}`
	live := func(fields string) *unstructured.Unstructured {
		return manifest(`{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w, managedFields: [{manager: convoy, operation: Apply, apiVersion: ex.test/v1, fieldsType: FieldsV1, fieldsV1: {` +
			fields + `}}]}, spec: {replicas: 5, items: [{name: a, v: 1}, {name: b, v: 2}], whole: {x: live}, other: live}}`)
	}
	desired := `{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w}, spec: {replicas: 2, items: [{name: b, v: 9}], whole: {x: new}, other: new}}`
	tests := []struct {
		name  string
		owned string
		path  pointer
		want  string
	}{
		{"owned: the live value", owned, pointer{"spec", "replicas"}, `{replicas: 5, items: [{name: b, v: 9}], whole: {x: new}, other: new}`},
		{"not owned: nothing", "", pointer{"spec", "replicas"}, `{items: [{name: b, v: 9}], whole: {x: new}, other: new}`},
		{"inside a list, found by name", owned, pointer{"spec", "items", "0", "v"}, `{replicas: 2, items: [{name: b, v: 2}], whole: {x: new}, other: new}`},
		{"inside what is owned as a whole", owned, pointer{"spec", "whole", "x"}, `{replicas: 2, items: [{name: b, v: 9}], whole: {x: live}, other: new}`},
		{"owned by others only", owned, pointer{"spec", "other"}, `{replicas: 2, items: [{name: b, v: 9}], whole: {x: new}}`},
		{"not in the live object", owned, pointer{"spec", "replicas", "deep"}, `{replicas: 2, items: [{name: b, v: 9}], whole: {x: new}, other: new}`},
		{"an item", "", pointer{"spec", "items", "0"}, `{replicas: 2, items: [], whole: {x: new}, other: new}`},
		{"no such item", owned, pointer{"spec", "items", "7", "v"}, `{replicas: 2, items: [{name: b, v: 9}], whole: {x: new}, other: new}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			given := manifest(desired)
			got := withIgnored(given, live(tt.owned), []pointer{tt.path})
			g.Expect(got.Object["spec"]).To(Equal(manifest("{apiVersion: v1, kind: X, spec: " + tt.want + "}").Object["spec"]))
			g.Expect(given).To(Equal(manifest(desired)), "the desired object is left alone")
		})
	}
}
