// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// everyKind serves every kind, in namespaces.
type everyKind struct{}

func (everyKind) Capabilities(context.Context) (string, []string, error) { return "v1.37.2", nil, nil }
func (everyKind) Namespaced(context.Context, schema.GroupVersionKind) (bool, error) {
	return true, nil
}

// The digests below must never change: stored renders are known by them, and what was
// rendered first is told from what is rendered later. They do not depend on the process, the
// machine, or the version of Go.
func TestDigestsStayTheSame(t *testing.T) {
	manifest := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, annotations: {x: '<&>'}}\nspec: {replicas: 9007199254740993, ratio: 0.1}\n"
	hook := "lifecycle: {hooks: [{name: migrate, 'on': preSync, template: {apiVersion: batch/v1, kind: Job, metadata: {name: m}}}]}"
	subcharts := map[string]string{
		"Chart.yaml":                 chartYAML + "dependencies: [{name: db, version: 1.x.x, alias: store}]\n",
		"values.yaml":                "a: 1\nstore: {size: null}\nglobal: {zone: é}\n",
		"prod.yaml":                  "list: [1, 2.5, 1e3, 12345678901]\n",
		"crds/w.yaml":                "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: w.x.test}, spec: {group: x.test, scope: Cluster, names: {kind: W}, versions: [{name: v1, served: true}]}}",
		"templates/a.yaml":           configMap("a", "data: {all: {{ .Values | toJson | quote }}, caps: {{ .Capabilities.KubeVersion.Version }}}") + "---\n{apiVersion: x.test/v1, kind: W, metadata: {name: w, annotations: {convoy.kumodo.io/stage: '3'}}}\n",
		"templates/job.yaml":         "{apiVersion: batch/v1, kind: Job, metadata: {name: j, annotations: {helm.sh/hook: 'pre-install,post-upgrade', helm.sh/hook-weight: '-5', helm.sh/hook-delete-policy: hook-succeeded}}}",
		"charts/db/Chart.yaml":       "apiVersion: v2\nname: db\nversion: 1.2.3\n",
		"charts/db/values.yaml":      "size: 1\nport: 5432\n",
		"charts/db/templates/s.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {helm.sh/resource-policy: keep}}, stringData: {p: {{ .Values.password | quote }}, z: {{ .Values.global.zone }}, size: {{ .Values.size | quote }}}}",
	}
	overlay := map[string]string{
		"base/kustomization.yaml": "resources: [a.yaml]\nconfigMapGenerator: [{name: g, literals: [a=b]}]\nsecretGenerator: [{name: s, literals: [a=b]}]", "base/a.yaml": manifest,
		"kustomization.yaml": "resources: [base]\nnamespace: other\nreplicas: [{name: a, count: 3}]\nlabels: [{pairs: {tier: \"1\"}}]",
	}
	tests := []struct {
		name, spec     string
		files          map[string]string
		digest, inputs string
	}{
		{"plain", "", map[string]string{"a.yaml": manifest}, "sha256:576631a2f69339657dedccbcce954f2aa94db52456293ca9f1e035a178a1d80b", "sha256:8207117ca498ada1d53a5676e14fad8522c97901eb1164eafd22bb5547a2b8dc"},
		{"kustomize", "render: {kustomize: {namePrefix: x-}}", map[string]string{"a.yaml": manifest, "kustomization.yaml": "resources: [a.yaml]"}, "sha256:21303ed34e1f9154c471d62716fd368783d3ef5425e7b7436c60d0913dbd1695", "sha256:f6d8a40e81dba9770448cb225eaf28ab25db0873b3ce8daaab2784411790b4a1"},
		{"helm", "render: {helm: {values: {a: 1}}}\n" + hook, map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": manifest}, "sha256:9f536c26c576a778d541a10374531f562177d689e7c27bf956adc10d1542f55d", "sha256:8dbe4692a480218609927e00cf423d74e916760033e16fa9c9ad72a33b261d22"},
		{"nothing", "", map[string]string{"README.md": ""}, "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945", "sha256:eff8463518be4d878cc4e98b4d1ab32d2e6c5eb9e0858ede986c7049134f3dd8"},
		{"plain with mutations", "targetNamespace: shop\nsync: {timeout: 7m}\nmutations: [{name: m, target: {kind: Deployment}, patch: 'spec: {template: {spec: {containers: [{name: c, image: i}]}}}'}, {name: j, type: json, patch: '[{op: add, path: /metadata/labels, value: {a: é}}]'}, {name: g, type: merge, target: {name: a}, patch: 'spec: {ratio: null}'}]\n" + hook,
			map[string]string{"a.yaml": manifest, "more/b.json": `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}, "stringData": {"a": "b"}}]}`}, "sha256:970acfeea33fd75ab0f15f9682d65a49d12c6f7b2a06f62f4ce77f4fd0ecbaa3", "sha256:a9fee6ea11af9846d1a2e33cbfbe108a770d8702241acd43d61e78d92ed2436c"},
		{"chart with everything", "render: {helm: {releaseName: r, valuesFiles: [prod.yaml], valuesFrom: [{kind: Secret, name: v}], values: {store: {port: 1}}, kubeVersion: '1.30', apiVersions: [x.test/v1], skipTests: false}}\nmutations: [{name: m, target: {group: core}, type: merge, patch: 'metadata: {labels: {m: \"1\"}}'}]\n" + hook, subcharts, "sha256:7e7880140657622291baf1bb61818f618a69c5592d59094c9015ccebc6fc0865", "sha256:79368a4d8e34ca3d838a51a816e5b26cadbf95a9e8724a009a959f198b79934a"},
		{"kustomization with everything", "render: {kustomize: {nameSuffix: -x, images: [{name: i, newTag: '1'}]}}", overlay, "sha256:a975c27d8340a5d13cad2a237ad5a16df9eceef219a9ec955c192a18542dee75", "sha256:9528c8619c4f6f113083441d47ae95fc1752a134d5b70ef3fd73f3dfb9c52812"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			in := input(t, test.spec, test.files)
			in.References = secrets{"v": {"values.yaml": []byte("store: {password: 'p€ss'}")}}
			result := rendered(t, in)
			g.Expect(result.Digest).To(Equal(test.digest))
			g.Expect(result.Inputs).To(Equal(test.inputs))
			g.Expect(result.ComputeDigest()).To(Equal(result.Digest))
		})
	}
}

func TestTheSameTextGivesTheSameObjectsFromEveryEngine(t *testing.T) {
	text := `apiVersion: v1
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
	variants := map[string]string{
		"line feeds":         text,
		"carriage returns":   strings.ReplaceAll(text, "\n", "\r\n"),
		"byte order mark":    "\xef\xbb\xbf" + text,
		"separator at end":   text + "---",
		"separator at start": "---\n" + text,
	}
	want := rendered(t, input(t, "", map[string]string{"a.yaml": text}))
	for name, variant := range variants {
		engines := map[string]map[string]string{
			"plain":     {"a.yaml": variant},
			"helm":      {"Chart.yaml": chartYAML, "templates/a.yaml": variant},
			"kustomize": {"kustomization.yaml": "resources: [a.yaml]", "a.yaml": variant},
		}
		for engine, files := range engines {
			t.Run(engine+"/"+name, func(t *testing.T) {
				g := NewWithT(t)
				result := rendered(t, input(t, "", files))
				g.Expect(described(result.Objects)).To(Equal([]string{"ConfigMap team/one", "ConfigMap team/two"}))
				g.Expect(result.Objects[0].Object.Object["data"]).To(Equal(map[string]any{"conf": "start\n---\nnote: \"a --- b\"\n\n"}))
				g.Expect(result.Digest).To(Equal(want.Digest))
			})
		}
	}
}

func TestNumbersAndBooleans(t *testing.T) {
	chart := map[string]string{
		"Chart.yaml": chartYAML,
		"templates/a.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  quoted: {{ printf "%s %s %s %s %s %s" (.Values.build | quote) (.Values.id | quote) (.Values.huge | quote) (.Values.ver | quote) (.Values.sw | quote) (.Values.oct | quote) | quote }}
  plain: "{{ .Values.build }} {{ .Values.id }} {{ .Values.huge }} {{ .Values.ver }} {{ .Values.sw }} {{ .Values.oct }}"
  yaml: {{ .Values | toYaml | quote }}
`,
		"values-file.yaml": `{build: 20161216, id: 9007199254740993, huge: 18446744073709551615, ver: "1.10", sw: "yes", oct: "0755"}`,
	}
	inSpec := `values: {build: 20161216, id: 9007199254740993, huge: 18446744073709551615, ver: "1.10", sw: "yes", oct: "0755"}`
	tests := []struct{ name, spec string }{
		{"file", "render: {helm: {valuesFiles: [values-file.yaml]}}"},
		{"secret", "render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}"},
		{"inline", "render: {helm: {" + inSpec + "}}"},
		{"chart", ""},
	}
	g := NewWithT(t)
	digests := map[string]bool{}
	for _, test := range tests {
		in := input(t, test.spec, chart)
		in.References = secrets{"s": {"values.yaml": []byte(chart["values-file.yaml"])}}
		if test.name == "inline" { // as the API server hands it on: JSON
			in.Release.Spec.Render.Helm.Values = raw(`{"build": 20161216, "id": 9007199254740993, "huge": 18446744073709551615, "ver": "1.10", "sw": "yes", "oct": "0755"}`)
		}
		if test.name == "chart" {
			with := map[string]string{"values.yaml": chart["values-file.yaml"]}
			for name, content := range chart {
				with[name] = content
			}
			in.Artifact = content(".", with)
		}
		result := rendered(t, in)
		digests[result.Digest] = true
		g.Expect(result.Objects[0].Object.Object["data"]).To(Equal(map[string]any{
			"quoted": `"20161216" "9007199254740993" "18446744073709551615" "1.10" "yes" "0755"`,
			"plain":  "20161216 9007199254740993 18446744073709551615 1.10 yes 0755",
			"yaml":   "build: 20161216\nhuge: 18446744073709551615\nid: 9007199254740993\noct: \"0755\"\nsw: \"yes\"\nver: \"1.10\"",
		}), test.name)
	}
	g.Expect(digests).To(HaveLen(1))
}

// TestNumbersAndBooleansInAnnotations: an annotation is a string, whatever it looks like, or
// it is refused.
func TestNumbersAndBooleansInAnnotations(t *testing.T) {
	const yamlValues = `{build: 20161216, id: 9007199254740993, huge: 18446744073709551615, ver: "1.10", sw: "yes", oct: "0755"}`
	const jsonValues = `{"build": 20161216, "id": 9007199254740993, "huge": 18446744073709551615, "ver": "1.10", "sw": "yes", "oct": "0755"}`
	written := map[string]string{"build": "20161216", "id": "9007199254740993", "huge": "18446744073709551615", "ver": "1.10", "sw": "yes", "oct": "0755"}
	// What stands in the manifest without quotes is what YAML takes it for.
	kinds := map[string]string{"build": "a number", "id": "a number", "huge": "a number", "ver": "a number", "sw": "a boolean", "oct": "a number"}
	for _, form := range []struct {
		name, template string
		refused        func(key string) bool
	}{
		{"quoted", "{{ .Values.KEY | quote }}", func(string) bool { return false }},
		{"plain", "{{ .Values.KEY }}", func(string) bool { return true }},
		{"as YAML", "{{ .Values.KEY | toYaml }}", func(key string) bool { return kinds[key] == "a number" && key != "ver" && key != "oct" }},
	} {
		for key, want := range written {
			t.Run(form.name+"/"+key, func(t *testing.T) {
				g := NewWithT(t)
				digests := map[string]bool{}
				for way, spec := range map[string]string{
					"file": "render: {helm: {valuesFiles: [v.yaml]}}", "secret": "render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}", "inline": "render: {helm: {values: {}}}",
				} {
					in := input(t, spec, map[string]string{"Chart.yaml": chartYAML, "v.yaml": yamlValues,
						"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    " + key + ": " + strings.ReplaceAll(form.template, "KEY", key) + "\n"})
					in.References = secrets{"s": {"values.yaml": []byte(yamlValues)}}
					if way == "inline" {
						in.Release.Spec.Render.Helm.Values = raw(jsonValues)
					}
					if form.refused(key) {
						err := failed(t, in)
						said := fmt.Sprintf("the annotation %q is not a string but %s; quote it", key, kinds[key])
						if key == "huge" {
							said = "metadata.annotations.huge: the number does not fit into 64 bits"
						}
						g.Expect(err.Error()).To(Equal("ConfigMap a: "+said+" (web/templates/a.yaml)"), way)
						g.Expect(err.Reason).To(Equal(corev1alpha1.ReasonInvalidObjects))
						continue
					}
					result := rendered(t, in)
					g.Expect(result.Objects[0].Object.GetAnnotations()).To(Equal(map[string]string{key: want}), way)
					digests[result.Digest] = true
				}
				g.Expect(len(digests)).To(BeNumerically("<=", 1))
			})
		}
	}
}

// TestNullRemovesDefaultsOfSubcharts: null stands for "not there" in whatever way values come,
// however deep the chart lies.
func TestNullRemovesDefaultsOfSubcharts(t *testing.T) {
	child := map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: child\nversion: 1.0.0\n", "values.yaml": "probe: {httpGet: {path: /}, period: 5}\nlimits: {cpu: 1}\n",
		"templates/a.yaml": configMap("a", `data: {all: {{ omit .Values "global" | toJson | quote }}}`),
	}
	dependsOn := func(name, on, values string) map[string]string {
		return map[string]string{"Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\ndependencies: [{version: 1.0.0, name: " + on + "}]\n", "values.yaml": values}
	}
	parent := with(dependsOn("web", "child", "child: {probe: {httpGet: null, tcpSocket: {port: 1}}}"), below("charts/child", child))
	for _, tc := range []struct {
		name   string
		files  map[string]string
		values string
	}{
		{"of a child", parent, "{child: {limits: null, list: [null, 1]}}"},
		{"of a child, all by the Release", with(dependsOn("web", "child", ""), below("charts/child", child)), "{child: {probe: {httpGet: null, tcpSocket: {port: 1}}, limits: null, list: [null, 1]}}"},
		{"of a child under an alias", with(dependsOn("web", "child, alias: other", "other: {probe: {httpGet: null, tcpSocket: {port: 1}}}"), below("charts/child", child)), "{other: {limits: null, list: [null, 1]}}"},
		{"of a grandchild", with(dependsOn("top", "web", "web: {child: {limits: null}}"), below("charts/web", parent)), "{web: {child: {list: [null, 1]}}}"},
		{"of a grandchild under aliases", with(dependsOn("top", "web, alias: w", ""), below("charts/web", with(dependsOn("web", "child, alias: c", "c: {probe: {tcpSocket: {port: 1}}}"), below("charts/child", child)))),
			"{w: {c: {probe: {httpGet: null}, limits: null, list: [null, 1]}}}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			var noise bytes.Buffer
			log.SetOutput(&noise)
			t.Cleanup(func() { log.SetOutput(os.Stderr) })
			asJSON, err := yaml.YAMLToJSON([]byte(tc.values))
			g.Expect(err).NotTo(HaveOccurred())
			for way, spec := range map[string]string{
				"file": "render: {helm: {valuesFiles: [v.yaml]}}", "secret": "render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}", "inline": "render: {helm: {values: {}}}",
				"inline over a file": "render: {helm: {valuesFiles: [w.yaml], values: {}}}", "secret over a file": "render: {helm: {valuesFiles: [w.yaml], valuesFrom: [{kind: Secret, name: s}]}}",
			} {
				in := input(t, spec, with(tc.files, map[string]string{"v.yaml": tc.values, "w.yaml": strings.ReplaceAll(tc.values, "null", "{other: 1}")}))
				in.References = secrets{"s": {"values.yaml": []byte(tc.values)}}
				if strings.HasPrefix(way, "inline") {
					in.Release.Spec.Render.Helm.Values = raw(string(asJSON))
				}
				result := rendered(t, in)
				g.Expect(result.Objects).To(HaveLen(1))
				all, _, _ := unstructured.NestedString(result.Objects[0].Object.Object, "data", "all")
				g.Expect(all).To(MatchJSON(`{"list":[null,1],"probe":{"period":5,"tcpSocket":{"port":1}}}`), way)
			}
			g.Expect(noise.String()).To(BeEmpty())
		})
	}
}

func TestHooksOfOneWeightGoByKind(t *testing.T) {
	g := NewWithT(t)
	hook := func(apiVersion, kind, name, weight string) string {
		return "---\napiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + ", annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: \"" + weight + "\"}}\n"
	}
	result := rendered(t, input(t, "lifecycle: {hooks: [{name: own, 'on': postSync, template: {apiVersion: batch/v1, kind: Job, metadata: {name: own}}}]}", map[string]string{
		"Chart.yaml": chartYAML,
		"templates/hooks.yaml": hook("batch/v1", "Job", "b-late", "10") + hook("batch/v1", "Job", "c-middle", "2") + hook("batch/v1", "Job", "a-job", "-3") +
			hook("rbac.authorization.k8s.io/v1", "RoleBinding", "a-binding", "-3") + hook("rbac.authorization.k8s.io/v1", "Role", "a-role", "-3") + hook("v1", "ServiceAccount", "z-sa", "-3"),
	}))
	var names []string
	for _, h := range result.Hooks {
		names = append(names, h.Name)
	}
	g.Expect(names).To(Equal([]string{
		"preSync/ServiceAccount/z-sa", "preSync/Role/a-role", "preSync/RoleBinding/a-binding", "preSync/Job/a-job",
		"preSync/Job/c-middle", "preSync/Job/b-late", "own",
	}))
	g.Expect(result.Objects).To(BeEmpty())
}

func TestHooksOfACharts(t *testing.T) {
	g := NewWithT(t)
	hook := func(name, events, more string) string {
		return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", annotations: {helm.sh/hook: \"" + events + "\"" + more + "}}\n"
	}
	files := map[string]string{
		"Chart.yaml": chartYAML,
		"templates/hooks.yaml": hook("both", "pre-install,pre-upgrade", ", helm.sh/hook-delete-policy: \"hook-succeeded,before-hook-creation\"") +
			hook("install", "pre-install", "") + hook("upgrade", "post-upgrade", "") + hook("around", "pre-install,post-install", "") +
			hook("delete", "pre-delete", "") + hook("rollback", "pre-rollback", "") + hook("test", "test", "") +
			hook("same", "pre-install", ""),
		"templates/other.yaml": hook("same", "pre-upgrade", ""),
		"templates/a.yaml":     configMap("a"),
	}
	names := func(hooks []render.Hook) (all []string) {
		for _, h := range hooks {
			all = append(all, h.Name)
		}
		return all
	}
	install := rendered(t, input(t, "", files))
	g.Expect(names(install.Hooks)).To(Equal([]string{
		"preSync/Job/around", "preSync/Job/both", "preSync/Job/install", "preSync/Job/same/team/batch/install", "postSync/Job/around", "preDelete/Job/delete",
	}))
	both := install.Hooks[1]
	g.Expect(both.DeletePolicy).To(Equal([]corev1alpha1.HookDeletePolicy{corev1alpha1.HookDeleteBeforeCreation, corev1alpha1.HookDeleteSucceeded}))
	g.Expect(both.FailurePolicy).To(Equal(corev1alpha1.HookFailureStop))
	g.Expect(install.Hooks[2].DeletePolicy).To(Equal([]corev1alpha1.HookDeletePolicy{corev1alpha1.HookDeleteBeforeCreation}))

	in := input(t, "", files)
	in.Upgrade = true
	upgrade := rendered(t, in)
	g.Expect(names(upgrade.Hooks)).To(Equal([]string{
		"preSync/Job/both", "preSync/Job/same/team/batch/upgrade", "postSync/Job/upgrade", "preDelete/Job/delete",
	}))
	// What was installed is not another render only because the next sync is an upgrade.
	g.Expect(upgrade.Digest).To(Equal(install.Digest))

	g.Expect(names(rendered(t, input(t, "render: {helm: {skipTests: false}}", files)).Hooks)).To(ContainElement("postSync/Job/test"))
	without := rendered(t, input(t, "render: {helm: {disableHooks: true}}", files))
	g.Expect(without.Hooks).To(BeEmpty())
	g.Expect(described(without.Objects)).To(Equal([]string{"ConfigMap team/a"}))
}

func TestAHookMayNotBeAnObjectToo(t *testing.T) {
	g := NewWithT(t)
	err := failed(t, input(t, "lifecycle: {hooks: [{name: h, 'on': preSync, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}]}", map[string]string{"a.yaml": configMap("a")}))
	g.Expect(err.Error()).To(Equal("ConfigMap team/a is in the render twice: in a.yaml and in spec.lifecycle.hooks[h]"))
}

// TestSecretsThatTemplatesTransform do not appear in what templates say.
func TestSecretsThatTemplatesTransform(t *testing.T) {
	for _, expression := range []string{
		`(fromJson .Values.json).pw`, `(fromYaml .Values.yaml).pw`, `(fromYamlArray .Values.list) | first`, `.Values.json | fromJson | toYaml`,
		`printf "user:%s" .Values.pw | b64enc`, `printf "u:%s!" .Values.pw | b64enc`, `.Values.pw | b64enc | b64enc`, `b32enc .Values.pw`, `printf "me:%s" .Values.pw | b32enc`,
		`trunc 10 .Values.pw`, `trunc -10 .Values.pw`, `replace "-" "_" .Values.pw`, `.Values.pw | upper | replace "-" ""`, `.Values.pw | splitList "" | join " "`, `printf "%x" .Values.pw`, `printf "%q" .Values.pw`,
		`(urlParse .Values.url).userinfo`, `.Values.encoded | b64dec`, `(.Values.encoded | b64dec | fromJson).pw`, `.Values.pin`, `toString .Values.pin`, `printf "%.0f" .Values.pin`, `int .Values.pin | toString`, `.Values | toString`, `.Values | toJson`,
	} {
		t.Run(expression, func(t *testing.T) {
			g := NewWithT(t)
			in := input(t, "render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "{{ fail (print (" + expression + ")) }}"})
			in.References = secrets{"s": {"values.yaml": []byte(`{pw: hunter2-canary, json: '{"pw": "hunter2-canary2"}', yaml: "pw: hunter2-canary3\n", list: "- hunter2-canary4", pin: 87654321,
				url: 'https://me:hunter2-url@db.test/x', encoded: eyJwdyI6ICJodW50ZXIyLWluc2lkZSJ9}`)}}
			err := failed(t, in).Error()
			g.Expect(err).To(And(HavePrefix("execution error at (web/templates/a.yaml:1:3): "), ContainSubstring("***")))
			g.Expect(strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(err))).NotTo(Or(ContainSubstring("hunter2"), ContainSubstring("canary"), ContainSubstring("inside"), ContainSubstring("87654321")))
			for _, word := range strings.Fields(err) {
				decoded, _ := base64.StdEncoding.DecodeString(word)
				g.Expect(string(decoded)).NotTo(ContainSubstring("hunter"))
			}
		})
	}
}
