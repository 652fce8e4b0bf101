// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// secret is a Secret with some fields, in which tools have left copies of it.
func secret(fields map[string]any) map[string]any {
	result := map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"name": "s", "labels": map[string]any{"app": "shown"},
			"annotations": map[string]any{lastApplied: "canary", "kapp.k14s.io/original": "canary"},
		},
	}
	for name, value := range fields {
		result[name] = value
	}
	return result
}

func data(values map[string]any) map[string]any { return map[string]any{"data": values} }

// everywhere gives all that is shown of two objects.
func everywhere(g *WithT, before, after map[string]any) string {
	unified, err := Unified(before, after)
	g.Expect(err).NotTo(HaveOccurred())
	added, err := Unified(nil, after)
	g.Expect(err).NotTo(HaveOccurred())
	shown, err := json.Marshal([]any{
		MaskObject(before), MaskObject(after), Fields(before, after), Fields(nil, after), Fields(before, nil), unified, added,
	})
	g.Expect(err).NotTo(HaveOccurred())
	return string(shown)
}

func TestSecretsAreMasked(t *testing.T) {
	g := NewWithT(t)
	before := secret(data(map[string]any{"same": "canary1", "changed": "canary2", "gone": "canary3"}))
	after := secret(data(map[string]any{"same": "canary1", "changed": "canary4-longer", "new": "canary5"}))

	g.Expect(MaskObject(before)["data"]).To(Equal(map[string]any{"same": Masked, "changed": Masked, "gone": Masked}))
	g.Expect(before["data"]).To(HaveKeyWithValue("same", "canary1"), "the argument is not changed")
	g.Expect(before["metadata"]).To(HaveKeyWithValue("annotations", HaveKeyWithValue(lastApplied, "canary")))

	g.Expect(Fields(before, after)).To(Equal([]corev1alpha1.FieldChange{
		{Path: "/data/changed", From: Masked, To: maskedChanged},
		{Path: "/data/gone", From: Masked},
		{Path: "/data/new", To: maskedChanged},
	}))

	unified, err := Unified(before, after)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unified).To(ContainSubstring("+  changed: " + maskedChanged))
	g.Expect(unified).To(ContainSubstring("-  gone: " + Masked))
	g.Expect(unified).NotTo(ContainSubstring("+  same"))
	shown := everywhere(g, before, after)
	g.Expect(shown).NotTo(ContainSubstring("canary"))
	g.Expect(shown).To(ContainSubstring("app"))
}

func TestFieldsOfSecrets(t *testing.T) {
	for _, test := range []struct {
		name     string
		from, to map[string]any
		want     []corev1alpha1.FieldChange
	}{
		{"a copy in an annotation that goes", secret(nil), func() map[string]any {
			object := secret(nil)
			delete(object["metadata"].(map[string]any)["annotations"].(map[string]any), lastApplied)
			return object
		}(), []corev1alpha1.FieldChange{{Path: "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", From: Masked}}},
		{"all data, which is new", secret(nil), secret(data(map[string]any{"a": "canary"})),
			[]corev1alpha1.FieldChange{{Path: "/data", To: maskedChanged}}},
		{"a field that shows nothing", secret(map[string]any{"type": "a"}), secret(map[string]any{"type": "b"}),
			[]corev1alpha1.FieldChange{{Path: "/type", From: `"a"`, To: `"b"`}}},
		{"a field that no Secret has", secret(map[string]any{"dat": "canary"}), secret(map[string]any{"dat": "canary2"}),
			[]corev1alpha1.FieldChange{{Path: "/dat", From: Masked, To: maskedChanged}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(Fields(test.from, test.to)).To(Equal(test.want))
		})
	}
}

// Secrets that were written wrongly hold secrets nevertheless.
func TestMalformedSecretsAreMasked(t *testing.T) {
	for _, test := range []struct {
		name   string
		fields map[string]any
		want   any
	}{
		{"data that is a text", map[string]any{"data": "canary"}, Masked},
		{"a number", map[string]any{"stringData": map[string]any{"port": 5432}}, map[string]any{"port": Masked}},
		{"nested values", map[string]any{"stringData": map[string]any{"a": map[string]any{"b": "canary"}}}, map[string]any{"a": Masked}},
		{"a field of a wrong name", map[string]any{"dat": map[string]any{"a": "canary"}}, map[string]any{"a": Masked}},
		{"a list", map[string]any{"data": []any{"canary"}}, Masked},
		{"metadata that is a text", map[string]any{"metadata": "canary"}, Masked},
		{"annotations that are a text", map[string]any{"metadata": map[string]any{"annotations": "canary"}}, map[string]any{"annotations": Masked}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			object := secret(test.fields)
			for name := range test.fields {
				g.Expect(MaskObject(object)).To(HaveKeyWithValue(name, test.want))
			}
			before := secret(map[string]any{"data": map[string]any{"a": "canary2"}, "stringData": map[string]any{"a": map[string]any{"b": "canary3"}}})
			g.Expect(everywhere(g, before, object)).NotTo(Or(ContainSubstring("canary"), ContainSubstring("5432")))
			g.Expect(everywhere(g, object, before)).NotTo(Or(ContainSubstring("canary"), ContainSubstring("5432")))
		})
	}
}

func TestSecretsInOtherObjectsAreMasked(t *testing.T) {
	holder := func(kind string, fields map[string]any) map[string]any {
		result := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "x"}}
		for name, value := range fields {
			result[name] = value
		}
		return result
	}
	value := func(text string) map[string]any {
		return secret(map[string]any{"data": map[string]any{"a": text}, "stringData": map[string]any{"b": text}})
	}
	copied := func(annotation, text string) map[string]any {
		return map[string]any{"name": "x", "annotations": map[string]any{annotation: `{"spec":{"template":{"kind":"Secret","stringData":{"a":"` + text + `"}}}}`}}
	}
	untyped := func(text string) map[string]any { return data(map[string]any{"a": text}) }
	for _, test := range []struct {
		name string
		with func(text string) map[string]any
	}{
		{"an item of a list", func(text string) map[string]any {
			return holder("List", map[string]any{"items": []any{object(nil), value(text)}})
		}},
		{"an item of a list of Secrets, which does not say that it is one", func(text string) map[string]any {
			return holder("SecretList", map[string]any{"items": []any{untyped(text)}})
		}},
		{"a list in a list", func(text string) map[string]any {
			return holder("List", map[string]any{"items": []any{holder("List", map[string]any{"items": []any{value(text)}})}})
		}},
		{"a template", func(text string) map[string]any {
			return holder("Bundle", map[string]any{"spec": map[string]any{"templates": map[string]any{"login": value(text)}}})
		}},
		{"under a name of something else", func(text string) map[string]any {
			return holder("Bundle", map[string]any{"spec": map[string]any{"annotations": value(text)}})
		}},
		{"a copy that kubectl keeps", func(text string) map[string]any {
			return holder("Bundle", map[string]any{"metadata": copied(lastApplied, text)})
		}},
		{"a copy that another tool keeps", func(text string) map[string]any {
			return holder("Bundle", map[string]any{"metadata": copied("banzaicloud.com/last-applied", text)})
		}},
		{"a copy in a template", func(text string) map[string]any {
			return holder("Bundle", map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": copied("kapp.k14s.io/original", text)}}})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			before, after := test.with("canary1"), test.with("canary2")
			shown := everywhere(g, before, after)
			g.Expect(shown).NotTo(ContainSubstring("canary"))
			g.Expect(shown).To(ContainSubstring(maskedChanged), "that it changed is shown")
			g.Expect(Fields(before, after)).NotTo(BeEmpty())
			g.Expect(everywhere(g, holder("Bundle", nil), after)).NotTo(ContainSubstring("canary"))
		})
	}
}

// A copy of an object that was applied is hidden whatever the object is; that there is one is not,
// nor are other annotations.
func TestAnnotations(t *testing.T) {
	g := NewWithT(t)
	with := func(value string) map[string]any {
		return object(map[string]any{"metadata": map[string]any{"annotations": map[string]any{lastApplied: value, "last-applied-by": value}}})
	}
	g.Expect(Fields(with("one"), with("two"))).To(Equal([]corev1alpha1.FieldChange{
		{Path: "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", From: Masked, To: maskedChanged},
		{Path: "/metadata/annotations/last-applied-by", From: `"one"`, To: `"two"`},
	}))
}

func TestReferencesToSecretsAreShown(t *testing.T) {
	g := NewWithT(t)
	refers := func(name string) map[string]any {
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Bundle", "spec": map[string]any{
			"ref": map[string]any{"apiVersion": "v1", "kind": "Secret", "name": name},
		}}
	}
	g.Expect(MaskObject(refers("login"))).To(Equal(refers("login")))
	g.Expect(Fields(refers("login"), refers("other"))).To(Equal([]corev1alpha1.FieldChange{{Path: "/spec/ref/name", From: `"login"`, To: `"other"`}}))
}
