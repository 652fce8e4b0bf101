// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

func TestTheEngineIsChosen(t *testing.T) {
	all := map[string]string{
		"Chart.yaml": chartYAML, "templates/a.yaml": configMap("from-chart"),
		"kustomization.yaml": "resources: [plain.yaml]\nnameSuffix: -kustomized\n", "plain.yaml": configMap("plain"),
	}
	without := func(names ...string) map[string]string {
		files := map[string]string{}
		for name, content := range all {
			files[name] = content
		}
		for _, name := range names {
			delete(files, name)
		}
		return files
	}
	tests := []struct {
		name, spec string
		files      map[string]string
		want       []string
	}{
		{"chart first", "", all, []string{"ConfigMap team/from-chart"}},
		{"then kustomization", "render: {type: auto}", without("Chart.yaml"), []string{"ConfigMap team/plain-kustomized"}},
		{"then plain", "", without("Chart.yaml", "kustomization.yaml"), []string{"ConfigMap team/from-chart", "ConfigMap team/plain"}},
		{"as asked for", "render: {type: kustomize}", all, []string{"ConfigMap team/plain-kustomized"}},
		{"a chart of which all is off", "", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "{{ if .Values.on }}" + configMap("a") + "{{ end }}"}, nil},
		{"nothing", "", map[string]string{"README.md": "x", ".github/ci.yaml": "on: push", ".tool.yaml": "a: b"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			result := rendered(t, input(t, test.spec, test.files))
			g.Expect(described(result.Objects)).To(Equal(test.want))
			g.Expect(result.Digest).To(HavePrefix("sha256:"))
		})
	}
}

func TestRenderRefuses(t *testing.T) {
	tests := []struct {
		name, spec, path string
		files            map[string]string
		reason, want     string
	}{
		{"path that is not there", "", "apps/none", map[string]string{"a.yaml": configMap("a")},
			corev1alpha1.ReasonRenderFailed, `the path "apps/none" does not exist in main@sha1:`},
		{"path that is a file", "", "a.yaml", map[string]string{"a.yaml": configMap("a")}, corev1alpha1.ReasonRenderFailed, "is a file"},
		{"chart that is none", "render: {type: helm}", ".", map[string]string{"a.yaml": configMap("a")}, corev1alpha1.ReasonRenderFailed, "there is no Chart.yaml"},
		{"values as a manifest", "", ".", map[string]string{"values.yaml": "a: b"}, corev1alpha1.ReasonRenderFailed, "values.yaml: this is no Kubernetes manifest"},
		{"manifest that was cut", "", ".", map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {na"}, corev1alpha1.ReasonRenderFailed, "a.yaml: yaml: line 3"},
		{"kustomization that lists what is not there", "", ".", map[string]string{"kustomization.yaml": "resources: [none.yaml]"}, corev1alpha1.ReasonRenderFailed, "none.yaml"},
		{"missing values file", "render: {helm: {valuesFiles: [prod.yaml]}}", ".", map[string]string{"Chart.yaml": chartYAML}, corev1alpha1.ReasonRenderFailed, "valuesFiles: prod.yaml"},
		{"template of a subchart", "", ".", map[string]string{
			"Chart.yaml": chartYAML, "charts/s/Chart.yaml": "apiVersion: v2\nname: s\nversion: 1.0.0\n", "charts/s/templates/a.yaml": "{{ fail \"no\" }}",
		}, corev1alpha1.ReasonRenderFailed, "web/charts/s/templates/a.yaml:1:3"},
		{"annotation that is no string", "", ".", map[string]string{"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {b: 1}}"},
			corev1alpha1.ReasonInvalidObjects, `Pod a: the annotation "b" is not a string`},
		{"stage that is no number", "", ".", map[string]string{"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {convoy.kumodo.io/stage: early}}"},
			corev1alpha1.ReasonInvalidObjects, `Pod team/a: the annotation convoy.kumodo.io/stage is "early"; an integer is needed (a.yaml)`},
		{"unknown kinds", "", ".", map[string]string{"a.yaml": "apiVersion: x.test/v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: x.test/v1\nkind: B\nmetadata: {name: b}"},
			corev1alpha1.ReasonUnknownKind, "defines it: x.test/v1/A of a (a.yaml, document 1); x.test/v1/B of b (a.yaml, document 2)"},
		{"mutation that matches nothing", "mutations: [{name: m, target: {kind: Pod}, patch: 'a: b'}]", ".", map[string]string{"a.yaml": configMap("a")},
			corev1alpha1.ReasonRenderFailed, `mutation "m" matches no object`},
		{"mutation that cannot be parsed", "mutations: [{name: m, patch: '['}]", ".", map[string]string{"a.yaml": configMap("a")},
			corev1alpha1.ReasonInvalidConfiguration, "spec.mutations[m].patch: "},
		{"mutation that spoils an object", "mutations: [{name: m, patch: 'metadata: {labels: {a: 1}}'}]", ".", map[string]string{"a.yaml": configMap("a")},
			corev1alpha1.ReasonInvalidObjects, `after mutation "m": ConfigMap team/a: the label "a" is not a string`},
		{"hook without name", "lifecycle: {hooks: [{name: h, 'on': preSync, template: {apiVersion: v1, kind: Pod}}]}", ".", map[string]string{"a.yaml": configMap("a")},
			corev1alpha1.ReasonInvalidConfiguration, "spec.lifecycle.hooks[h].template: Pod: metadata is missing"},
		{"lookup", "render: {helm: {lookup: true}}", ".", map[string]string{"Chart.yaml": chartYAML}, corev1alpha1.ReasonNotBuilt, "spec.render.helm.lookup"},
		{"version that is none", "render: {helm: {kubeVersion: soon}}", ".", map[string]string{"Chart.yaml": chartYAML}, corev1alpha1.ReasonInvalidConfiguration, `kubeVersion "soon"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			in := input(t, test.spec, test.files)
			in.Artifact.Path = test.path
			err := failed(t, in)
			g.Expect(err.Error()).To(ContainSubstring(test.want))
			g.Expect(err.Reason).To(Equal(test.reason))
		})
	}
}

func TestCausesCanBeTested(t *testing.T) {
	err := failed(t, input(t, "render: {helm: {valuesFiles: [prod.yaml]}}", map[string]string{"Chart.yaml": chartYAML}))
	NewWithT(t).Expect(errors.Is(err, fs.ErrNotExist)).To(BeTrue())
}

func TestErrorsOfTheClusterPassThrough(t *testing.T) {
	unreachable := errors.New("unreachable")
	for _, files := range []map[string]string{{"Chart.yaml": chartYAML}, {"a.yaml": configMap("a")}} {
		g := NewWithT(t)
		in := input(t, "", files)
		in.Cluster = &cluster{failing: unreachable}
		r := render.New(render.Options{})
		_, err := r.Render(t.Context(), in)
		g.Expect(err).To(MatchError(unreachable))
		in.Cluster = &cluster{}
		_, err = r.Render(t.Context(), in)
		g.Expect(err).NotTo(HaveOccurred())
	}
}

func TestNamespaces(t *testing.T) {
	g := NewWithT(t)
	files := map[string]string{"a.yaml": `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: c, namespace: lost}}
`}
	g.Expect(described(rendered(t, input(t, "", files)).Objects)).To(Equal([]string{"ConfigMap other/b", "ConfigMap team/a", "ClusterRole c"}))
	g.Expect(described(rendered(t, input(t, "targetNamespace: shop", files)).Objects)).To(Equal([]string{"ConfigMap other/b", "ConfigMap shop/a", "ClusterRole c"}))
}

func TestOrder(t *testing.T) {
	g := NewWithT(t)
	result := rendered(t, input(t, "", map[string]string{"a.yaml": `
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: api}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: hook}}
---
{apiVersion: example.test/v1, kind: Widget, metadata: {name: early, annotations: {convoy.kumodo.io/stage: "-9"}}}
---
{apiVersion: example.test/v1, kind: Widget, metadata: {name: a}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: z}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: first, annotations: {convoy.kumodo.io/stage: "-1"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec: {group: example.test, scope: Namespaced, names: {kind: Widget}, versions: [{name: v1, served: true}]}
---
{apiVersion: v1, kind: Namespace, metadata: {name: space}}
`}))
	var got []string
	stages := map[int32][]string{}
	for _, o := range result.Objects {
		got = append(got, describe(o.Object))
		stages[o.Stage] = append(stages[o.Stage], o.Object.GetName())
	}
	g.Expect(got).To(Equal([]string{
		"Namespace space", "CustomResourceDefinition widgets.example.test",
		"Secret team/s", "Job team/first", "Widget team/early",
		"Service team/z", "Deployment team/a", "Deployment team/b", "Widget team/a",
		"ValidatingWebhookConfiguration hook", "APIService api",
	}))
	g.Expect(stages).To(Equal(map[int32][]string{
		-2: {"space", "widgets.example.test"}, -1: {"s", "first", "early"}, 0: {"z", "a", "b", "a"}, 1: {"hook", "api"},
	}))
}

func TestEverythingInCRDFoldersComesFirst(t *testing.T) {
	g := NewWithT(t)
	files := map[string]string{
		"Chart.yaml":            chartYAML,
		"templates/a.yaml":      "{apiVersion: example.test/v1, kind: Widget, metadata: {name: a}}\n" + configMap("b"),
		"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/crds/all.yaml": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec: {group: example.test, scope: Cluster, names: {kind: Widget}, versions: [{name: v1, served: true}]}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {validations: [{expression: "{{ not templated }}"}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: p}, spec: {policyName: p}}
`}
	install := input(t, "", files)
	upgrade := install
	upgrade.Upgrade = true
	for _, in := range []render.Input{install, upgrade} {
		result := rendered(t, in)
		g.Expect(described(result.Objects)).To(Equal([]string{
			"CustomResourceDefinition widgets.example.test", "ValidatingAdmissionPolicy p", "ValidatingAdmissionPolicyBinding p", "ConfigMap team/b", "Widget a",
		}))
		var stages []int32
		for _, o := range result.Objects {
			stages = append(stages, o.Stage)
		}
		g.Expect(stages).To(Equal([]int32{-2, -2, -2, -1, 0}))
		g.Expect(result.Objects[1].Object.Object["spec"]).To(Equal(map[string]any{"validations": []any{map[string]any{"expression": "{{ not templated }}"}}}))
		g.Expect(result.Digest).To(Equal(rendered(t, install).Digest))
	}
	skipped := "render: {helm: {skipCRDs: true}}"
	g.Expect(failed(t, input(t, skipped, files)).Reason).To(Equal(corev1alpha1.ReasonUnknownKind))
	files["templates/a.yaml"] = configMap("b")
	g.Expect(described(rendered(t, input(t, skipped, files)).Objects)).To(Equal([]string{"ConfigMap team/b"}))
}

func TestDuplicates(t *testing.T) {
	role := func(namespace string) string {
		return "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: p, namespace: " + namespace + "}}\n"
	}
	tests := []struct {
		name  string
		files map[string]string
		want  string // "" when it is no duplicate
	}{
		{"with and without the namespace", map[string]string{"a.yaml": configMap("a"), "b.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns1}}"},
			"ConfigMap ns1/a is in the render twice: in a.yaml and in b.yaml"},
		{"two namespaces", map[string]string{"a.yaml": role("ns1") + role("ns2")}, ""},
		{"kinds of two groups", map[string]string{"a.yaml": "{apiVersion: known.test/v1, kind: Secret, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: a}}"}, ""},
		{"item of a list", map[string]string{"a.yaml": configMap("a"), "b.yaml": "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}"},
			"in a.yaml and in b.yaml, item 1"},
		{"equal documents", map[string]string{"a.yaml": configMap("a") + configMap("a")}, "in a.yaml, document 1 and in a.yaml, document 2"},
		{"two versions of a group", map[string]string{"a.yaml": "{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: a}}\n---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}}"},
			"HorizontalPodAutoscaler ns1/a is in the render twice"},
		{"templates", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a"), "templates/b.yaml": configMap("a")},
			"in web/templates/a.yaml and in web/templates/b.yaml"},
		{"documents of a template", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a") + configMap("a")},
			"in web/templates/a.yaml, document 1 and in web/templates/a.yaml, document 2"},
		{"item of a template's list", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a"),
			"templates/b.yaml": "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: a}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns1}}]}"},
			"ConfigMap ns1/a is in the render twice: in web/templates/a.yaml and in web/templates/b.yaml, item 2"},
		{"charts", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a"),
			"charts/s/Chart.yaml": "apiVersion: v2\nname: s\nversion: 1.0.0\n", "charts/s/templates/a.yaml": configMap("a")},
			"in web/charts/s/templates/a.yaml and in web/templates/a.yaml"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			in := input(t, "targetNamespace: ns1", test.files)
			if test.want == "" {
				g.Expect(rendered(t, in).Objects).To(HaveLen(2))
				return
			}
			err := failed(t, in)
			g.Expect(err.Error()).To(ContainSubstring(test.want))
			g.Expect(err.Reason).To(Equal(corev1alpha1.ReasonInvalidObjects))
		})
	}
}

func TestMutations(t *testing.T) {
	g := NewWithT(t)
	in := input(t, `
targetNamespace: shop
mutations:
- {name: first, target: {kind: ConfigMap, namespace: shop}, type: merge, patch: 'data: {a: "1", b: "1"}'}
- {name: second, target: {name: a}, type: json, patch: '[{"op": "replace", "path": "/data/b", "value": "2"}]'}
- {name: hooks too, target: {group: batch}, patch: 'metadata: {labels: {marked: "yes"}}'}
- {name: nothing, target: {kind: None}, patch: 'a: b', optional: true}
lifecycle: {hooks: [{name: migrate, 'on': preSync, template: {apiVersion: batch/v1, kind: Job, metadata: {name: m}}}]}
`, map[string]string{"a.yaml": configMap("a")})
	result := rendered(t, in)
	g.Expect(result.Objects[0].Object.Object["data"]).To(Equal(map[string]any{"a": "1", "b": "2"}))
	g.Expect(result.Hooks[0].Object.Object.GetLabels()).To(Equal(map[string]string{"marked": "yes"}))
	g.Expect(result.Hooks[0].Object.Object.GetNamespace()).To(Equal("shop"))
}

func TestKeep(t *testing.T) {
	g := NewWithT(t)
	result := rendered(t, input(t, "", map[string]string{"a.yaml": `
{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {convoy.kumodo.io/prune: disabled}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: b, annotations: {helm.sh/resource-policy: keep}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: c, annotations: {convoy.kumodo.io/prune: enabled}}}
`}))
	g.Expect([]bool{result.Objects[0].Keep, result.Objects[1].Keep, result.Objects[2].Keep}).To(Equal([]bool{true, true, false}))
}

// TestManyWhoAskAtOnce has some of them find what others have just prepared, rendered or finished.
func TestManyWhoAskAtOnce(t *testing.T) {
	for range 100 {
		askAtOnce(NewWithT(t), t)
	}
}

// askAtOnce renders for many Releases that want the same.
func askAtOnce(g *WithT, t *testing.T) (*render.Renderer, render.Input) {
	r := render.New(render.Options{})
	files := map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "{{ $n := randAlphaNum 12 | lower }}" + configMap("a-{{ $n }}")}
	in := input(t, "render: {helm: {releaseName: shop}}", files)
	var wait sync.WaitGroup
	results := make([]*render.Result, 8)
	for i := range results {
		wait.Go(func() {
			mine := in
			mine.Release = in.Release.DeepCopy()
			mine.Release.Name = mine.Release.Name + string(rune('a'+i)) // not part of the render
			mine.Cluster = &cluster{}
			results[i], _ = r.Render(t.Context(), mine)
		})
	}
	wait.Wait()
	g.Expect(results[0]).NotTo(BeNil())
	for _, result := range results {
		g.Expect(result).To(BeIdenticalTo(results[0]))
	}
	g.Expect(r.Stats().Renders).To(Equal(int64(1)))
	return r, in
}

func TestTheSameInputsAreRenderedOnce(t *testing.T) {
	g := NewWithT(t)
	r, in := askAtOnce(g, t)
	changes := map[string]func(*render.Input){
		"content":      func(in *render.Input) { in.Artifact.Digest = "sha256:other" },
		"values":       func(in *render.Input) { in.Release.Spec.Render.Helm.Values = raw(`{"a": 1}`) },
		"namespace":    func(in *render.Input) { in.Release.Spec.TargetNamespace = "other" },
		"name":         func(in *render.Input) { in.Release.Spec.Render.Helm.ReleaseName = "other" },
		"capabilities": func(in *render.Input) { in.Cluster = &cluster{version: "v1.30.0"} },
		"upgrade":      func(in *render.Input) { in.Upgrade = true },
		"mutations": func(in *render.Input) {
			in.Release.Spec.Mutations = []corev1alpha1.Mutation{{Name: "m", Patch: "data: {a: b}"}}
		},
	}
	renders := int64(1)
	for name, change := range changes {
		changed := in
		changed.Release = in.Release.DeepCopy()
		change(&changed)
		_, err := r.Render(t.Context(), changed)
		g.Expect(err).NotTo(HaveOccurred())
		renders++
		g.Expect(r.Stats().Renders).To(Equal(renders), name)
	}
}

func TestFailuresAreRememberedToo(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{})
	in := input(t, "", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "{{ fail \"no\" }}"})
	for range 3 {
		_, err := r.Render(t.Context(), in)
		g.Expect(err).To(MatchError(ContainSubstring("no")))
	}
	g.Expect(r.Stats()).To(Equal(render.Stats{Renders: 1, Failures: 1, Hits: 2}))
}

func TestKindsAreAskedForAgain(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{})
	in := input(t, "", map[string]string{"a.yaml": "{apiVersion: x.test/v1, kind: A, metadata: {name: a}}"})
	_, err := r.Render(t.Context(), in)
	g.Expect(err).To(HaveOccurred())
	in.Cluster = everyKind{}
	result, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(described(result.Objects)).To(Equal([]string{"A team/a"}))
	g.Expect(r.Stats().Renders).To(Equal(int64(1)))
}

func TestACallerCanLeave(t *testing.T) {
	g := NewWithT(t)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := render.New(render.Options{})
	in := input(t, "", map[string]string{"a.yaml": configMap("a")})
	if _, err := r.Render(ctx, in); err != nil { // the render may be done before anyone looks
		g.Expect(err).To(MatchError(context.Canceled))
	}
	_, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Stats().Renders).To(Equal(int64(1)))
}

func TestUnstableObjectsAreNamed(t *testing.T) {
	g := NewWithT(t)
	result := rendered(t, input(t, "", map[string]string{
		"Chart.yaml":       chartYAML,
		"templates/a.yaml": configMap("a", "data: {password: {{ randAlphaNum 16 | quote }}}") + configMap("b"),
	}))
	g.Expect(result.NonDeterministic).To(Equal([]corev1alpha1.ObjectKey{{Version: "v1", Kind: "ConfigMap", Namespace: "team", Name: "a"}}))
	g.Expect(rendered(t, input(t, "", map[string]string{"a.yaml": configMap("a")})).NonDeterministic).To(BeEmpty())
}

func TestSecretsDoNotAppearInErrors(t *testing.T) {
	const canary = "hunter2-canary"
	spec := "render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}"
	references := secrets{"s": {"values.yaml": []byte("password: " + canary + "\nport: 54321\n")}}
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"fail", map[string]string{"templates/a.yaml": "{{ fail .Values.password }}"}, "execution error at (web/templates/a.yaml:1:3): ***"},
		{"fail with base64", map[string]string{"templates/a.yaml": "{{ fail (.Values.password | b64enc | upper | lower) }}"}, "***"},
		{"schema", map[string]string{"values.schema.json": `{"properties": {"password": {"enum": ["x"]}, "port": {"maximum": 1}}}`}, "/password"},
		{"template from a value", map[string]string{"templates/a.yaml": "{{ tpl (printf \"{{ %s\" .Values.password) . }}"}, "parsing the text that tpl is given"},
		{"text that is no YAML", map[string]string{"templates/a.yaml": "a: {{ .Values.password }}: b"}, "web/templates/a.yaml"},
		{"annotation", map[string]string{"templates/a.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: {{ .Values.password }}, annotations: {a: 1}}}"}, "Pod ***"},
		{"duplicate", map[string]string{"templates/a.yaml": configMap("{{ .Values.password }}"), "templates/b.yaml": configMap("{{ .Values.password }}")}, "ConfigMap team/*** is in the render twice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			test.files["Chart.yaml"] = chartYAML
			in := input(t, spec, test.files)
			in.References = references
			err := failed(t, in)
			g.Expect(err.Error()).To(ContainSubstring(test.want))
			for inner := error(err); inner != nil; inner = errors.Unwrap(inner) {
				g.Expect(inner.Error()).NotTo(ContainSubstring(canary))
				g.Expect(inner.Error()).NotTo(ContainSubstring("54321"))
			}
		})
	}
}

// TestSecretsThatAreInvalid are named with the key that is wrong, and with nothing that they
// hold.
func TestSecretsThatAreInvalid(t *testing.T) {
	for _, tc := range []struct{ name, given, want string }{
		{"a number", "stringData: {port: 54321, password: hunter2-canary}", `the value of "port" in stringData is not a string but a number; quote it`},
		{"a boolean", "stringData: {enabled: true, password: hunter2-canary}", `the value of "enabled" in stringData is not a string but a boolean; quote it`},
		{"a map", "stringData: {password: {inner: hunter2-canary}}", `the value of "password" in stringData is not a string`},
		{"not base64", "data: {password: hunter2-canary}", `the value of "password" in data is not base64`},
		{"a number that does not fit", "stringData: {port: 184467440737095516154321, password: hunter2-canary}", ""},
		{"no YAML", "stringData: {password: hunter2-canary, port: 54321", ""},
		{"no YAML in a text", "stringData:\n  password: \"hunter2-canary\\q\"\n", ""},
		{"a label", "metadata: {name: a, labels: {port: 54321}}\nstringData: {password: hunter2-canary}", ""},
	} {
		text := "apiVersion: v1\nkind: Secret\n" + tc.given
		if !strings.Contains(tc.given, "metadata") {
			text = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n" + tc.given
		}
		for engine, files := range map[string]map[string]string{
			"plain": {"a.yaml": text}, "kustomize": {"kustomization.yaml": "resources: [a.yaml]", "a.yaml": text},
			"kustomize with a patch": {"kustomization.yaml": "resources: [a.yaml]\npatches: [{patch: '[{\"op\": \"add\", \"path\": \"/metadata/finalizers\", \"value\": [\"a\"]}]', target: {kind: Secret}}]", "a.yaml": text},
			"helm":                   {"Chart.yaml": chartYAML, "templates/a.yaml": text},
		} {
			t.Run(tc.name+"/"+engine, func(t *testing.T) {
				g := NewWithT(t)
				err := failed(t, input(t, "", files))
				for inner := error(err); inner != nil; inner = errors.Unwrap(inner) {
					g.Expect(inner.Error()).To(And(Not(ContainSubstring("hunter2")), Not(ContainSubstring("54321"))))
				}
				if tc.want != "" {
					g.Expect(err.Error()).To(And(ContainSubstring("Secret db: "+tc.want), ContainSubstring("a.yaml")))
				}
			})
		}
	}
}

func TestMissingSecrets(t *testing.T) {
	g := NewWithT(t)
	in := input(t, "render: {helm: {valuesFrom: [{kind: Secret, name: s, key: none}]}}", map[string]string{"Chart.yaml": chartYAML})
	in.References = secrets{}
	err := failed(t, in)
	g.Expect(err.Reason).To(Equal(corev1alpha1.ReasonSecretInvalid))
	g.Expect(err.Error()).To(Equal(`valuesFrom: Secret "s" has no "none"; add it, or set optional: true`))
}

func TestMark(t *testing.T) {
	g := NewWithT(t)
	o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "labels": map[string]any{"b": "c"}}}}
	render.Mark(o, "here", "team", "web")
	g.Expect(o.GetLabels()).To(Equal(map[string]string{"b": "c", corev1alpha1.LabelOwner: corev1alpha1.OwnerLabelValue("here", "team", "web")}))
	g.Expect(o.GetAnnotations()).To(Equal(map[string]string{corev1alpha1.AnnotationRelease: "here/team/web"}))
}

func TestSelects(t *testing.T) {
	g := NewWithT(t)
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}}}
	g.Expect(render.Selects(corev1alpha1.ObjectSelector{Kind: "Pod", Group: "core"}, o)).To(BeTrue())
	g.Expect(render.Selects(corev1alpha1.ObjectSelector{Kind: "Job"}, o)).To(BeFalse())
	g.Expect(render.Selects(corev1alpha1.ObjectSelector{LabelSelector: "a=b=c"}, o)).To(BeFalse())
}

func TestTimeouts(t *testing.T) {
	g := NewWithT(t)
	hooks := "lifecycle: {hooks: [{name: a, 'on': preSync, template: {apiVersion: v1, kind: Pod, metadata: {name: a}}}, {name: b, 'on': preSync, timeout: 1s, template: {apiVersion: v1, kind: Pod, metadata: {name: b}}}]}"
	files := map[string]string{"a.yaml": configMap("a")}
	result := rendered(t, input(t, hooks, files))
	g.Expect([]time.Duration{result.Hooks[0].Timeout, result.Hooks[1].Timeout}).To(Equal([]time.Duration{5 * time.Minute, time.Second}))
	later := rendered(t, input(t, "sync: {timeout: 7s}\n"+hooks, files))
	g.Expect(later.Hooks[0].Timeout).To(Equal(7 * time.Second))
	g.Expect(later.Digest).To(Equal(result.Digest))
}
