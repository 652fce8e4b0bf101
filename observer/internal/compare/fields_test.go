// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

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

// The changes of an object are a JSON patch that makes the right side of the left one.
func TestWithParents(t *testing.T) {
	with := func(metadata map[string]any) map[string]any {
		metadata["name"] = "x"
		return map[string]any{"apiVersion": "v1", "kind": "X", "metadata": metadata}
	}
	labels := map[string]any{"a/b": "1", "c": "2"}
	marked := map[string]any{corev1alpha1.LabelOwner: "x"}
	for _, test := range []struct {
		name           string
		from, to, want map[string]any
	}{
		{"labels and annotations", with(map[string]any{}), with(map[string]any{"labels": labels, "annotations": labels}), with(map[string]any{"labels": labels, "annotations": labels})},
		{"in place of nothing", with(map[string]any{"labels": nil}), with(map[string]any{"labels": labels}), with(map[string]any{"labels": labels})},
		{"more of them", with(map[string]any{"labels": map[string]any{"c": "1"}}), with(map[string]any{"labels": labels}), with(map[string]any{"labels": labels})},
		{"less of them", with(map[string]any{"labels": labels}), with(map[string]any{}), with(map[string]any{"labels": map[string]any{}})},
		{"beside a mark, which stays", with(map[string]any{"labels": marked}), with(map[string]any{"labels": labels}),
			with(map[string]any{"labels": map[string]any{corev1alpha1.LabelOwner: "x", "a/b": "1", "c": "2"}})},
		{"none", with(map[string]any{}), with(map[string]any{"labels": map[string]any{}}), with(map[string]any{})},
		{"of a template", with(map[string]any{}), map[string]any{"apiVersion": "v1", "kind": "X", "metadata": map[string]any{"name": "x"}, "spec": with(map[string]any{"labels": labels})},
			map[string]any{"apiVersion": "v1", "kind": "X", "metadata": map[string]any{"name": "x"}, "spec": with(map[string]any{"labels": labels})}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			encoded := func(value any) []byte {
				data, err := json.Marshal(value)
				g.Expect(err).NotTo(HaveOccurred())
				return data
			}
			diff := corev1alpha1.ReleaseDiff{Objects: []corev1alpha1.ObjectDiff{{Changes: WithParents(test.from, Fields(test.from, test.to))}}}
			patch, err := jsonpatch.DecodePatch(encoded(diff.JSONPatches()[0].Patch))
			g.Expect(err).NotTo(HaveOccurred())
			patched, err := patch.Apply(encoded(test.from))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(patched).To(MatchJSON(encoded(test.want)))
		})
	}
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

// Lines of which there are many alike are compared no slower than others.
func TestUnifiedOfManyLinesAlike(t *testing.T) {
	g := NewWithT(t)
	digits := func(step int) map[string]any {
		var text strings.Builder
		for i := range 1 << 19 {
			fmt.Fprintln(&text, i*i/step%7)
		}
		return object(map[string]any{"data": map[string]any{"after": "1", "digits": text.String(), "zero": "1"}})
	}
	unified, err := Unified(digits(11), digits(13))
	g.Expect(err).NotTo(HaveOccurred())
	// Not by matchers of texts, which would write this one out.
	g.Expect(strings.HasPrefix(unified, "--- from\n+++ to\n@@ -")).To(BeTrue())
	g.Expect(strings.Count(unified, "\n-")).To(BeNumerically(">", 1<<18), "what differs is told")
	g.Expect(strings.Contains(unified, "name: cm")).To(BeFalse(), "what does not is not")
}

func TestUnified(t *testing.T) {
	list := func(items ...any) map[string]any {
		return map[string]any{"list": items}
	}
	for _, test := range []struct {
		name     string
		from, to map[string]any
		want     string
	}{
		{"equal", list("a"), list("a"), ""},
		{"neither is there", nil, nil, ""},
		{"one that is new", nil, list("a"), "--- from\n+++ to\n@@ -0,0 +1,2 @@\n+list:\n+- a\n"},
		{"one that goes", list("a"), nil, "--- from\n+++ to\n@@ -1,2 +0,0 @@\n-list:\n-- a\n"},
		{"a line", list("1", "2", "3", "4", "5", "6", "7", "8"), list("1", "2", "3", "4", "x", "6", "7", "8"),
			"--- from\n+++ to\n@@ -3,7 +3,7 @@\n - \"2\"\n - \"3\"\n - \"4\"\n-- \"5\"\n+- x\n - \"6\"\n - \"7\"\n - \"8\"\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			unified, err := Unified(test.from, test.to)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(unified).To(Equal(test.want))
		})
	}
}
