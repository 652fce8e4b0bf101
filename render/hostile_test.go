// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// TestLongMessages has charts that fail with as much text as they may make: a text of that
// length would take hours to be searched for secrets.
func TestLongMessages(t *testing.T) {
	for _, workers := range []bool{false, true} {
		for name, text := range map[string]string{
			"of secrets": `{{ fail (repeat 3000000 (b64enc "secretvalue9")) }}`,
			"of a word":  `{{ fail (repeat 30000000 "ab") }}`,
			"of none":    `{{ fail (repeat 10000000 "abc ") }}`,
		} {
			t.Run(fmt.Sprint(name, " ", workers), func(t *testing.T) {
				g := NewWithT(t)
				in := input(t, `render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}`, template(text))
				in.References = secrets{"s": {"values.yaml": []byte("password: secretvalue9\n")}}
				_, err := render.New(render.Options{Workers: workers}).Render(t.Context(), in)
				var known *render.Error
				g.Expect(errors.As(err, &known)).To(BeTrue(), "%T", err)
				g.Expect(len(known.Message)).To(BeNumerically("<", 5000))
				g.Expect(known.Message).To(And(ContainSubstring("templates/a.yaml"), Not(ContainSubstring("c2Vj"))))
			})
		}
	}
}

// TestFailuresAreRememberedByWhatIsSecret moves a value from a Release into a Secret: the
// message of before shows it.
func TestFailuresAreRememberedByWhatIsSecret(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		spec  string
	}{
		"of the engine":       {template(`{{ fail (printf "no %s" .Values.password) }}`), ""},
		"of what comes after": {template(configMap("a") + configMap("b")), "mutations: [{name: m, type: json, patch: '[{op: test, path: /metadata/name/hunter2-canary, value: a}]'}]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := render.New(render.Options{})
			shown := input(t, "render: {helm: {values: {password: hunter2-canary}}}\n"+tc.spec, tc.files)
			hidden := input(t, "render: {helm: {valuesFrom: [{kind: Secret, name: s}]}}\n"+tc.spec, tc.files)
			hidden.References = secrets{"s": {"values.yaml": []byte("password: hunter2-canary\n")}}
			for range 2 {
				_, err := r.Render(t.Context(), shown)
				g.Expect(err).To(MatchError(ContainSubstring("hunter2-canary")))
				_, err = r.Render(t.Context(), hidden)
				g.Expect(err).To(MatchError(And(ContainSubstring("***"), Not(ContainSubstring("hunter2")))))
			}
		})
	}
	g := NewWithT(t)
	r := render.New(render.Options{})
	files := template(`{{ fail (printf "no %s" .Values.password) }}`)
	for range 2 { // each of them is remembered still
		_, err := r.Render(t.Context(), input(t, "render: {helm: {values: {password: hunter2-canary}}}", files))
		g.Expect(err).To(HaveOccurred())
	}
	g.Expect(r.Stats()).To(Equal(render.Stats{Renders: 1, Failures: 1, Hits: 1}))
}

// TestPanics has kustomizations at which the library panics.
func TestPanics(t *testing.T) {
	patched := "resources: [a.yaml]\nopenapi: {path: s.json}\npatches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}'}]"
	for name, files := range map[string]map[string]string{
		"a null in a list":            {"kustomization.yaml": "resources: [a.yaml]\nreplacements: [{source: {kind: ConfigMap}, targets: [null]}]"},
		"a schema that is no JSON":    {"kustomization.yaml": patched, "s.json": "not json"},
		"a schema with another group": {"kustomization.yaml": patched, "s.json": `{"definitions": {"v1.D": {"x-kubernetes-group-version-kind": [{"group": 1, "version": [], "kind": null}]}}}`},
	} {
		for _, workers := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", workers), func(t *testing.T) {
				g := NewWithT(t)
				r := render.New(render.Options{Workers: workers, MaxConcurrent: 1})
				in := input(t, "", with(files, map[string]string{"a.yaml": configMap("a")}))
				for range 2 {
					_, err := r.Render(t.Context(), in)
					var known *render.Error
					g.Expect(errors.As(err, &known)).To(BeTrue(), "%T: %v", err, err)
					g.Expect(known.Reason).To(Equal(corev1alpha1.ReasonRenderFailed))
					g.Expect(known.Message).To(MatchRegexp(`^the content of ".", with (a.yaml|s.json) read last: the library that renders it panicked \(`))
				}
				g.Expect(r.Stats()).To(Equal(render.Stats{Renders: 1, Failures: 1, Hits: 1}))
				// What comes after is none the worse.
				_, err := r.Render(t.Context(), input(t, "", map[string]string{"kustomization.yaml": strings.Replace(patched, "openapi: {path: s.json}\n", "", 1), "a.yaml": configMap("a")}))
				g.Expect(err).NotTo(HaveOccurred())
			})
		}
	}
}

// TestMutationsTogether has a patch that adds to each object less than a patch may.
func TestMutationsTogether(t *testing.T) {
	var objects, grown strings.Builder
	for i := range 40 {
		objects.WriteString(configMap(fmt.Sprint("a", i), "data: {a: x}"))
		grown.WriteString(configMap(fmt.Sprint("a", i), "data: {a: "+strings.Repeat("x", 30_000)+"}"))
	}
	copies := `[{"op": "add", "path": "/data/a", "value": "` + strings.Repeat("x", 10_000) + `"}`
	for i := range 20 {
		copies += fmt.Sprintf(`, {"op": "copy", "from": "/data/a", "path": "/data/b%d"}`, i)
	}
	r := render.New(render.Options{Limits: render.Limits{OutputBytes: 4 << 20}})
	for name, tc := range map[string]struct{ objects, spec, want string }{
		"copies":                          {objects.String(), "{name: grow, type: json, patch: '" + copies + "]'}", `mutation "grow" and those before it add more than 4 MiB to the objects; raise --render-max-bytes`},
		"a large patch":                   {objects.String(), "{name: grow, patch: 'data: {b: " + strings.Repeat("x", 200_000) + "}'}", `mutation "grow" and those before it add more than 4 MiB`},
		"what is replaced does not count": {grown.String(), strings.Repeat("{name: m, type: merge, patch: 'data: {a: "+strings.Repeat("y", 30_000)+"}'}, ", 8), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Render(t.Context(), input(t, "mutations: ["+tc.spec+"]", map[string]string{"a.yaml": tc.objects}))
			if tc.want == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// largeObjects are a cluster with ConfigMaps of a MiB.
type largeObjects int

func (largeObjects) Get(context.Context, schema.GroupVersionKind, string, string) (*unstructured.Unstructured, error) {
	return large("a"), nil
}

func (n largeObjects) List(context.Context, schema.GroupVersionKind, string) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMapList"}}
	for i := range int(n) {
		list.Items = append(list.Items, *large(fmt.Sprint("c", i)))
	}
	return list, nil
}

var megabyte = strings.Repeat("x", 1<<20)

func large(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"a": megabyte},
	}}
}

func TestLookupsTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		objects        largeObjects
		template, want string
	}{
		"a list":  {130, `{{ len (lookup "v1" "ConfigMap" "team" "").items }}`, "ConfigMap team/* and the 0 objects and lists looked up before it take more than 128 MiB of memory"},
		"lists":   {20, `{{ range until 20 }}{{ $_ := lookup "v1" "ConfigMap" (printf "t%d" .) "" }}{{ end }}`, "ConfigMap t6/* and the 6 objects and lists looked up before it take more than 128 MiB of memory"},
		"objects": {0, `{{ range until 200 }}{{ $_ := lookup "v1" "ConfigMap" "t" (printf "o%d" .) }}{{ end }}`, "ConfigMap t/o127 and the 127 objects and lists looked up before it take more than"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, "render: {helm: {lookup: true}}", template(tc.template))
			in.Lookup = tc.objects
			_, err := render.New(render.Options{}).Render(t.Context(), in)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// TestCacheBytes remembers one of two renders for which there is no room together.
func TestCacheBytes(t *testing.T) {
	g := NewWithT(t)
	r := render.New(render.Options{CacheBytes: 1 << 20})
	for name, size := range map[string]int{"a": 300_000, "b": 300_000, "c": 2_000_000} {
		in := input(t, "", map[string]string{"a.yaml": configMap(name, "data: {a: "+strings.Repeat("x", size)+"}")})
		in.Release.Name = name
		before := r.Stats()
		for range 3 {
			_, err := r.Render(t.Context(), in)
			g.Expect(err).NotTo(HaveOccurred())
		}
		renders := int64(1)
		if name == "c" {
			renders = 3 // for which there is no room at all
		}
		g.Expect(r.Stats().Renders-before.Renders).To(Equal(renders), name)
	}
	again := input(t, "", map[string]string{"a.yaml": configMap("a", "data: {a: "+strings.Repeat("x", 300_000)+"}")})
	other := input(t, "", map[string]string{"a.yaml": configMap("b", "data: {a: "+strings.Repeat("x", 300_000)+"}")})
	before := r.Stats().Renders
	for range 2 {
		for _, in := range []render.Input{again, other} {
			_, err := r.Render(t.Context(), in)
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	g.Expect(r.Stats().Renders - before).To(BeNumerically(">=", 3)) // there is room for one
}

// TestOriginsOfWhatWasReplaced has layers between which something else than a map was there.
func TestOriginsOfWhatWasReplaced(t *testing.T) {
	files := template(configMap("a"))
	files["values.yaml"] = "a: {b: 5, d: 1}\n"
	files["v1.yaml"], files["text.yaml"], files["null.yaml"], files["v3.yaml"] = "a: {b: 1}\n", "a: text\n", "a: null\n", "a: {c: 2}\n"
	for spec, want := range map[string][]string{
		"valuesFiles: [v1.yaml, text.yaml, v3.yaml]":                                          {"a.b = 5 < Chart web/values.yaml", "a.c = 2 < File v3.yaml", "a.d = 1 < Chart web/values.yaml"},
		"valuesFiles: [v1.yaml, null.yaml, v3.yaml]":                                          {"a.b = 5 < Chart web/values.yaml", "a.c = 2 < File v3.yaml", "a.d = 1 < Chart web/values.yaml"},
		"valuesFiles: [v1.yaml, v3.yaml]":                                                     {"a.b = 1 < File v1.yaml", "a.c = 2 < File v3.yaml", "a.d = 1 < Chart web/values.yaml"},
		"valuesFiles: [text.yaml, v1.yaml]":                                                   {"a.b = 1 < File v1.yaml", "a.d = 1 < Chart web/values.yaml"},
		"valuesFiles: [v1.yaml, null.yaml]":                                                   nil,
		"valuesFrom: [{kind: Secret, name: s}, {kind: Secret, name: t}], values: {a: {c: 3}}": {"a.b = 5 < Chart web/values.yaml", "a.c = 3 < Release ", "a.d = 1 < Chart web/values.yaml"},
	} {
		t.Run(spec, func(t *testing.T) {
			g := NewWithT(t)
			in := input(t, "render: {helm: {"+spec+"}}", files)
			in.References = secrets{"s": {"values.yaml": []byte("a: {b: hunter2}")}, "t": {"values.yaml": []byte("a: hunter2")}}
			explained, err := render.ExplainValues(t.Context(), in)
			g.Expect(err).NotTo(HaveOccurred())
			var lines []string
			for _, v := range explained {
				g.Expect(v.Secret).To(BeFalse(), v.Path)
				lines = append(lines, fmt.Sprintf("%s = %v < %s %s", v.Path, v.Value, v.Origin.Kind, v.Origin.Name))
			}
			g.Expect(lines).To(Equal(want))
		})
	}
}
