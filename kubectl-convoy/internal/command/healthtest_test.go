// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const (
	phaseRules = `apiVersion: extensions.convoy.kumodo.io/v1alpha1
kind: HealthRuleSet
metadata: {name: web, namespace: shop}
spec:
  rules:
    - name: phase
      target: {group: example.com, kind: Widget}
      degraded: has(object.status) && object.status.phase == "Failed"
      healthy: has(object.status) && object.status.phase == "Done"
      message: >-
        has(object.status) ? object.status.phase : "no status"
`
	badRules = `apiVersion: extensions.convoy.kumodo.io/v1alpha1
kind: GlobalHealthRuleSet
metadata: {name: all}
spec:
  rules:
    - name: phase
      target: {group: example.com, kind: Widget}
      healthy: self.status.phase == "Done"
`
	widgetDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget}
  versions:
    - {name: v1, served: true, schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {phase: {type: string}}}}}}}
`
	widgetDone    = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: shop}\nstatus: {phase: Done}\n"
	widgetFailed  = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: b, namespace: shop}\nstatus: {phase: Failed}\n"
	pausedRollout = `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "shop"}, "spec": {"suspend": true}}]}`
)

// healthTest runs `health test` in a folder with the given files and standard input.
func healthTest(t *testing.T, files map[string]string, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		g := NewWithT(t)
		g.Expect(os.MkdirAll(filepath.Dir(name), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(name, []byte(text), 0o600)).To(Succeed())
	}
	streams, input, outBuffer, errBuffer := genericiooptions.NewTestIOStreams()
	input.WriteString(in)
	code = Run(context.Background(), streams, append([]string{"health", "test"}, args...))
	return code, outBuffer.String(), errBuffer.String()
}

func TestHealthTest(t *testing.T) {
	files := map[string]string{
		"rules.yaml": phaseRules, "bad.yaml": badRules, "done.yaml": widgetDone, "both.yaml": widgetDone + "---\n" + widgetFailed, "list.json": pausedRollout,
		"folder/rules.yaml": phaseRules, "folder/README.md": "no manifest", "empty/README.md": "no manifest", "nothing.yaml": "# nothing\n", "kind.yaml": widgetDone,
		"crd.yaml": widgetDefinition, "misspelt.yaml": strings.Replace(phaseRules, `phase == "Done"`, `phse == "Done"`, 1),
		"gadget.yaml": strings.NewReplacer("Widget", "Gadget", "name: web", "name: gadgets").Replace(phaseRules),
	}
	for _, test := range []struct {
		name      string
		in        string
		args      string
		code      int
		out, told string
	}{
		{"one object", "", "-f rules.yaml --object done.yaml", 0, `(?s)^OBJECT +STATUS +RULE +MESSAGE\nWidget.example.com shop/a +healthy +HealthRuleSet/web/phase +Done\n1 healthy\n$`, ""},
		{"two objects in one file", "", "-f rules.yaml --object both.yaml", 0, `shop/a +healthy .*\n.*shop/b +degraded .*\n1 healthy, 1 degraded\n$`, ""},
		{"a List, which no rule is for", "", "-f rules.yaml --object list.json", 0, `CronJob.batch shop/c +suspended +builtin/batch/CronJob +suspended\n`, ""},
		{"several files", "", "-f rules.yaml --object done.yaml,list.json", 0, `1 healthy, 1 suspended\n`, ""},
		{"no rules at all", "", "--object done.yaml", 0, `healthy +generic/conditions`, ""},
		{"rules of a folder", "", "-f folder --object done.yaml", 0, `HealthRuleSet/web/phase`, ""},
		{"an object at the standard input", widgetFailed, "-f rules.yaml --object -", 0, `shop/b +degraded`, ""},
		{"rules at the standard input", phaseRules, "-f - --object done.yaml", 0, `HealthRuleSet/web/phase`, ""},
		{"as expected", "", "-f rules.yaml --object done.yaml --expect healthy", 0, `shop/a`, ""},
		{"not as expected", "", "-f rules.yaml --object both.yaml --expect healthy", 1, `shop/b +degraded`, "error: not healthy: 1 of 2 objects\n"},
		{"an unknown status", "", "-f rules.yaml --object done.yaml --expect fine", 2, `^$`, "error: --expect: unknown status \"fine\", must be one of healthy, progressing, degraded, suspended, unknown\n"},
		{"a rule that does not compile", "", "-f bad.yaml --object done.yaml", 2, `^$`, "error: bad.yaml:8: GlobalHealthRuleSet/all: rule \"phase\": expression healthy: at 1:1: undeclared reference to 'self' (in container ''), near \"self.status.phase == \\\"Done\\\"\"\n"},
		{"rules that are none", "", "-f kind.yaml --object done.yaml", 2, `^$`, "error: kind.yaml:2: a Widget.example.com is neither a HealthRuleSet nor a GlobalHealthRuleSet\n"},
		{"no objects named", "", "-f rules.yaml", 2, `^$`, "error: --object: name the files with the objects to judge, or - for the standard input\n"},
		{"no object there", "", "-f rules.yaml --object nothing.yaml", 2, `^$`, "error: --object: no object is there\n"},
		{"no such file", "", "-f rules.yaml --object gone.yaml", 2, `^$`, "error: --object: stat gone.yaml: no such file or directory\n"},
		{"a folder without manifests", "", "-f empty --object done.yaml", 2, `^$`, "error: --filename: folder empty has no file that ends in .yaml, .yml or .json\n"},
		{"one input for two", "", "-f - --object -", 2, `^$`, "error: the standard input can hold rules, schemas or objects, one of them\n"},
		{"rules that fit a schema", "", "-f rules.yaml --schema crd.yaml", 0, `^1 rule checked against the schemas of Widget.example.com \(v1\)\n$`, ""},
		{"a schema at the standard input", widgetDefinition, "-f rules.yaml --schema -", 0, `^1 rule checked`, ""},
		{"rules that do not", "", "-f misspelt.yaml --schema crd.yaml", 2, `^$`,
			"error: misspelt.yaml:9: HealthRuleSet/web: rule \"phase\": expression healthy: at 1:36: Widget.status has no field \"phse\" in example.com/v1, did you mean \"phase\"?, near \"us) && object.status.phse == \\\"Done\\\"\"\n"},
		{"rules that do not, before objects", "", "-f misspelt.yaml --schema crd.yaml --object done.yaml", 2, `^$`,
			"error: misspelt.yaml:9: HealthRuleSet/web: rule \"phase\": expression healthy: at 1:36: Widget.status has no field \"phse\" in example.com/v1, did you mean \"phase\"?, near \"us) && object.status.phse == \\\"Done\\\"\"\n"},
		{"a schema and objects", "", "-f rules.yaml --schema crd.yaml --object done.yaml", 0, `(?s)^OBJECT .*shop/a +healthy`, ""},
		{"a kind without a schema", "", "-f rules.yaml,gadget.yaml --schema crd.yaml", 0, `^1 rule checked`, "No schema, and no check, of Gadget.example.com.\n"},
		{"no schema of any kind", "", "-f gadget.yaml --schema crd.yaml", 2, `^$`, "error: --schema: no rule is for a kind of which a schema is there; the kinds of the rules are Gadget.example.com\n"},
		{"no schema there", "", "-f rules.yaml --schema done.yaml", 2, `^$`, "error: --schema: neither a CustomResourceDefinition nor an OpenAPI document is there\n"},
		{"no such schema", "", "-f rules.yaml --schema gone.yaml", 2, `^$`, "error: --schema: stat gone.yaml: no such file or directory\n"},
		{"no rules for a schema", "", "--schema crd.yaml", 2, `^$`, "error: --schema: name the files with the rules to check with --filename\n"},
		{"one input for rules and schemas", "", "-f - --schema -", 2, `^$`, "error: the standard input can hold rules, schemas or objects, one of them\n"},
		{"an argument", "", "rules.yaml", 2, `^$`, "error: unknown command \"rules.yaml\" for \"kubectl convoy health test\"\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := healthTest(t, files, test.in, strings.Fields(test.args)...)
			g.Expect(errOut).To(Equal(test.told))
			g.Expect(out).To(MatchRegexp(test.out))
			g.Expect(code).To(Equal(test.code))
		})
	}

	g := NewWithT(t)
	_, out, _ := healthTest(t, files, "", "-f", "rules.yaml", "--object", "both.yaml", "-o", "json")
	decoded := &corev1alpha1.ReleaseHealth{}
	g.Expect(json.Unmarshal([]byte(out), decoded)).To(Succeed())
	g.Expect(decoded.TypeMeta).To(Equal(typeMeta("ReleaseHealth")))
	g.Expect(decoded.Status).To(Equal(corev1alpha1.HealthDegraded))
	g.Expect(decoded.Objects).To(HaveLen(2))
}

// A Release may be called test.
func TestHealthOfAReleaseCalledTest(t *testing.T) {
	g := NewWithT(t)
	answers := map[string]runtime.Object{"GET " + releasesPath + "/test/health": healthOf(corev1alpha1.HealthHealthy, corev1alpha1.HealthSummary{Healthy: 1})}
	code, out, errOut := run(t, answers, "health", "--", "test")
	g.Expect(errOut).To(BeEmpty())
	g.Expect(out).To(Equal("1 healthy\n"))
	g.Expect(code).To(Equal(0))
}

func TestHealthTestAsksNoServer(t *testing.T) {
	g := NewWithT(t)
	asked := false
	t.Chdir(t.TempDir())
	g.Expect(os.WriteFile("done.yaml", []byte(widgetDone), 0o600)).To(Succeed())
	code, _, _ := runAgainst(t, context.Background(), func(http.ResponseWriter, *http.Request) { asked = true }, "health", "test", "--object", "done.yaml")
	g.Expect(code).To(Equal(0))
	g.Expect(asked).To(BeFalse())
}
