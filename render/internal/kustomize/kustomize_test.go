// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/kustomize"
	"kumodo.io/convoy/render/internal/manifest"
)

func root(files map[string]string) fs.FS {
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

// most is more than any of these read.
const most = 1 << 20

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {flag: "yes"}}
spec:
  replicas: 9007199254740993
  template: {spec: {containers: [{name: app, image: "app:1"}, {name: side, image: "side:1"}]}}
`

// overlay is a kustomization with a base beside it.
func overlay() map[string]string {
	return map[string]string{
		"apps/base/kustomization.yaml":   "resources: [web.yaml]\nconfigMapGenerator: [{name: conf, literals: [a=b], options: {disableNameSuffixHash: true}}]\n",
		"apps/base/web.yaml":             deployment,
		"apps/prod/kustomization.yml":    "resources: [../base]\nnamePrefix: prod-\nimages: [{name: app, newName: registry/app, newTag: \"2\"}]\n",
		"parts/extra/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [extra.yaml]\n",
		"parts/extra/extra.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n",
	}
}

func names(documents []manifest.Document) []string {
	var all []string
	for _, d := range documents {
		all = append(all, manifest.Name(d.Object.Object)+" < "+d.Origin)
	}
	return all
}

func images(t *testing.T, documents []manifest.Document) []string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(documents[0].Object.Object, "spec", "template", "spec", "containers")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var all []string
	for _, c := range containers {
		all = append(all, c.(map[string]any)["image"].(string))
	}
	return all
}

func TestRender(t *testing.T) {
	tests := []struct {
		name   string
		given  corev1alpha1.KustomizeRender
		want   []string
		images []string
	}{
		{"as it is", corev1alpha1.KustomizeRender{},
			[]string{"Deployment prod-web < apps/base/web.yaml", "ConfigMap prod-conf < apps/base/kustomization.yaml"},
			[]string{"registry/app:2", "side:1"}},
		{"prefix and suffix", corev1alpha1.KustomizeRender{NamePrefix: "eu-", NameSuffix: "-x"},
			[]string{"Deployment eu-prod-web-x < apps/base/web.yaml", "ConfigMap eu-prod-conf-x < apps/base/kustomization.yaml"},
			[]string{"registry/app:2", "side:1"}},
		{"images", corev1alpha1.KustomizeRender{Images: []corev1alpha1.KustomizeImage{{Name: "app", NewTag: "3"}, {Name: "side", Digest: "sha256:aa"}}},
			[]string{"Deployment prod-web < apps/base/web.yaml", "ConfigMap prod-conf < apps/base/kustomization.yaml"},
			[]string{"registry/app:3", "side@sha256:aa"}},
		{"components", corev1alpha1.KustomizeRender{Components: []string{"../../parts/extra"}},
			[]string{"Deployment prod-web < apps/base/web.yaml", "ConfigMap prod-conf < apps/base/kustomization.yaml", "ConfigMap prod-extra < parts/extra/extra.yaml"},
			[]string{"registry/app:2", "side:1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			documents, err := kustomize.Render(t.Context(), root(overlay()), "apps/prod", test.given, most)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(names(documents)).To(Equal(test.want))
			g.Expect(images(t, documents)).To(Equal(test.images))
			g.Expect(documents[0].Object.GetAnnotations()).To(BeEmpty())
			g.Expect(documents[0].Object.GetLabels()).To(Equal(map[string]string{"flag": "yes"}))
			replicas, _, _ := unstructured.NestedInt64(documents[0].Object.Object, "spec", "replicas")
			g.Expect(replicas).To(Equal(int64(9007199254740993)))
		})
	}
}

func TestOriginsThatTheSourceAsksForStay(t *testing.T) {
	g := NewWithT(t)
	documents, err := kustomize.Render(t.Context(), root(map[string]string{
		"kustomization.yaml": "resources: [web.yaml]\nbuildMetadata: [originAnnotations]\n",
		"web.yaml":           deployment,
	}), ".", corev1alpha1.KustomizeRender{}, most)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(documents[0].Object.GetAnnotations()).To(HaveKeyWithValue("config.kubernetes.io/origin", "path: web.yaml\n"))
}

func TestRenderRefuses(t *testing.T) {
	tests := []struct {
		name  string
		given string // kustomization.yaml
		more  map[string]string
		want  string
	}{
		{"https", "resources: ['https://user:hunter2@git.test/a.yaml?token=hunter2']", nil,
			`apps/kustomization.yaml: resources refers to "https://git.test/a.yaml": remote references are not followed`},
		{"http without slashes", "resources: ['http:git.test/a.yaml']", nil, "remote references are not followed"},
		{"git over ssh", "bases: ['git@git.test:org/repo']", nil, "remote references are not followed"},
		{"github", "components: ['github.com/org/repo//deploy?ref=v1']", map[string]string{
			"apps/github.com/org/repo/deploy/kustomization.yaml": "kind: Component"}, "remote references are not followed"},
		{"forced git", "resources: ['git::https://git.test/org/repo']", nil, "remote references are not followed"},
		{"file scheme", "resources: ['file:///etc']", nil, "remote references are not followed"},
		{"patch", "resources: [a.yaml]\npatches: [{path: 'https://git.test/p.yaml'}]", nil, `patches.path refers to "https://git.test/p.yaml"`},
		{"generated from", "configMapGenerator: [{name: a, files: ['k=https://git.test/p.yaml']}]", nil, "configMapGenerator.files refers to"},
		{"environment", "secretGenerator: [{name: a, envs: ['https://git.test/p.env']}]", nil, "secretGenerator.envs refers to"},
		{"schema", "openapi: {path: 'https://git.test/p.json'}", nil, "openapi.path refers to"},
		{"in a base", "resources: [../base]", map[string]string{"base/kustomization.yaml": "resources: ['https://git.test/a.yaml']"},
			"base/kustomization.yaml: resources refers to"},
		{"in the file of a transformer", "resources: [a.yaml]\ntransformers: [t.yaml]", map[string]string{
			"apps/t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: https://git.test/p.yaml\n"},
			`apps/t.yaml: PatchTransformer.path refers to "https://git.test/p.yaml"`},
		{"in a transformer", "resources: [a.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: t}\n  path: https://git.test/p.yaml\n", nil,
			"PatchTransformer.path refers to"},
		{"in another case", "Resources: ['https://git.test/a.yaml']", nil, "Resources refers to"},
		{"with letters that fold to others", "re\u017fource\u017f: ['https://git.test/a.yaml']", nil, "refers to"},
		{"generated from in another case", "CONFIGMAPGENERATOR: [{name: a, Files: ['k=https://git.test/p.yaml']}]", nil, "CONFIGMAPGENERATOR.Files refers to"},
		{"chart in another case", "HELMCHARTS: [{name: a}]", nil, "HELMCHARTS is refused"},
		{"escaped", "generators: [g.yaml]", map[string]string{
			"apps/g.yaml": "apiVersion: \"b\\u0075iltin\"\nkind: ConfigMapGenerator\nmetadata: {name: g}\nfiles: ['k=https://git.test/a']\n"},
			"ConfigMapGenerator.files refers to"},
		{"of no group", "generators: [g.yaml]", map[string]string{
			"apps/g.yaml": "apiVersion: /builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nfiles: ['k=https://git.test/a']\n"},
			"ConfigMapGenerator.files refers to"},
		{"in a list", "generators: [g.yaml]", map[string]string{
			"apps/g.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, files: ['k=https://git.test/a']}\n"},
			"ConfigMapGenerator.files refers to"},
		{"in a second document", "generators: [g.yaml]", map[string]string{
			"apps/g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: f}\n--- \napiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nfiles: ['k=https://git.test/a']\n"},
			"ConfigMapGenerator.files refers to"},
		{"the field of a plugin in another case", "generators: [g.yaml]", map[string]string{
			"apps/g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nFiles: ['k=https://git.test/a']\n"},
			"ConfigMapGenerator.Files refers to"},
		{"plugin", "resources: [a.yaml]\ngenerators: [g.yaml]", map[string]string{
			"apps/g.yaml": "apiVersion: someteam.test/v1\nkind: Chart\nmetadata: {name: g, annotations: {config.kubernetes.io/function: 'exec: {path: /bin/true}'}}\n"},
			"external plugins disabled; unable to load external plugin 'Chart': plugins and functions that run programs (exec, containers, Starlark) are refused; put what they give into the source"},
		{"function in a container", "resources: [a.yaml]\ntransformers:\n- |-\n  apiVersion: someteam.test/v1\n  kind: Fn\n  metadata: {name: f, annotations: {config.kubernetes.io/function: 'container: {image: a}'}}\n", nil,
			"external plugin 'Fn': plugins and functions that run programs"},
		{"function in Starlark", "resources: [a.yaml]\nvalidators: ['{apiVersion: someteam.test/v1, kind: Fn, metadata: {name: f, annotations: {config.kubernetes.io/function: \"starlark: {path: a.star}\"}}}']", nil,
			"external plugin 'Fn': plugins and functions that run programs"},
		{"chart", "helmCharts: [{name: a, repo: 'https://c.test'}]", nil, "apps/kustomization.yaml: helmCharts is refused: kustomizations do not inflate charts here; make a Release of the chart"},
		{"chart as it was once written", "helmChartInflationGenerator: [{chartName: a}]", nil, "apps/kustomization.yaml: helmChartInflationGenerator is refused"},
		{"generator of a chart", "generators: [g.yaml]", map[string]string{
			"apps/g.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: g}\nname: a\n"}, "apps/g.yaml: a HelmChartInflationGenerator is refused"},
		{"generator of a chart in the list", "generators:\n- |-\n  apiVersion: builtin\n  kind: HelmChartInflationGenerator\n  metadata: {name: g}\n", nil, "apps/kustomization.yaml: a HelmChartInflationGenerator is refused"},
		{"generator of a chart in one line", "generators: ['{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: g}}']", nil, "apps/kustomization.yaml: a HelmChartInflationGenerator is refused"},
		{"chart in a base", "resources: [../base]", map[string]string{"base/kustomization.yaml": "helmCharts: [{name: a}]"}, "base/kustomization.yaml: helmCharts is refused"},
		{"remote in one line", "generators: ['{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: g}, files: [\"http:git.test\"]}']", nil, "ConfigMapGenerator.files refers to"},
		{"missing resource", "resources: [none.yaml]", nil, "none.yaml"},
		{"outside", "resources: [../../../etc]", nil, "etc"},
		{"file outside of the kustomization", "resources: [../other.yaml]", map[string]string{"other.yaml": deployment}, "is not in or below"},
		{"no YAML", "resources: [", nil, "yaml: line 1"},
		{"unknown field", "resource: [a.yaml]", nil, `unknown field "resource"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			files := map[string]string{"apps/kustomization.yaml": test.given, "apps/a.yaml": deployment}
			for name, content := range test.more {
				files[name] = content
			}
			_, err := kustomize.Render(t.Context(), root(files), "apps", corev1alpha1.KustomizeRender{}, most)
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
		})
	}
}

// What tells origins is no part of the objects for what copies from them.
func TestOriginsAreNotCopied(t *testing.T) {
	for name, kustomization := range map[string]string{
		"replacements": "resources: [web.yaml, conf.yaml]\nreplacements: [{source: {kind: Deployment, fieldPath: metadata.annotations}, targets: [{select: {kind: Thing}, fieldPaths: [spec.all], options: {create: true}}]}]\n",
		"a plugin":     "resources: [web.yaml, conf.yaml]\ntransformers: ['{apiVersion: builtin, kind: ReplacementTransformer, metadata: {name: r}, replacements: [{source: {kind: Deployment, fieldPath: metadata.annotations}, targets: [{select: {kind: Thing}, fieldPaths: [spec.all], options: {create: true}}]}]}']\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			documents, err := kustomize.Render(t.Context(), root(map[string]string{
				"kustomization.yaml": kustomization,
				"web.yaml":           "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, annotations: {a: b}}\n",
				"conf.yaml":          "apiVersion: a.test/v1\nkind: Thing\nmetadata: {name: conf}\n",
			}), ".", corev1alpha1.KustomizeRender{}, most)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(names(documents)).To(Equal([]string{"Deployment web < web.yaml", "Thing conf < conf.yaml"}))
			g.Expect(documents[1].Object.Object["spec"]).To(Equal(map[string]any{"all": map[string]any{"a": "b"}}))
		})
	}
}

// Nor is it there for patches.
func TestOriginsAreNotPatched(t *testing.T) {
	g := NewWithT(t)
	documents, err := kustomize.Render(t.Context(), root(map[string]string{
		"kustomization.yaml": "resources: [conf.yaml]\npatches:\n" +
			"- {target: {annotationSelector: config.kubernetes.io/origin}, patch: '[{\"op\": \"remove\", \"path\": \"/kind\"}]'}\n" +
			"- {target: {kind: Thing}, patch: '[{\"op\": \"copy\", \"from\": \"/metadata/annotations\", \"path\": \"/spec\"}]'}\n",
		"conf.yaml": "apiVersion: a.test/v1\nkind: Thing\nmetadata: {name: conf, annotations: {a: b}}\n",
	}), ".", corev1alpha1.KustomizeRender{}, most)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(documents[0].Object.Object["spec"]).To(And(HaveKeyWithValue("a", "b"), Not(HaveKey("config.kubernetes.io/origin"))))
}

// The library does not heed the case of fields.
func TestFieldsInAnotherCase(t *testing.T) {
	g := NewWithT(t)
	files := overlay()
	files["apps/prod/kustomization.yml"] = "resources: [../base]\nNamePrefix: prod-\nImages: [{Name: app, newname: registry/app, NewTag: \"2\"}]\nBuildMetadata: [originAnnotations]\n"
	spec := corev1alpha1.KustomizeRender{NamePrefix: "eu-", Images: []corev1alpha1.KustomizeImage{{Name: "app", NewTag: "3"}}}
	documents, err := kustomize.Render(t.Context(), root(files), "apps/prod", spec, most)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(documents)[0]).To(Equal("Deployment eu-prod-web < apps/base/web.yaml"))
	g.Expect(images(t, documents)).To(Equal([]string{"registry/app:3", "side:1"}))
	g.Expect(documents[0].Object.GetAnnotations()).NotTo(BeEmpty(), "the source asked for it")

	files["apps/prod/kustomization.yml"] = "resources: [../base]\nNamePrefix: a-\nnamePrefix: b-\n"
	_, err = kustomize.Render(t.Context(), root(files), "apps/prod", spec, most)
	g.Expect(err).To(MatchError(ContainSubstring("namePrefix is there twice, as NamePrefix, too")))
}

func TestRenderRefusesAMissingKustomization(t *testing.T) {
	_, err := kustomize.Render(t.Context(), root(map[string]string{"apps/a.yaml": deployment}), "apps", corev1alpha1.KustomizeRender{}, most)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("apps has no kustomization file")))
}
