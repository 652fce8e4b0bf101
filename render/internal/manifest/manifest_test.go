// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/manifest"
)

const stream = `apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data:
  conf: |+
    start
    ---
    note: "a --- b"

---
# only a comment
--- # separator with a comment
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
data: {k: "--- not a separator"}
...
`

func TestDecodeCutsStreamsIntoDocuments(t *testing.T) {
	tests := []struct {
		name, given string
	}{
		{"line feeds", stream},
		{"carriage returns", strings.ReplaceAll(stream, "\n", "\r\n")},
		{"byte order mark", "\xef\xbb\xbf" + stream},
		{"mark and carriage returns", "\xef\xbb\xbf" + strings.ReplaceAll(stream, "\n", "\r\n")},
		{"first and last separator without newline", "---\n" + stream + "---"},
		{"directive", "%YAML 1.1\n---\n" + stream},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			documents, err := manifest.Decode("a.yaml", []byte(test.given))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(documents).To(HaveLen(2))
			g.Expect(documents[0].Object.Object["data"]).To(Equal(map[string]any{"conf": "start\n---\nnote: \"a --- b\"\n\n"}))
			g.Expect(documents[1].Object.Object["data"]).To(Equal(map[string]any{"k": "--- not a separator"}))
			g.Expect(documents[1].Origin).To(Equal("a.yaml, document 2"))
		})
	}
}

func TestDecodeGivesObjects(t *testing.T) {
	tests := []struct {
		name, file, given string
		want              []string
	}{
		{"one document is named by its file", "a.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: a}}", []string{"Secret a < a.yaml"}},
		{"nothing", "a.yaml", "", nil},
		{"comments only", "a.yaml", "# nothing\n---\n\n---\n# here\n", nil},
		{"null", "a.yaml", "null\n---\n~\n", nil},
		{"document in the line of its separator", "a.yaml", "--- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n", []string{"Secret a < a.yaml"}},
		{"JSON", "a.json", "\xef\xbb\xbf" + `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}`, []string{"Secret a < a.json"}},
		{"JSON values in a row", "a.json",
			`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}} {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}`,
			[]string{"Secret a < a.json, document 1", "Secret b < a.json, document 2"}},
		{"list", "a.yaml", `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: a}}
- apiVersion: v1
  kind: List
  items: [{apiVersion: v1, kind: Secret, metadata: {name: b}}]
`, []string{"Secret a < a.yaml, item 1", "Secret b < a.yaml, item 2, item 1"}},
		{"typed list", "a.yaml", `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleList
metadata: {resourceVersion: "7"}
items: [{metadata: {name: a, namespace: ns}}]
`, []string{"Role ns/a < a.yaml, item 1"}},
		{"empty list", "a.yaml", "{apiVersion: v1, kind: List, items: null}", nil},
		{"an object that is only called a list", "a.yaml",
			"{apiVersion: net.test/v1, kind: AllowList, metadata: {name: a}, items: [10.0.0.1]}", []string{"AllowList a < a.yaml"}},
		{"anchors and merge keys", "a.yaml", `
apiVersion: v1
kind: ConfigMap
metadata: &meta {name: a, labels: &labels {app: a}}
data: {<<: *labels, extra: b}
`, []string{"ConfigMap a < a.yaml"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			documents, err := manifest.Decode(test.file, []byte(test.given))
			g.Expect(err).NotTo(HaveOccurred())
			var got []string
			for _, d := range documents {
				got = append(got, manifest.Name(d.Object.Object)+" < "+d.Origin)
			}
			g.Expect(got).To(Equal(test.want))
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	object := func(rest string) string { return "apiVersion: v1\nkind: ConfigMap\n" + rest }
	tests := []struct {
		name, given, want string
		invalid           bool // the object is at fault, not the text
	}{
		{"broken YAML", "a: [", "f.yaml: yaml: line 1", false},
		{"broken second document", object("metadata: {name: a}\n---\n") + "a: [", "f.yaml, document 2: ", false},
		{"a list", "- a", "f.yaml: this is no Kubernetes manifest: an object with apiVersion and kind is expected, not a list", false},
		{"values", "replicas: 1", "f.yaml: this is no Kubernetes manifest: apiVersion is missing or is not a string", false},
		{"item of a list", "{apiVersion: v1, kind: List, items: [{kind: a}]}", "f.yaml, item 1: this is no Kubernetes manifest", false},
		{"no metadata", object(""), "ConfigMap: metadata is missing or is not an object (f.yaml)", true},
		{"no name", object("metadata: {}"), "ConfigMap: metadata.name is missing", true},
		{"generateName", object("metadata: {generateName: a-}"), "metadata.generateName cannot be used", true},
		{"number as name", object("metadata: {name: 12}"), "metadata.name is not a string; quote it", true},
		{"boolean as annotation", object("metadata: {name: a, annotations: {x: yes}}"), `ConfigMap a: the annotation "x" is not a string but a boolean; quote it (f.yaml)`, true},
		{"number as label", object("metadata: {name: a, labels: {x: 1}}"), `the label "x" is not a string but a number`, true},
		{"labels that are none", object("metadata: {name: a, labels: [x]}"), "metadata.labels is not an object", true},
		{"number in a ConfigMap", object("metadata: {name: a}\ndata: {port: 5432}"), `the value of "port" in data is not a string but a number; quote it`, true},
		{"integer beyond 64 bits", "apiVersion: t.test/v1\nkind: A\nmetadata: {name: a}\nspec:\n  id: 18446744073709551616\n",
			"f.yaml: yaml: line 5: the integer does not fit into 64 bits", false},
		{"integer beyond 64 bits with sign", "apiVersion: t.test/v1\nkind: A\nmetadata: {name: a}\nspec: {ids: [1, 18446744073709551615]}\n",
			"A a: spec.ids[1]: the number does not fit into 64 bits", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := manifest.Decode("f.yaml", []byte(test.given))
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			var invalid *manifest.InvalidError
			g.Expect(errors.As(err, &invalid)).To(Equal(test.invalid))
		})
	}
}

func TestDecodeShowsNoSecrets(t *testing.T) {
	tests := []struct{ name, given string }{
		{"number", "stringData: {port: 5432987}"},
		{"not base64", "data: {password: 5432987-x}"},
		{"broken text", "stringData: {password: \"5432987\\q\"}"},
		{"number beyond 64 bits", "stringData: {password: 543298754329875432987}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := manifest.Decode("f.yaml", []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"+test.given))
			g.Expect(err).To(HaveOccurred())
			g.Expect(err.Error()).NotTo(ContainSubstring("5432987"))
		})
	}
}

func TestDecodeKeepsWhatIsWritten(t *testing.T) {
	g := NewWithT(t)
	documents, err := manifest.Decode("f.yaml", []byte(`
apiVersion: t.test/v1
kind: A
metadata: {name: a}
spec: {id: 9007199254740993, least: -9223372036854775808, ratio: 1.5, whole: 2.0, octal: "0755", yes: "yes", 1: one}
`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(documents[0].Object.Object["spec"]).To(Equal(map[string]any{
		"id": int64(9007199254740993), "least": int64(-9223372036854775808), "ratio": 1.5, "whole": int64(2),
		"octal": "0755", "true": "yes", "1": "one",
	}))
}

func TestCleanTakesOffWhatServersWrite(t *testing.T) {
	g := NewWithT(t)
	documents, err := manifest.Decode("f.yaml", []byte(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
  generateName: a-
  namespace: ""
  uid: x
  resourceVersion: "7"
  creationTimestamp: null
  generation: 3
  managedFields: [{manager: kubectl}]
  labels: {convoy.kumodo.io/owner: other, empty: null}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: "{}"
    convoy.kumodo.io/release: other
    mine: "1"
status: {replicas: 1}
---
apiVersion: t.test/v1
kind: WithoutSubresource
metadata: {name: a}
status: {wanted: 1}
---
apiVersion: t.test/v1
kind: Generated
metadata: {name: a}
status: {}
`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(documents[0].Object.Object).To(Equal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "a", "annotations": map[string]any{"mine": "1"}},
	}))
	g.Expect(documents[1].Object.Object).To(HaveKey("status"))
	g.Expect(documents[2].Object.Object).NotTo(HaveKey("status"))
}
