// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/mutation"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	documents, err := manifest.Decode("f.yaml", []byte(text))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return documents[0].Object
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {tier: front}}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - {name: app, image: "app:1", args: [a]}
      - {name: sidecar, image: "side:1"}
`

const service = `
apiVersion: v1
kind: Service
metadata: {name: web, finalizers: [a, b]}
spec: {ports: [{port: 80, targetPort: 8080}, {port: 81}, {port: 9007199254740993}], externalIPs: [a, b]}
`

const custom = `
apiVersion: t.test/v1
kind: Widget
metadata: {name: web}
spec: {id: 9007199254740993, drop: 1, parts: [{name: a, size: 1}, {name: b, size: 2}]}
`

func TestApply(t *testing.T) {
	tests := []struct {
		name, given, patch string
		kind               corev1alpha1.MutationType
		want               string
	}{
		{"strategic merges lists by key", deployment, "spec: {replicas: null, template: {spec: {containers: [{name: app, image: 'app:2'}]}}}", "", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {tier: front}}
spec: {template: {spec: {containers: [{name: app, image: "app:2", args: [a]}, {name: sidecar, image: "side:1"}]}}}
`},
		{"strategic deletes by key", deployment, "spec: {template: {spec: {containers: [{name: sidecar, $patch: delete}]}}}", corev1alpha1.MutationStrategic, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {tier: front}}
spec: {replicas: 1, template: {spec: {containers: [{name: app, image: "app:1", args: [a]}]}}}
`},
		{"strategic merges ports by number and lists of texts as they are", service, "spec: {ports: [{port: 80, name: web}, {port: 81, $patch: delete}], externalIPs: [c]}", corev1alpha1.MutationStrategic, `
apiVersion: v1
kind: Service
metadata: {name: web, finalizers: [a, b]}
spec: {ports: [{port: 80, name: web, targetPort: 8080}, {port: 9007199254740993}], externalIPs: [c]}
`},
		{"strategic replaces what it is told to", service, "spec: {$patch: replace, type: ExternalName}", corev1alpha1.MutationStrategic, `
apiVersion: v1
kind: Service
metadata: {name: web, finalizers: [a, b]}
spec: {type: ExternalName}
`},
		{"strategic takes out of and adds to lists of texts", service, "metadata: {$deleteFromPrimitiveList/finalizers: [a], finalizers: [c]}", corev1alpha1.MutationStrategic, `
apiVersion: v1
kind: Service
metadata: {name: web, finalizers: [c, b]}
spec: {ports: [{port: 80, targetPort: 8080}, {port: 81}, {port: 9007199254740993}], externalIPs: [a, b]}
`},
		{"strategic keeps only some keys", deployment, "spec: {strategy: {$retainKeys: [type], type: Recreate}, template: null}", corev1alpha1.MutationStrategic, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {tier: front}}
spec: {replicas: 1, strategy: {type: Recreate}}
`},
		{"strategic deletes what is not there", deployment, "spec: {strategy: {$patch: delete}, template: {spec: {volumes: [{name: a, $patch: delete}, {name: b}], securityContext: {runAsUser: null, fsGroup: 1}}}}", corev1alpha1.MutationStrategic, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {tier: front}}
spec: {replicas: 1, template: {spec: {securityContext: {fsGroup: 1}, volumes: [{name: b}], containers: [{name: app, image: "app:1", args: [a]}, {name: sidecar, image: "side:1"}]}}}
`},
		{"strategic of a custom kind replaces lists", custom, "spec: {parts: [{name: c}]}", corev1alpha1.MutationStrategic, `
apiVersion: t.test/v1
kind: Widget
metadata: {name: web}
spec: {id: 9007199254740993, drop: 1, parts: [{name: c}]}
`},
		{"merge removes with null and keeps numbers", custom, "spec: {drop: null, parts: [], other: {id: 9007199254740995}}", corev1alpha1.MutationMerge, `
apiVersion: t.test/v1
kind: Widget
metadata: {name: web}
spec: {id: 9007199254740993, parts: [], other: {id: 9007199254740995}}
`},
		{"json", custom, `
- {op: remove, path: /spec/drop}
- {op: add, path: /spec/parts/1, value: {name: x, size: 9007199254740995}}
- {op: test, path: /spec/id, value: 9007199254740993}
`, corev1alpha1.MutationJSON, `
apiVersion: t.test/v1
kind: Widget
metadata: {name: web}
spec: {id: 9007199254740993, parts: [{name: a, size: 1}, {name: x, size: 9007199254740995}, {name: b, size: 2}]}
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := mutation.Compile(corev1alpha1.Mutation{Name: "m", Type: test.kind, Patch: test.patch})
			g.Expect(err).NotTo(HaveOccurred())
			given := object(t, test.given)
			got, err := m.Apply(given)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Object).To(Equal(object(t, test.want).Object))
			g.Expect(given.Object).To(Equal(object(t, test.given).Object), "the given object was changed")
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	tests := []struct {
		name, patch string
		kind        corev1alpha1.MutationType
		want        string
	}{
		{"another kind", "kind: Other", corev1alpha1.MutationMerge, "would change the object's kind"},
		{"no name", "metadata: {name: null}", corev1alpha1.MutationMerge, "would remove the object's name"},
		{"path that is not there", "[{op: remove, path: /spec/none}]", corev1alpha1.MutationJSON, "/spec/none"},
		{"a test that does not hold", "[{op: test, path: /spec/id, value: 1}]", corev1alpha1.MutationJSON, "test failed"},
		{"a directive for a kind that is not built in", "spec: {parts: [{name: a, $patch: delete}]}", corev1alpha1.MutationStrategic, "$patch is for built-in kinds"},
		{"nothing left", "[{op: replace, path: '', value: []}]", corev1alpha1.MutationJSON, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := mutation.Compile(corev1alpha1.Mutation{Type: test.kind, Patch: test.patch})
			g.Expect(err).NotTo(HaveOccurred())
			_, err = m.Apply(object(t, custom))
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

// TestRefusalsShowNothingOfSecrets has patches that libraries cite when they cannot apply them.
func TestRefusalsShowNothingOfSecrets(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: hunter2-old}\ndata: {token: aHVudGVyMi10b2tlbg==}\n"
	for _, tc := range []struct {
		name, patch string
		kind        corev1alpha1.MutationType
		want        string
	}{
		{"a directive that does not exist", "stringData: {$patch: repalce, password: hunter2-new}", corev1alpha1.MutationStrategic, "unknown patch type: *** in map"},
		{"a test that does not hold", "[{op: test, path: /stringData/password, value: hunter2-new}]", corev1alpha1.MutationJSON, "/stringData/password"},
		{"a path into a text", "[{op: add, path: /stringData/password/x, value: {a: hunter2-new}}]", corev1alpha1.MutationJSON, "/stringData/password/x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := mutation.Compile(corev1alpha1.Mutation{Type: tc.kind, Patch: tc.patch})
			g.Expect(err).NotTo(HaveOccurred())
			_, err = m.Apply(object(t, secret))
			g.Expect(err).To(MatchError(And(ContainSubstring(tc.want), Not(ContainSubstring("hunter2")))))
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	tests := []struct {
		name  string
		given corev1alpha1.Mutation
		want  string
	}{
		{"no YAML", corev1alpha1.Mutation{Patch: "a: ["}, "patch: "},
		{"operations without type", corev1alpha1.Mutation{Patch: "[{op: remove, path: /a}]"}, "a list of operations needs type: json"},
		{"no operations", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "a: b"}, "type: json needs a list of operations"},
		{"path without a slash", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: test, path: /a, value: 1}, {op: add, path: spec/x, value: 1}]"},
			`patch: operation 2: the path "spec/x" does not begin with a slash; write "/spec/x"`},
		{"source without a slash", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: move, path: /a, from: metadata}]"},
			`patch: operation 1: the from "metadata" does not begin with a slash; write "/metadata"`},
		{"label selector", corev1alpha1.Mutation{Patch: "a: b", Target: corev1alpha1.ObjectSelector{LabelSelector: "a=b=c"}}, "target: labelSelector: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := mutation.Compile(test.given)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestMatches(t *testing.T) {
	tests := []struct {
		name  string
		given corev1alpha1.ObjectSelector
		want  bool
	}{
		{"everything", corev1alpha1.ObjectSelector{}, true},
		{"all fields", corev1alpha1.ObjectSelector{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", LabelSelector: "app in (web)", AnnotationSelector: "tier=front"}, true},
		{"core group", corev1alpha1.ObjectSelector{Group: "core"}, false},
		{"other kind", corev1alpha1.ObjectSelector{Kind: "StatefulSet"}, false},
		{"other namespace", corev1alpha1.ObjectSelector{Namespace: "default"}, false},
		{"label that is not there", corev1alpha1.ObjectSelector{LabelSelector: "!app"}, false},
		{"other annotation", corev1alpha1.ObjectSelector{AnnotationSelector: "tier=back"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := mutation.Compile(corev1alpha1.Mutation{Target: test.given, Patch: "a: b"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(m.Matches(object(t, deployment))).To(Equal(test.want))
		})
	}
}
