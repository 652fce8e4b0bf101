// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
)

// Secrets that were written wrongly hold secrets nevertheless.
func TestMalformedSecretsAreMasked(t *testing.T) {
	for _, test := range []struct {
		name   string
		fields map[string]any
		want   map[string]any
	}{
		{"data that is a text", map[string]any{"data": "canary"}, map[string]any{"data": masked}},
		{"a number", map[string]any{"stringData": map[string]any{"port": 5432}}, map[string]any{"stringData": map[string]any{"port": masked}}},
		{"nested values", map[string]any{"stringData": map[string]any{"a": map[string]any{"b": "canary"}}}, map[string]any{"stringData": map[string]any{"a": masked}}},
		{"a field of a wrong name", map[string]any{"dat": map[string]any{"a": "canary"}}, map[string]any{"dat": map[string]any{"a": masked}}},
		{"a list", map[string]any{"data": []any{"canary"}}, map[string]any{"data": masked}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			shown := MaskObject(secretKey, test.fields)
			g.Expect(shown).To(Equal(test.want))

			changes, err := json.Marshal(MaskChanges(secretKey, Fields(map[string]any{}, test.fields)))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(changes)).NotTo(Or(ContainSubstring("canary"), ContainSubstring("5432")))

			unified, err := Unified(secretKey, map[string]any{"data": map[string]any{"a": "canary2"}, "stringData": map[string]any{"a": map[string]any{"b": "canary3"}}}, test.fields)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(unified).NotTo(Or(ContainSubstring("canary"), ContainSubstring("5432")))
		})
	}
}

func TestMaskedChangesOfMetadata(t *testing.T) {
	for path, want := range map[string]bool{
		"/data": true, "/data/a": true, "/stringData/a": true, "/anything": true, "/metadata": true,
		"/metadata/annotations": true, "/metadata/annotations/x": true,
		"/metadata/labels/x": false, "/metadata/annotationsx": false, "/type": false, "/immutable": false,
	} {
		NewWithT(t).Expect(secretPath(path)).To(Equal(want), path)
	}
}
