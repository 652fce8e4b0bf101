// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// engines are content for each engine.
var engines = map[string]map[string]string{
	"helm":      {"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "data: {v: {{ .Values.v | quote }}, k: {{ .Capabilities.KubeVersion.Version }}}"), "values.yaml": "v: 1"},
	"kustomize": {"kustomization.yaml": "resources: [a.yaml]", "a.yaml": configMap("a")},
	"plain":     {"a.yaml": configMap("a")},
}

const richSpec = `
render: {helm: {values: {v: 2}}, kustomize: {namePrefix: x-}}
mutations: [{name: m, target: {kind: ConfigMap}, type: merge, patch: '{"metadata": {"labels": {"a": "b"}}}'}]
lifecycle: {hooks: [{name: h, "on": postSync, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: h}}}]}
sync: {timeout: 1m}
`

func TestUnchangedInputsAllocateNothing(t *testing.T) {
	for name, files := range engines {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, in := render.New(render.Options{}), input(t, richSpec, files)
			in.Cluster = catalogueCluster{}
			first, err := r.Render(t.Context(), in)
			g.Expect(err).NotTo(HaveOccurred())
			in.Release = in.Release.DeepCopy() // as each pass has a copy of its own
			var again *render.Result
			ctx := t.Context()
			g.Expect(testing.AllocsPerRun(10, func() { again, err = r.Render(ctx, in) })).To(BeZero())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(BeIdenticalTo(first))
			g.Expect(r.Stats()).To(Equal(render.Stats{Renders: 1, Hits: 11}))
		})
	}
}

// scoped is a cluster in which ConfigMaps live in no namespace.
type scoped struct{ cluster }

func (*scoped) Namespaced(context.Context, schema.GroupVersionKind) (bool, error) { return false, nil }

func TestAnythingElseIsAnotherInput(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(in *render.Input)
	}{
		{"a mutation", func(in *render.Input) { in.Release.Spec.Mutations[0].Patch = `{"metadata": {"labels": {"a": "c"}}}` }},
		{"one mutation less", func(in *render.Input) { in.Release.Spec.Mutations = nil }},
		{"values", func(in *render.Input) { in.Release.Spec.Render.Helm.Values = raw(`{"v": 3}`) }},
		{"a hook", func(in *render.Input) {
			in.Release.Spec.Lifecycle.Hooks[0].Template = *raw(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "i"}}`)
		}},
		{"the namespace", func(in *render.Input) { in.Release.Spec.TargetNamespace = "other" }},
		{"the engine", func(in *render.Input) { in.Release.Spec.Render.Type = corev1alpha1.RenderPlain }},
		{"another Release", func(in *render.Input) { in.Release.Name = "other" }},
		{"an upgrade", func(in *render.Input) { in.Upgrade = true }},
		{"the version of the cluster", func(in *render.Input) { in.Cluster = &cluster{version: "v1.36.0"} }},
		{"the scope of a kind", func(in *render.Input) { in.Cluster = &scoped{} }},
		{"content", func(in *render.Input) {
			in.Artifact = content(".", map[string]string{"a.yaml": configMap("other"), "kustomization.yaml": "resources: [a.yaml]", "Chart.yaml": chartYAML, "templates/a.yaml": configMap("other")})
		}},
		{"content beside the path", func(in *render.Input) { in.Artifact.RootDigest = "sha256:other" }},
		{"the path", func(in *render.Input) { in.Artifact.Path = "templates" }},
	} {
		for engine, files := range engines {
			t.Run(tc.name+"/"+engine, func(t *testing.T) {
				g := NewWithT(t)
				files := with(files, map[string]string{"templates/b.yaml": configMap("b")})
				r, in := render.New(render.Options{}), input(t, richSpec, files)
				_, err := r.Render(t.Context(), in)
				g.Expect(err).NotTo(HaveOccurred())
				in.Release = in.Release.DeepCopy()
				tc.change(&in)
				got, gotErr := r.Render(t.Context(), in)
				want, wantErr := render.New(render.Options{}).Render(t.Context(), in)
				if wantErr != nil {
					g.Expect(gotErr).To(MatchError(wantErr.Error()))
					return
				}
				g.Expect(gotErr).NotTo(HaveOccurred())
				g.Expect([]string{got.Digest, got.Inputs}).To(Equal([]string{want.Digest, want.Inputs}))
			})
		}
	}
}

func TestValuesOfTheHostAreReadEachTime(t *testing.T) {
	g := NewWithT(t)
	files := map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "data: {v: {{ .Values.v }}}")}
	r, in := render.New(render.Options{}), input(t, "render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}", files)
	host := secrets{"s": {"values.yaml": []byte("v: one")}}
	in.References = host
	first, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	host["s"]["values.yaml"] = []byte("v: two")
	second, err := r.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.Digest).NotTo(Equal(first.Digest))
}
