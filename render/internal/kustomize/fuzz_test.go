// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/kustomize"
)

// Whatever a kustomization says, it gives objects or an error, and stays in its content.
func FuzzRender(f *testing.F) {
	for _, text := range overlay() {
		f.Add(text, deployment)
	}
	f.Add("resources: [a.yaml]\npatches: [{target: {kind: Deployment}, path: p.yaml}]\nreplacements: [{source: {kind: Deployment}, targets: [{select: {kind: Deployment}, fieldPaths: [metadata.name]}]}]", "$patch: delete")
	f.Add("resources: [a.yaml]\nconfigMapGenerator: [{name: g, files: [p.yaml], envs: [p.yaml], behavior: merge}]\nimages: [{name: app, digest: x}]", "A=1")
	f.Add("generators: [p.yaml]\ntransformers: [p.yaml]\nopenapi: {path: p.yaml}\ncrds: [p.yaml]", "{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: p}, prefix: a}")
	f.Fuzz(func(t *testing.T, text, other string) {
		if len(text) > 4096 || len(other) > 4096 {
			return
		}
		documents, err := kustomize.Render(t.Context(), root(map[string]string{
			"kustomization.yaml": text, "a.yaml": deployment, "p.yaml": other,
		}), ".", corev1alpha1.KustomizeRender{NamePrefix: "x-"}, most)
		if err != nil {
			return
		}
		for _, d := range documents {
			if d.Object.GetName() == "" {
				t.Fatalf("%v", d.Object.Object)
			}
		}
	})
}
