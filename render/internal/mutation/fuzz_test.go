// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/mutation"
)

// Whatever a patch is, it gives an object of the same kind with a name, or an error.
func FuzzApply(f *testing.F) {
	for kind, patches := range [][]string{
		{"spec: {template: {spec: {containers: [{name: app, image: 'app:2'}, {name: sidecar, $patch: delete}]}}}", "spec: {$patch: replace}", "metadata: {$setElementOrder/finalizers: [a], $retainKeys: [name]}"},
		{"metadata: {labels: null}", "{a: [1, {b: null}]}"},
		{`[{"op": "copy", "from": "/spec", "path": "/spec/x"}]`, "[{op: test, path: /spec/replicas, value: 1}, {op: move, from: /metadata/labels, path: /metadata/annotations}]"},
	} {
		for _, patch := range patches {
			f.Add(uint8(kind), patch)
		}
	}
	kinds := []corev1alpha1.MutationType{corev1alpha1.MutationStrategic, corev1alpha1.MutationMerge, corev1alpha1.MutationJSON}
	f.Fuzz(func(t *testing.T, kind uint8, patch string) {
		m, err := mutation.Compile(corev1alpha1.Mutation{Name: "m", Type: kinds[int(kind)%len(kinds)], Patch: patch})
		if err != nil {
			return
		}
		for _, text := range []string{deployment, service, custom} {
			given := object(t, text)
			got, err := m.Apply(t.Context(), given)
			if err == nil && (got.GetName() == "" || got.GetKind() != given.GetKind()) {
				t.Fatalf("%v", got.Object)
			}
		}
	})
}
