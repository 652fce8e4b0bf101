// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/kustomize"
)

// TestErrorsShowNothingOfSecrets fails where the library cites what it fails at.
func TestErrorsShowNothingOfSecrets(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: hunter2-canary}\ndata: {token: aHVudGVyMi10b2tlbg==}\n"
	patches := func(patch string) string { return "resources: [a.yaml]\npatches: [" + patch + "]\n" }
	for _, tc := range []struct{ name, given, want string }{
		{"literal without a key", "secretGenerator: [{name: s, literals: [hunter2-canary]}]", "invalid literal source ***"},
		{"literal without a key in another case", "SecretGenerator: [{name: s, Literals: [hunter2-canary]}]", "invalid literal source ***"},
		{"literal of a generator's object in another case", "Generators: ['{apiVersion: builtin, kind: SecretGenerator, metadata: {name: x}, LITERALS: [hunter2-canary]}']", "invalid literal source ***"},
		{"patch in another case", "resources: [a.yaml]\nPatches: [{Target: {Kind: Secret}, Patch: '[{op: replace, path: /stringData/password, value: hunter2-patch}]'}]\n", "value: ***"},
		{"literal of a generator's object", "generators: ['{apiVersion: builtin, kind: SecretGenerator, metadata: {name: x}, literals: [hunter2-canary]}']", "invalid literal source ***"},
		{"literal of a generator's file", "generators: [generator.yaml]", "invalid literal source ***"},
		{"patch that is no YAML", patches("{target: {kind: Secret}, patch: 'stringData: {password: hunter2-patch'}"), "unable to parse SM or JSON patch"},
		{"patch of several lines", patches("{patch: \"stringData:\\n  password: hunter2-patch\\n  token: hunter2-line\\n\"}"), "unable to parse SM or JSON patch"},
		{"patch without a kind", patches("{patch: 'stringData: {password: hunter2-patch}'}"), "stringData: {password: ***}"},
		{"patch for a pattern of kinds", patches("{target: {kind: 'Se.*'}, patch: 'data: {token: aHVudGVyMi1wYXRjaA=='}"), "unable to parse SM or JSON patch"},
		{"operations that are no JSON", patches("{target: {kind: Secret}, patch: '[{\"op\": \"replace\", \"path\": \"/stringData/password\", \"value\": \"hunter2-patch\"'}"), "unable to parse SM or JSON patch"},
		{"operations in YAML", patches("{target: {kind: Secret}, patch: '[{op: replace, path: /stringData/password, value: hunter2-patch}]'}"), "value: ***"},
		{"patch of another kind", patches("{target: {kind: ConfigMap}, patch: 'data: {a: shown'}"), "data: {a: shown"},
		{"old kind of patch", "resources: [a.yaml]\npatchesStrategicMerge: ['{kind: Secret, stringData: {password: hunter2-patch}}']", "password: ***"},
		{"transformer in the list", "resources: [a.yaml]\ntransformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, patch: hunter2-patch}']", "unable to parse SM or JSON patch"},
		{"part of a value that is not there", "resources: [a.yaml]\nreplacements: [{source: {kind: Secret, fieldPath: stringData.password, options: {delimiter: '/', index: 9}}, targets: [{select: {kind: Secret}, fieldPaths: [stringData.x]}]}]",
			"options.index 9 is out of bounds for value ***"},
		{"value in which there is nothing", "resources: [a.yaml]\nreplacements: [{source: {kind: Secret, fieldPath: stringData}, targets: [{select: {kind: Secret}, fieldPaths: [stringData.password.x.y], options: {create: true}}]}]",
			"node contents:\n***"},
		{"encoded value in which there is nothing", "resources: [a.yaml]\nreplacements: [{source: {kind: Secret, fieldPath: stringData}, targets: [{select: {kind: Secret}, fieldPaths: [data.token.x.y], options: {create: true}}]}]",
			"node contents:\n***"},
		{"part of an encoded value that is not there", "resources: [a.yaml]\nreplacements: [{source: {kind: Secret, fieldPath: data.token, options: {delimiter: '/', index: 9, encoding: base64}}, targets: [{select: {kind: Secret}, fieldPaths: [data.x]}]}]",
			"options.index 9 is out of bounds for value ***"},
		{"value of a generated Secret", "secretGenerator: [{name: db, literals: [password=hunter2-canary], files: [key=key.txt]}]\n" +
			"replacements: [{source: {kind: Secret, fieldPath: data.key, options: {delimiter: '/', index: 9, encoding: base64}}, targets: [{select: {kind: Secret}, fieldPaths: [data.x]}]}]",
			"out of bounds for value ***"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := kustomize.Render(t.Context(), root(map[string]string{
				"app/kustomization.yaml": tc.given, "app/a.yaml": secret, "app/key.txt": "hunter2-key\n",
				"app/generator.yaml": "{apiVersion: builtin, kind: SecretGenerator, metadata: {name: x}, literals: [hunter2-canary]}",
			}), "app", corev1alpha1.KustomizeRender{}, most)
			g.Expect(err).To(MatchError(And(ContainSubstring(tc.want), Not(ContainSubstring("hunter2")), Not(ContainSubstring("aHVudGVyMi")))))
			g.Expect(strings.Count(err.Error(), "building the kustomization in app: ")).To(Equal(1))
		})
	}
}
