// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"strings"
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
- {op: test, path: /spec/parts/0, value: {size: 1.0, name: a}}
- {op: copy, from: /spec/parts/0, path: /spec/x~1y}
- {op: replace, path: /spec/x~1y/size, value: 7}
- {op: move, from: /spec/x~1y, path: /spec/parts/-}
- {op: replace, path: /spec/parts/2/size, value: null}
`, corev1alpha1.MutationJSON, `
apiVersion: t.test/v1
kind: Widget
metadata: {name: web}
spec: {id: 9007199254740993, parts: [{name: a, size: 1}, {name: x, size: 9007199254740995}, {name: b, size: null}, {name: a, size: 7}]}
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := mutation.Compile(corev1alpha1.Mutation{Name: "m", Type: test.kind, Patch: test.patch})
			g.Expect(err).NotTo(HaveOccurred())
			given := object(t, test.given)
			got, err := m.Apply(t.Context(), given)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Object).To(Equal(object(t, test.want).Object))
			g.Expect(given.Object).To(Equal(object(t, test.given).Object), "the given object was changed")
			empty(got.Object)
			g.Expect(given.Object).To(Equal(object(t, test.given).Object), "they share something")
			again, err := m.Apply(t.Context(), given)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again.Object).To(Equal(object(t, test.want).Object), "the patch shares something")
		})
	}
}

// empty takes out whatever is in maps and lists.
func empty(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			empty(inner)
			delete(v, key)
		}
	case []any:
		for i, inner := range v {
			empty(inner)
			v[i] = nil
		}
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
		{"a replacement of what is not there", "[{op: replace, path: /spec/none, value: 1}]", corev1alpha1.MutationJSON, `operation 1 (replace /spec/none): there is no "none"`},
		{"a replacement behind the end", "[{op: replace, path: /spec/parts/2, value: 1}]", corev1alpha1.MutationJSON, "there is no place 2 in the list: it has 2 entries"},
		{"a replacement at the end", "[{op: replace, path: /spec/parts/-, value: 1}]", corev1alpha1.MutationJSON, `"-" is no place in a list`},
		{"a copy of what is not there", "[{op: copy, from: /spec/none, path: /spec/x}]", corev1alpha1.MutationJSON, `operation 1 (copy /spec/x): from: there is no "none"`},
		{"a move of what is not there", "[{op: move, from: /spec/none, path: /spec/x}]", corev1alpha1.MutationJSON, `from: there is no "none"`},
		{"a test of what is not there", "[{op: test, path: /spec/none, value: null}]", corev1alpha1.MutationJSON, `there is no "none"`},
		{"a removal by a place from the end", "[{op: remove, path: /spec/parts/-1}]", corev1alpha1.MutationJSON, `"-1" is no place in a list`},
		{"a removal of all", "[{op: remove, path: ''}]", corev1alpha1.MutationJSON, "the path is that of the object as a whole"},
		{"a replacement of all", "[{op: replace, path: '', value: 2}]", corev1alpha1.MutationJSON, "the patch would leave no object"},
		{"an addition to a text", "[{op: add, path: /metadata/name/x, value: 2}]", corev1alpha1.MutationJSON, "is no map and no list"},
		{"an addition under what is not there", "[{op: add, path: /metadata/annotations/x, value: y}]", corev1alpha1.MutationJSON, `there is no "annotations"`},
		{"copies that grow", "[" + strings.Repeat("{op: copy, from: /spec, path: /spec/x}, {op: copy, from: /spec, path: /spec/y}, ", 40) + "]", corev1alpha1.MutationJSON, "the copy operations of one patch copy more than 16 MiB"},
		{"a test for another integer that is the same as a float", `[{"op": "test", "path": "/spec/id", "value": 9007199254740992.0}]`, corev1alpha1.MutationJSON, "test failed"},
		{"nothing left", "[{op: add, path: '', value: []}]", corev1alpha1.MutationJSON, "the patch would leave no object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := mutation.Compile(corev1alpha1.Mutation{Type: test.kind, Patch: test.patch})
			g.Expect(err).NotTo(HaveOccurred())
			_, err = m.Apply(t.Context(), object(t, custom))
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

// TestJSONIsReadAsJSON has texts that are JSON and no YAML, or other YAML.
func TestJSONIsReadAsJSON(t *testing.T) {
	for _, tc := range []struct {
		name, patch string
		kind        corev1alpha1.MutationType
		want        any
	}{
		{"slashes with a backslash", `[{"op": "add", "path": "\/spec\/x", "value": "a\/b"}]`, corev1alpha1.MutationJSON, "a/b"},
		{"two halves of a character", `[{"op": "add", "path": "/spec/x", "value": "\ud83d\ude00"}]`, corev1alpha1.MutationJSON, "\U0001f600"},
		{"a control character", "[{\"op\": \"add\", \"path\": \"/spec/x\", \"value\": \"a\x7fb\"}]", corev1alpha1.MutationJSON, "a\x7fb"},
		{"tabs", "{\n\t\"spec\":\t{\"x\": \"\u2028\"}\n}", corev1alpha1.MutationMerge, "\u2028"},
		{"a strategic patch", `{"spec": {"x": "\/"}}`, corev1alpha1.MutationStrategic, "/"},
		{"integers", `{"spec": {"x": 9007199254740993}}`, corev1alpha1.MutationMerge, int64(9007199254740993)},
		{"a text that looks like a number", `{"spec": {"x": "1e400"}}`, corev1alpha1.MutationMerge, "1e400"},
		{"such a text in YAML", `spec: {x: '1e400'}`, corev1alpha1.MutationMerge, "1e400"},
		{"merged maps of YAML, one of which has the key", "a: &a {x: 1, y: 2}\nspec: {<<: *a, x: 3}", corev1alpha1.MutationMerge, int64(3)},
		{"a move of all to where it is", `[{"op": "move", "from": "", "path": ""}, {"op": "move", "from": "/spec/drop", "path": "/spec/drop"}, {"op": "move", "from": "/spec/drop", "path": "/spec/x"}]`, corev1alpha1.MutationJSON, int64(1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := mutation.Compile(corev1alpha1.Mutation{Name: "m", Type: tc.kind, Patch: tc.patch})
			g.Expect(err).NotTo(HaveOccurred())
			got, err := m.Apply(t.Context(), object(t, custom))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Object["spec"].(map[string]any)["x"]).To(Equal(tc.want))
		})
	}
}

// TestAmbiguousEntries has lists in which the field that entries are known by is no key.
func TestAmbiguousEntries(t *testing.T) {
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: app, image: a, ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: UDP}, {containerPort: 80}], env: [{name: A, value: a}]}]
  hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]
  topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}, {topologyKey: zone, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway}]
`
	tests := []struct{ name, patch, want string }{
		{"both in the object", "spec: {containers: [{name: app, ports: [{containerPort: 53, protocol: UDP, name: dns}]}]}",
			"spec.containers[name: app].ports[containerPort: 53] is ambiguous: it is both entry 0 and entry 1 of the list in the object"},
		{"a removal", "spec: {topologySpreadConstraints: [{topologyKey: zone, $patch: delete}]}", "topologySpreadConstraints[topologyKey: zone] is ambiguous"},
		{"both in the patch", "spec: {hostAliases: [{ip: 10.0.0.2, hostnames: [a]}, {ip: 10.0.0.2, hostnames: [b]}]}", "both entry 0 and entry 1 of the list in the patch"},
		{"one number in two spellings", `{"spec": {"containers": [{"name": "app", "ports": [{"containerPort": 81}, {"containerPort": 81.0}]}]}}`, "both entry 0 and entry 1 of the list in the patch"},
		{"another entry", "spec: {containers: [{name: app, ports: [{containerPort: 80, name: web}]}]}", ""},
		{"a list that is replaced", "spec: {containers: [{name: app, ports: [{$patch: replace}, {containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: UDP}]}]}", ""},
		{"a list that is new", "spec: {initContainers: [{name: x, ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: UDP}]}]}", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := mutation.Compile(corev1alpha1.Mutation{Patch: test.patch})
			g.Expect(err).NotTo(HaveOccurred())
			_, err = m.Apply(t.Context(), object(t, pod))
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
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
			_, err = m.Apply(t.Context(), object(t, secret))
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
		{"an operation that does not exist", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: nope, path: /a}]"}, `operation 1: the op "nope" is none of add,`},
		{"no value", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: add, path: /a}]"}, "operation 1: add needs value"},
		{"no path", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: remove}]"}, "operation 1: the path is missing"},
		{"a move into itself", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: move, from: /a, path: /a/b}]"}, "cannot be moved into itself"},
		{"no operations", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "a: b"}, "type: json needs a list of operations"},
		{"a tilde before something else", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: remove, path: /a/b~2c}]"},
			`operation 1: the path "/a/b~2c" has a ~ that neither 0 nor 1 follows; write ~0 for ~ itself`},
		{"a tilde before a letter", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: add, path: /x~y, value: 1}]"}, "neither 0 nor 1 follows"},
		{"a tilde at the end", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: copy, path: /a, from: /a~0~1~}]"}, `the from "/a~0~1~" has a ~`},
		{"a move of all into itself", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: move, from: '', path: /a}]"}, "cannot be moved into itself"},
		{"a path that is there twice", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: "[{op: remove, path: /a, path: /b}]"}, `patch: yaml: line 1: the key "path" is there twice`},
		{"a path that is there twice in JSON", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: `[{"op": "remove", "path": "/a", "path": "/b", "x": 1e400}]`}, `patch: json: the key "path" is there twice`},
		{"a field that is there twice", corev1alpha1.Mutation{Patch: "spec: &s {a: 1}\nother: *s\nspec: {}\n"}, `patch: yaml: line 3: the key "spec" is there twice`},
		{"a number that no float holds", corev1alpha1.Mutation{Type: corev1alpha1.MutationMerge, Patch: "a: {b: -1e400}"}, "patch: yaml: line 1: the number does not fit into 64 bits"},
		{"such a number in JSON", corev1alpha1.Mutation{Type: corev1alpha1.MutationMerge, Patch: `{"a": {"b": 1e400}}`}, "patch: a.b: the number does not fit into 64 bits"},
		{"such a number as the value of an operation", corev1alpha1.Mutation{Type: corev1alpha1.MutationJSON, Patch: `[{"op": "add", "path": "/a", "value": [1e400]}]`}, "patch: operation 1: [0]: the number does not fit into 64 bits"},
		{"many digits", corev1alpha1.Mutation{Type: corev1alpha1.MutationMerge, Patch: "a: " + strings.Repeat("9", 400)}, "the number does not fit into 64 bits"},
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
