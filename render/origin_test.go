// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

func TestEveryObjectKnowsItsFile(t *testing.T) {
	tests := []struct {
		name, spec, path string
		files            map[string]string
		want             map[string]string
	}{
		{"chart", "lifecycle: {hooks: [{name: own, 'on': preSync, template: {apiVersion: v1, kind: Pod, metadata: {name: own}}}]}", ".", map[string]string{
			"Chart.yaml": chartYAML, "templates/deep/a.yaml": configMap("a") + configMap("b"),
			"templates/list.yaml":           "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: item}}]}",
			"templates/hook.yaml":           "{apiVersion: v1, kind: Pod, metadata: {name: hook, annotations: {helm.sh/hook: pre-install}}}",
			"charts/db/Chart.yaml":          "apiVersion: v2\nname: db\nversion: 1.0.0\n",
			"charts/db/templates/inner.yml": configMap("inner"),
			"charts/db/crds/c.yaml":         "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: crd}, spec: {}}",
		}, map[string]string{
			"a": "web/templates/deep/a.yaml, document 1", "b": "web/templates/deep/a.yaml, document 2", "item": "web/templates/list.yaml, item 1",
			"hook": "web/templates/hook.yaml", "own": "spec.lifecycle.hooks[own]", "inner": "web/charts/db/templates/inner.yml", "crd": "web/charts/db/crds/c.yaml",
		}},
		{"kustomization", "render: {kustomize: {components: [../parts], namePrefix: p-}}", "apps/prod", map[string]string{
			"apps/prod/kustomization.yaml": "resources: [../base, own.yaml]\nconfigMapGenerator: [{name: made, literals: [a=b], options: {disableNameSuffixHash: true}}]\npatches: [{target: {kind: ConfigMap}, patch: '[{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {\"a\": \"b\"}}]'}]",
			"apps/prod/own.yaml":           configMap("own"),
			"apps/base/kustomization.yml":  "resources: [sub/two.yaml]\nsecretGenerator: [{name: key, literals: [a=b], options: {disableNameSuffixHash: true}}]",
			"apps/base/sub/two.yaml":       configMap("one") + configMap("two"),
			"apps/parts/Kustomization":     "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [extra.yaml]",
			"apps/parts/extra.yaml":        configMap("extra"),
		}, map[string]string{
			"p-own": "apps/prod/own.yaml", "p-one": "apps/base/sub/two.yaml", "p-two": "apps/base/sub/two.yaml", "p-extra": "apps/parts/extra.yaml",
			"p-made": "apps/prod/kustomization.yaml", "p-key": "apps/base/kustomization.yml",
		}},
		{"plain", "", "apps", map[string]string{"apps/a.yaml": configMap("a"), "apps/more/b.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}`},
			map[string]string{"a": "apps/a.yaml", "b": "apps/more/b.json"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			in := input(t, test.spec, nil)
			in.Artifact, in.Cluster = content(test.path, test.files), everyKind{}
			result := rendered(t, in)
			origins := map[string]string{}
			for _, o := range result.Objects {
				origins[o.Object.GetName()] = o.Origin
				g.Expect(o.Object.GetAnnotations()).To(BeEmpty()) // no trace of how it was found out
			}
			for _, h := range result.Hooks {
				origins[h.Object.Object.GetName()] = h.Object.Origin
			}
			g.Expect(origins).To(Equal(test.want))
			g.Expect(slices.Sorted(maps.Keys(origins))).To(HaveLen(len(test.want)))
		})
	}
}

func TestErrorsPointToFileAndLine(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a manifest", map[string]string{"a.yaml": "x: 1\na: b: c"}, "a.yaml: yaml: line 2: "},
		{"a later document", map[string]string{"a.yaml": configMap("a") + "---\nx: 1\ny: [\n"}, "a.yaml, document 2: yaml: line 8: "},
		{"JSON", map[string]string{"a.json": "{\n\"a\": \n]}"}, "a.json: json: line 3: "},
		{"an integer", map[string]string{"a.yaml": configMap("a") + "---\nx: 1\ny: 99999999999999999999\n"}, "a.yaml, document 2: yaml: line 8: the integer does not fit"},
		{"a template that does not parse", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "\n\n{{ if }}"}, "parse error at (web/templates/a.yaml:3): missing value for if"},
		{"a template that fails", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "\n{{ .Values.a.b }}"}, "web/templates/a.yaml:2:10: executing"},
		{"a template that refuses, in a partial", map[string]string{"Chart.yaml": chartYAML, "templates/_p.tpl": `{{ define "p" }}{{ fail "no" }}{{ end }}`, "templates/a.yaml": "\n\n  {{ include \"p\" . }}"}, "execution error at (web/templates/a.yaml:3:5): no"},
		{"what a template gives", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a") + "---\nx: 1\ny: {{ \"[\" }}\n"}, "web/templates/a.yaml, document 2: yaml: line 8: "},
		{"a kustomization", map[string]string{"kustomization.yaml": "resources: [a.yaml]\nx: ["}, "yaml: line 2: "},
		{"a file of a kustomization", map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": "x: 1\ny: ["}, "a.yaml"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(failed(t, input(t, "", test.files)).Error()).To(ContainSubstring(test.want))
		})
	}
}
