// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func object(fields map[string]any) map[string]any {
	result := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "cm", "resourceVersion": "7", "uid": "u", "generation": int64(2),
			"managedFields": []any{map[string]any{"manager": "convoy"}},
			"labels":        map[string]any{corev1alpha1.LabelOwner: "x"},
			"annotations":   map[string]any{corev1alpha1.AnnotationRelease: "i/ns/n"},
		},
	}
	for key, value := range fields {
		result[key] = value
	}
	return result
}

func TestFields(t *testing.T) {
	cases := []struct {
		name     string
		from, to map[string]any
		want     []corev1alpha1.FieldChange
	}{
		{"what the server writes is no difference", object(nil), map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "cm"}, "status": map[string]any{"phase": "x"},
		}, nil},
		{"a value", object(map[string]any{"data": map[string]any{"a": "1"}}), object(map[string]any{"data": map[string]any{"a": "2"}}),
			[]corev1alpha1.FieldChange{{Path: "/data/a", From: `"1"`, To: `"2"`}}},
		{"a new field and one that goes", object(map[string]any{"data": map[string]any{"a": "1"}}), object(map[string]any{"data": map[string]any{"b": "1"}}),
			[]corev1alpha1.FieldChange{{Path: "/data/a", From: `"1"`}, {Path: "/data/b", To: `"1"`}}},
		{"keys with slashes and tildes", object(map[string]any{"data": map[string]any{"a/b~c": "1"}}), object(map[string]any{"data": map[string]any{"a/b~c": "2"}}),
			[]corev1alpha1.FieldChange{{Path: "/data/a~1b~0c", From: `"1"`, To: `"2"`}}},
		{"an item of a list", object(map[string]any{"list": []any{"x", "y"}}), object(map[string]any{"list": []any{"x", "z", "w"}}),
			[]corev1alpha1.FieldChange{{Path: "/list/1", From: `"y"`, To: `"z"`}, {Path: "/list/2", To: `"w"`}}},
		{"numbers keep their digits", object(map[string]any{"n": int64(9007199254740993)}), object(map[string]any{"n": int64(9007199254740992)}),
			[]corev1alpha1.FieldChange{{Path: "/n", From: "9007199254740993", To: "9007199254740992"}}},
		{"an absent object", nil, map[string]any{"kind": "X"}, []corev1alpha1.FieldChange{{Path: "/kind", To: `"X"`}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			NewWithT(t).Expect(Fields(c.from, c.to)).To(Equal(c.want))
		})
	}
}

func TestFieldsChangesNothing(t *testing.T) {
	g := NewWithT(t)
	original := object(nil)
	Fields(original, nil)
	g.Expect(original).To(Equal(object(nil)))
}

func TestIgnored(t *testing.T) {
	cases := []struct {
		name, path, ignore string
		want               bool
	}{
		{"the field itself", "/spec/replicas", "/spec/replicas", true},
		{"a field under it", "/spec/template/x", "/spec/template", true},
		{"another field with the same beginning", "/spec/replicasMax", "/spec/replicas", false},
		{"its parent", "/spec", "/spec/replicas", false},
		{"everything", "/spec", "", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			NewWithT(t).Expect(Ignored(corev1alpha1.FieldChange{Path: c.path}, []string{c.ignore})).To(Equal(c.want))
		})
	}
}

func TestOtherKindsAreShown(t *testing.T) {
	g := NewWithT(t)
	unified, err := Unified(object(map[string]any{"data": map[string]any{"a": "1"}}), object(map[string]any{"data": map[string]any{"a": "2"}}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unified).To(ContainSubstring("-  a: \"1\"\n+  a: \"2\"\n"))
}
