// SPDX-License-Identifier: Apache-2.0

package ruletest

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// crd is a definition of Widgets whose status has a text, by version.
func crd(fields ...string) string {
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n" +
		"spec:\n  group: example.com\n  names: {kind: Widget}\n  versions:\n"
	for i, field := range fields {
		text += fmt.Sprintf("    - {name: v%d, served: true, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {%s: {type: string}}}}}}}\n", i+1, field)
	}
	return text
}

const published = `{"openapi": "3.0.0", "components": {"schemas": {"Widget": {"type": "object",
	"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
	"properties": {"status": {"type": "object", "properties": {"phase": {"type": "string"}}}}}}}}`

func TestCheckTypes(t *testing.T) {
	const misspelt = `rules.yaml:8: HealthRuleSet/web: rule "r": expression healthy: at 1:14: Widget.status has no field "phse" in example.com/v1, did you mean "phase"?, near "object.status.phse == \"Done\""`
	wrong, right := rule("r", `healthy: object.status.phse == "Done"`), rule("r", `healthy: object.status.phase == "Done"`)
	for _, test := range []struct {
		name    string
		rules   string
		schemas []string
		want    Checked
		faults  string
	}{
		{"what the definition has", right, []string{crd("phase")}, Checked{Rules: 1, Kinds: []string{"Widget.example.com (v1)"}}, ""},
		{"what it has not", wrong, []string{crd("phase")}, Checked{Rules: 1, Kinds: []string{"Widget.example.com (v1)"}}, misspelt},
		{"what an API server publishes", wrong, []string{published}, Checked{Rules: 1, Kinds: []string{"Widget.example.com (v1)"}}, misspelt},
		{"what another version has", wrong, []string{crd("phase", "phse")}, Checked{Rules: 1, Kinds: []string{"Widget.example.com (v1, v2)"}}, ""},
		{"what another version than the rule's has", strings.Replace(wrong, "kind: Widget", "version: v1, kind: Widget", 1), []string{crd("phase", "phse")},
			Checked{Rules: 1, Kinds: []string{"Widget.example.com (v1)"}}, misspelt},
		{"two definitions of a kind", wrong, []string{crd("phase"), crd("phse")}, Checked{Rules: 1, Kinds: []string{"Widget.example.com (v1)"}}, ""},
		{"no version has it", wrong, []string{crd("phase", "state")}, Checked{Rules: 1, Kinds: []string{"Widget.example.com (v1, v2)"}}, misspelt},
		{"another kind", strings.ReplaceAll(wrong, "Widget", "Gadget"), []string{crd("phase")}, Checked{Unknown: []string{"Gadget.example.com"}}, ""},
		{"a List, among other manifests", wrong, []string{"kind: ConfigMap\napiVersion: v1\n---\napiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(crd("phase"), "\n", "\n  ")},
			Checked{Rules: 1, Kinds: []string{"Widget.example.com (v1)"}}, misspelt},
		{"a definition with a field twice", wrong, []string{strings.Replace(crd("phase"), "  group:", "  group: other\n  group:", 1)},
			Checked{Rules: 1, Kinds: []string{"Widget.example.com (v1)"}}, misspelt},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			sets, err := ReadRules(File{Name: "rules.yaml", Data: []byte(set("HealthRuleSet", "web", test.rules))})
			g.Expect(err).NotTo(HaveOccurred())
			var files []File
			for _, text := range test.schemas {
				files = append(files, File{Name: "schema", Data: []byte(text)})
			}
			schemas, err := ReadSchemas(files...)
			g.Expect(err).NotTo(HaveOccurred())
			checked, err := CheckTypes(sets, schemas)
			g.Expect(checked).To(Equal(test.want))
			if test.faults == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(test.faults))
		})
	}
}

func TestReadSchemasFaults(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no schema", "apiVersion: v1\nkind: ConfigMap\n", "neither a CustomResourceDefinition nor an OpenAPI document is there"},
		{"an older document", `{"swagger": "2.0"}`, "crd.yaml: an OpenAPI document of version 2.0: take one of version 3, as kubectl get --raw /openapi/v3/apis/GROUP/VERSION gives it"},
		{"a document of another form", `{"openapi": "3.0.0", "components": []}`, "crd.yaml: json: cannot unmarshal"},
		{"no YAML", "a: [", "crd.yaml:1: "},
		{"a definition of another form", strings.Replace(crd("a"), "names: {kind: Widget}", "names: Widget", 1), "crd.yaml:1: CustomResourceDefinition widgets.example.com: json: cannot unmarshal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadSchemas(File{Name: "crd.yaml", Data: []byte(test.text)})
			NewWithT(t).Expect(err).To(MatchError(HavePrefix(test.want)))
		})
	}
}
