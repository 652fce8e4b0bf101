// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"testing"

	"kumodo.io/convoy/render/internal/helm"
)

// Whatever the files of a chart hold, they give objects or an error.
func FuzzChart(f *testing.F) {
	f.Add("apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: sub, version: '>=0', alias: a, condition: a.b, tags: [t], import-values: [x, {child: c, parent: p}]}]",
		"a: {b: true}\ntags: {t: false}\nglobal: {x: 1}", `{"properties": {"a": {"type": "object"}}, "$defs": {"x": {"$ref": "#"}}}`, "exports: {x: {y: 1}}\nc: {d: e}")
	f.Add("apiVersion: v1\nname: web\nversion: 1.0.0\nkubeVersion: '<2'\ntype: application", "sub: null", `{"not": {}}`, "a: [null]")
	f.Fuzz(func(t *testing.T, chart, defaults, schema, sub string) {
		r := request(t, files{
			"Chart.yaml": chart, "values.yaml": defaults, "values.schema.json": schema,
			"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "charts/sub/values.yaml": sub,
			"templates/a.yaml": dump("a", ".Values"), "charts/sub/templates/a.yaml": dump("b", ".Values"),
		}, "sub: {a: 1}")
		if output, err := helm.Render(t.Context(), r); err == nil && len(output.Objects) == 0 {
			t.Fatal("neither objects nor an error")
		}
	})
}

// Whatever an archive holds, it is unpacked or refused.
func FuzzArchive(f *testing.F) {
	archive := files{"Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n", "charts/x/Chart.yaml": "name: x"}
	f.Add([]byte(archive.packaged(f)))
	for _, odd := range unusual {
		if odd.name != "large file" {
			f.Add([]byte(archived(f, append([]entry{declared}, odd.given...)...)))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_, _ = helm.Render(t.Context(), request(t, files{"Chart.yaml": chartYAML, "charts/sub.tgz": string(content)}, ""))
	})
}
