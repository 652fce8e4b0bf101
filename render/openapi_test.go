// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render"
)

// TestSchemaEndsWithItsBuild builds a kustomization whose schema says how a list is merged, and
// then one without: the schema of another tenant is nothing to it.
func TestSchemaEndsWithItsBuild(t *testing.T) {
	g := NewWithT(t)
	widget := func(parts string) string {
		return "{apiVersion: example.test/v1, kind: Widget, metadata: {name: w}, spec: {parts: " + parts + "}}"
	}
	files := func(more string) map[string]string {
		return map[string]string{
			"kustomization.yaml": "resources: [w.yaml]\npatches: [{path: p.yaml}]\n" + more,
			"w.yaml":             widget("[{name: a}]"), "p.yaml": widget("[{name: b}]"),
			"s.json": `{"definitions": {"v1.Widget": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.test", "version": "v1", "kind": "Widget"}],
				"properties": {"spec": {"type": "object", "properties": {"parts": {"type": "array", "items": {"type": "object"}, "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}}}}}}}`,
		}
	}
	parts := func(more string) any {
		result := rendered(t, withKind(input(t, "", files(more))))
		return result.Objects[0].Object.Object["spec"].(map[string]any)["parts"]
	}
	g.Expect(parts("openapi: {path: s.json}\n")).To(HaveLen(2))
	g.Expect(parts("")).To(HaveLen(1))
}

// withKind lets the target cluster know every kind.
func withKind(in render.Input) render.Input {
	in.Cluster = catalogueCluster{}
	return in
}
