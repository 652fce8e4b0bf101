// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// doubling is a kustomization whose bases lead to one file in 2^n ways.
func doubling(n int) map[string]string {
	files := map[string]string{
		"l0/kustomization.yaml": "resources: [a.yaml]", "l0/a.yaml": configMap("a"),
		"r0/kustomization.yaml": "resources: [../l0]\nnamePrefix: r-",
	}
	for i := 1; i <= n; i++ {
		for _, side := range []string{"l", "r"} {
			files[fmt.Sprintf("%s%d/kustomization.yaml", side, i)] = fmt.Sprintf("resources: [../l%d, ../r%d]\nnamePrefix: %s%d-", i-1, i-1, side, i)
		}
	}
	files["kustomization.yaml"] = fmt.Sprintf("resources: [l%d]", n)
	return files
}

func TestContentIsStopped(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x]\n"
	for i := range 14 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i)
	}
	copies := "["
	for i := range 30 {
		copies += fmt.Sprintf(`{"op": "copy", "from": "/data", "path": "/data/x%d"},`, i)
	}
	copies = strings.TrimSuffix(copies, ",") + "]"
	long := strings.Repeat("x", 1000)
	tests := []struct {
		name, spec string
		files      map[string]string
		want       string
	}{
		{"aliases in a manifest", "", map[string]string{"a.yaml": bomb}, "a.yaml: stopped: the aliases of a YAML document make more than 16 MiB"},
		{"aliases in a kustomization's resource", "", map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": bomb}, "a.yaml: stopped: the aliases of a YAML document"},
		{"aliases in values", "render: {helm: {valuesFiles: [v.yaml]}}", map[string]string{"Chart.yaml": chartYAML, "v.yaml": bomb}, "valuesFiles: v.yaml: stopped: the aliases"},
		{"aliases in defaults", "", map[string]string{"Chart.yaml": chartYAML, "values.yaml": bomb}, "reading the chart: values.yaml: stopped: the aliases"},
		{"aliases in what a template gives", "", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": bomb}, "web/templates/a.yaml: stopped: the aliases"},
		{"aliases in a patch", "mutations: [{name: m, patch: " + fmt.Sprintf("%q", bomb) + "}]", map[string]string{"a.yaml": configMap("a")}, "spec.mutations[m].patch: stopped: the aliases"},
		{"a kustomization that doubles", "", doubling(30), "the kustomization reads more than 102400 bytes, each file counted as often as it is read; raise --render-max-bytes"},
		{"many manifests", "", map[string]string{"a.yaml": configMap("a", "data: {a: "+long+"}"), "b.yaml": strings.Repeat("# "+long+"\n", 1100)}, "the manifests in . have more than 1 MiB; raise --render-max-bytes"},
		{"a chart that gives much", "", map[string]string{"Chart.yaml": chartYAML,
			"templates/a.yaml": "# {{ repeat 400000 \"a\" }}", "templates/b.yaml": "# {{ repeat 400000 \"a\" }}", "templates/c.yaml": "# {{ repeat 400000 \"a\" }}"},
			"the manifests of chart web have more than 1 MiB; raise --render-max-bytes"},
		{"a chart that makes much", "", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "{{ range until 100 }}{{ $x := repeat 100000 \"a\" }}{{ end }}"},
			"web/templates/a.yaml:1:30): stopped: templates make more than 4 MiB of text; raise --render-max-bytes"},
		{"a chart that loops", "", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "{{ range 1000000000 }}{{ end }}"},
			"web/templates/a.yaml:1:9): stopped: templates need more than 100000 iterations and calls"},
		{"a mutation that copies", "mutations: [{name: m, type: json, patch: '" + copies + "'}]", map[string]string{"a.yaml": configMap("a", "data: {a: "+long+"}")},
			`mutation "m" of ConfigMap team/a (a.yaml)`},
		{"a kustomization's patch that copies", "", map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '" + copies + "'}]",
			"a.yaml": configMap("a", "data: {a: "+long+"}")}, "accumulated size increase of copy"},
	}
	limits := render.Limits{Steps: 100_000, MadeBytes: 4 << 20, OutputBytes: 1 << 20}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			limits := limits
			if strings.Contains(test.want, "102400") {
				limits.OutputBytes = 102400
			}
			r := render.New(render.Options{Limits: limits})
			for range 2 {
				_, err := r.Render(t.Context(), input(t, test.spec, test.files))
				g.Expect(err).To(BeAssignableToTypeOf(&render.Error{}))
				g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			}
			g.Expect(r.Stats().Renders).To(BeNumerically("<=", 1)) // and is not tried again
		})
	}
}

func TestTheLimitOfTimeIsNotRemembered(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"helm":      {"Chart.yaml": chartYAML, "templates/a.yaml": "{{ range 1000000 }}{{ end }}" + configMap("a")},
		"kustomize": {"kustomization.yaml": "resources: [a.yaml]", "a.yaml": configMap("a")},
		"plain":     {"a.yaml": configMap("a")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := render.New(render.Options{Limits: render.Limits{Time: time.Nanosecond}})
			for range 2 {
				_, err := r.Render(t.Context(), input(t, "", files))
				g.Expect(err).To(MatchError(ContainSubstring("rendering takes too long; raise --render-timeout")))
				g.Expect(err.(*render.Error).Reason).To(Equal(corev1alpha1.ReasonRenderFailed))
			}
			g.Expect(r.Stats().Renders).To(Equal(int64(2)))
		})
	}
}

// Nothing of the host is to be seen: neither its files nor its environment, and no program
// of it runs.
func TestNothingOfTheHostIsReached(t *testing.T) {
	const canary = "canary-of-the-host"
	outside := t.TempDir()
	g := NewWithT(t)
	g.Expect(os.WriteFile(filepath.Join(outside, "secret.yaml"), []byte(configMap(canary)), 0o600)).To(Succeed())
	t.Setenv("CONVOY_CANARY", canary)
	ran := filepath.Join(outside, "ran")
	up := strings.Repeat("../", 20) + strings.TrimPrefix(outside, "/") + "/secret.yaml"
	exec := "{apiVersion: t.test/v1, kind: X, metadata: {name: x, annotations: {config.kubernetes.io/function: \"exec: {path: /bin/touch, args: [" + ran + "]}\"}}}"
	tests := []struct {
		name, spec string
		files      map[string]string
	}{
		{"chart: env", "", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "data: {a: {{ env \"CONVOY_CANARY\" }}}")}},
		{"chart: expandenv", "", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "data: {a: {{ expandenv \"$CONVOY_CANARY\" }}}")}},
		{"chart: name resolution", "", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "data: {a: \"{{ getHostByName \"localhost\" }}\"}")}},
		{"chart: file", "", map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "data: {a: {{ .Files.Get \""+up+"\" | quote }}}")}},
		{"chart: values", "render: {helm: {valuesFiles: ['" + up + "']}}", map[string]string{"Chart.yaml": chartYAML}},
		{"kustomization: resource", "", map[string]string{"kustomization.yaml": "resources: ['" + up + "']"}},
		{"kustomization: absolute", "", map[string]string{"kustomization.yaml": "resources: ['" + outside + "/secret.yaml']"}},
		{"kustomization: generated", "", map[string]string{"kustomization.yaml": "configMapGenerator: [{name: a, files: ['" + up + "']}]"}},
		{"kustomization: environment", "", map[string]string{"kustomization.yaml": "configMapGenerator: [{name: a, envs: [e]}]", "e": "CONVOY_CANARY\n"}},
		{"kustomization: schema", "", map[string]string{"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: '" + up + "'}", "a.yaml": configMap("a")}},
		{"kustomization: program", "", map[string]string{"kustomization.yaml": "resources: [a.yaml]\ntransformers: [f.yaml]", "a.yaml": configMap("a"), "f.yaml": exec}},
		{"kustomization: generator", "", map[string]string{"kustomization.yaml": "generators: [f.yaml]", "f.yaml": exec}},
		{"kustomization: chart", "", map[string]string{"kustomization.yaml": "helmGlobals: {chartHome: .}\nhelmCharts: [{name: c}]", "c/Chart.yaml": chartYAML}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			result, err := render.New(render.Options{}).Render(t.Context(), input(t, test.spec, test.files))
			g.Expect(fmt.Sprint(err)).NotTo(ContainSubstring(canary))
			if err == nil {
				for _, o := range result.Objects {
					g.Expect(fmt.Sprint(o.Object.Object)).NotTo(Or(ContainSubstring(canary), ContainSubstring("127.0.0.1")))
				}
			}
			g.Expect(ran).NotTo(BeAnExistingFile())
		})
	}
}

// A link that leads out of the content is an error of whoever shows the content; one that
// is shown as a link cannot be followed.
func TestLinksOutOfTheContent(t *testing.T) {
	for name, file := range map[string]string{"plain": "a.yaml", "helm": "templates/a.yaml", "kustomize": "a.yaml"} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			g.Expect(os.MkdirAll(filepath.Join(dir, "templates"), 0o755)).To(Succeed())
			g.Expect(os.Symlink("/etc/hostname", filepath.Join(dir, file))).To(Succeed())
			switch name {
			case "helm":
				g.Expect(os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(chartYAML), 0o600)).To(Succeed())
			case "kustomize":
				g.Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("resources: [a.yaml]"), 0o600)).To(Succeed())
			}
			root, err := os.OpenRoot(dir)
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = root.Close() }()
			in := input(t, "", nil)
			in.Artifact.Root = root.FS()
			g.Expect(failed(t, in).Error()).To(ContainSubstring("a.yaml"))
		})
	}
	in := input(t, "", nil)
	in.Artifact.Root = fstest.MapFS{"a.yaml": {Data: []byte("../b"), Mode: os.ModeSymlink}}
	NewWithT(t).Expect(failed(t, in).Error()).To(ContainSubstring("a.yaml"))
}

// Whatever reads a file of the content, and by whatever name, a link in its place does not
// lead it to a file of the host.
func TestLinksToTheHostAreFollowedByNobody(t *testing.T) {
	const canary = "canary-of-the-host"
	host := t.TempDir()
	for name, text := range map[string]string{
		"manifest.yaml": configMap(canary), "Chart.yaml": "apiVersion: v2\nname: " + canary + "\nversion: 1.0.0\n", "values.yaml": "v: " + canary + "\n",
		"text": canary, "kustomization.yaml": "namePrefix: " + canary + "-\nresources: [manifest.yaml]\n",
	} {
		NewWithT(t).Expect(os.WriteFile(filepath.Join(host, name), []byte(text), 0o600)).To(Succeed())
	}
	chart := map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "data: {v: {{ .Values.v | quote }}, f: {{ .Files.Get \"text\" | quote }}}")}
	kustomization := func(text string) map[string]string {
		return map[string]string{"kustomization.yaml": text, "a.yaml": configMap("a")}
	}
	for _, tc := range []struct {
		name, spec, link, to string
		files                map[string]string
	}{
		{"chart", "render: {type: helm}", "Chart.yaml", "Chart.yaml", map[string]string{"templates/a.yaml": configMap("a")}},
		{"default values", "", "values.yaml", "values.yaml", chart},
		{"file of values", "render: {helm: {valuesFiles: [v.yaml]}}", "v.yaml", "values.yaml", chart},
		{"file of values beside the chart", "render: {helm: {valuesFiles: [../v.yaml]}}", "../v.yaml", "values.yaml", chart},
		{"file for templates", "", "text", "text", chart},
		{"folder of templates", "", "templates/more", ".", chart},
		{"folder of definitions", "", "crds", ".", chart},
		{"subchart", "", "charts/sub", ".", chart},
		{"kustomization", "render: {type: kustomize}", "kustomization.yaml", "kustomization.yaml", map[string]string{"manifest.yaml": configMap("a")}},
		{"base", "", "base", ".", kustomization("resources: [base]")},
		{"resource", "", "b.yaml", "manifest.yaml", kustomization("resources: [a.yaml, b.yaml]")},
		{"file of a generator", "", "text", "text", kustomization("configMapGenerator: [{name: g, files: [text]}]")},
		{"variables of a generator", "", "env", "text", kustomization("configMapGenerator: [{name: g, envs: [env]}]")},
		{"patch", "", "p.yaml", "manifest.yaml", kustomization("resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: ConfigMap}}]")},
		{"manifest", "", "b.yaml", "manifest.yaml", map[string]string{"a.yaml": configMap("a")}},
		{"folder of manifests", "", "more", ".", map[string]string{"a.yaml": configMap("a")}},
	} {
		for form, target := range map[string]string{"absolute": filepath.Join(host, tc.to), "climbing": strings.Repeat("../", 20) + strings.TrimPrefix(filepath.Join(host, tc.to), "/")} {
			t.Run(tc.name+"/"+form, func(t *testing.T) {
				g := NewWithT(t)
				dir := t.TempDir()
				for name, text := range tc.files {
					full := filepath.Join(dir, "app", filepath.FromSlash(name))
					g.Expect(os.MkdirAll(filepath.Dir(full), 0o755)).To(Succeed())
					g.Expect(os.WriteFile(full, []byte(text), 0o600)).To(Succeed())
				}
				link := filepath.Join(dir, "app", filepath.FromSlash(tc.link))
				g.Expect(os.MkdirAll(filepath.Dir(link), 0o755)).To(Succeed())
				g.Expect(os.Symlink(target, link)).To(Succeed())
				root, err := os.OpenRoot(dir)
				g.Expect(err).NotTo(HaveOccurred())
				defer func() { _ = root.Close() }()
				in := input(t, tc.spec, nil)
				in.Artifact.Root, in.Artifact.Path = root.FS(), "app"
				said := failed(t, in).Error()
				g.Expect(said).To(And(ContainSubstring(filepath.Base(tc.link)), Not(ContainSubstring(canary))))
			})
		}
	}
}
