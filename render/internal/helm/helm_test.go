// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/helm/execute"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/values"
)

// files are a chart's files by name, relative to the chart.
type files map[string]string

func (f files) root() fs.FS {
	root := fstest.MapFS{}
	for name, content := range f {
		root["chart/"+name] = &fstest.MapFile{Data: []byte(content)}
	}
	return root
}

// packaged gives the files as a chart archive.
func (f files) packaged(t testing.TB) string {
	t.Helper()
	g := NewWithT(t)
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	w := tar.NewWriter(compressed)
	for name, content := range f {
		g.Expect(w.WriteHeader(&tar.Header{Name: "chart/" + name, Mode: 0o644, Size: int64(len(content))})).To(Succeed())
		_, err := w.Write([]byte(content))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(w.Close()).To(Succeed())
	g.Expect(compressed.Close()).To(Succeed())
	return archive.String()
}

func request(t *testing.T, chart files, valuesText string) helm.Request {
	t.Helper()
	g := NewWithT(t)
	parsed, err := values.ParseYAML([]byte(valuesText))
	g.Expect(err).NotTo(HaveOccurred())
	capabilities, err := helm.NewCapabilities("v1.32.3-vke.8", "", []string{"v1", "batch/v1", "batch/v1/CronJob", "t.test/v1/Widget"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	return helm.Request{
		Root: chart.root(), Dir: "chart", ReleaseName: "rel", Namespace: "ns",
		Values: parsed, Capabilities: capabilities,
		Limits: execute.Limits{Steps: 1_000_000, Made: 16 << 20, Value: 4 << 20}, Ratio: 100,
	}
}

const chartYAML = "apiVersion: v2\nname: web\nversion: 1.0.0\n"

// dump is a template that puts a value into a ConfigMap, as YAML.
func dump(name, expression string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n  dump: {{ %s | toYaml | quote }}\n", name, expression)
}

// dumped gives what dump put there.
func dumped(t *testing.T, output *helm.Output, name string) any {
	t.Helper()
	for _, d := range output.Objects {
		if d.Object.GetName() == name {
			data := d.Object.Object["data"].(map[string]any)
			var value any
			NewWithT(t).Expect(yaml.Unmarshal([]byte(data["dump"].(string)), &value)).To(Succeed())
			return value
		}
	}
	return nil
}

func names(documents []manifest.Document) []string {
	var all []string
	for _, d := range documents {
		all = append(all, manifest.Name(d.Object.Object)+" < "+d.Origin)
	}
	return all
}

func render(t *testing.T, chart files, valuesText string) *helm.Output {
	t.Helper()
	output, err := helm.Render(t.Context(), request(t, chart, valuesText))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return output
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func TestNullRemovesDefaults(t *testing.T) {
	child := files{
		"Chart.yaml":            "apiVersion: v2\nname: child\nversion: 1.0.0\n",
		"values.yaml":           "probe: {httpGet: {path: /}, period: 5}\nlimits: {cpu: 1}\n",
		"templates/values.yaml": dump("child", "omit .Values \"global\""),
	}
	nested := func(alias, parentValues string) files {
		chart := files{
			"Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: child, version: 1.0.0, alias: " + alias + "}]\n",
			"values.yaml": parentValues,
		}
		for name, content := range child {
			chart["charts/child/"+name] = content
		}
		return chart
	}
	const want = `{"list":[null,1],"probe":{"period":5,"tcpSocket":{"port":1}}}`
	tests := []struct {
		name   string
		chart  files
		values string
	}{
		{"parent's defaults and the user's values", nested("child", "child: {probe: {httpGet: null, tcpSocket: {port: 1}}}"),
			"child: {limits: null, list: [null, 1]}"},
		{"all from the user", nested("child", ""),
			"child: {probe: {httpGet: null, tcpSocket: {port: 1}}, limits: null, list: [null, 1]}"},
		{"all from the parent", nested("child", "child: {probe: {httpGet: null, tcpSocket: {port: 1}}, limits: null, list: [null, 1]}"), ""},
		{"under an alias", nested("other", "other: {probe: {httpGet: null, tcpSocket: {port: 1}}}"),
			"other: {limits: null, list: [null, 1]}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(asJSON(t, dumped(t, render(t, test.chart, test.values), "child"))).To(MatchJSON(want))
		})
	}

	t.Run("in a grandchild", func(t *testing.T) {
		g := NewWithT(t)
		chart := files{
			"Chart.yaml":  "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: web, version: 1.0.0}]\n",
			"values.yaml": "web: {child: {probe: {httpGet: null}}}",
		}
		for name, content := range nested("child", "child: {probe: {tcpSocket: {port: 1}}}") {
			chart["charts/web/"+name] = content
		}
		output := render(t, chart, "web: {child: {limits: null, list: [null, 1]}}")
		g.Expect(asJSON(t, dumped(t, output, "child"))).To(MatchJSON(want))
	})
}

// aliased is a chart that has a subchart twice, which has a dependency that is off.
func aliased() files {
	return files{
		"Chart.yaml": "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies:\n" +
			"- {name: mid, version: 1.0.0, alias: a}\n- {name: mid, version: 1.0.0, alias: b}\n",
		"charts/mid/Chart.yaml":                      "apiVersion: v2\nname: mid\nversion: 1.0.0\ndependencies: [{name: leaf, version: 1.0.0, alias: cache, condition: cache.enabled}]\n",
		"charts/mid/values.yaml":                     "cache: {enabled: false}\n",
		"charts/mid/templates/mid.yaml":              dump("{{ .Chart.Name }}", ".Values.cache"),
		"charts/mid/charts/leaf/Chart.yaml":          "apiVersion: v2\nname: leaf\nversion: 1.0.0\n",
		"charts/mid/charts/leaf/values.yaml":         "size: 1\n",
		"charts/mid/charts/leaf/templates/leaf.yaml": dump("leaf", "omit .Values \"global\""),
	}
}

func TestASubchartTwiceWithItsDependencyOff(t *testing.T) {
	g := NewWithT(t)
	output := render(t, aliased(), "")
	g.Expect(names(output.Objects)).To(ConsistOf("ConfigMap a < top/charts/a/templates/mid.yaml", "ConfigMap b < top/charts/b/templates/mid.yaml"))

	output = render(t, aliased(), "b: {cache: {enabled: true, size: 7}}")
	g.Expect(names(output.Objects)).To(ContainElement("ConfigMap leaf < top/charts/b/charts/cache/templates/leaf.yaml"))
	g.Expect(output.Objects).To(HaveLen(3))
	g.Expect(asJSON(t, dumped(t, output, "leaf"))).To(MatchJSON(`{"enabled": true, "size": 7}`))
}

func TestRendersDoNotTouchEachOther(t *testing.T) {
	g := NewWithT(t)
	chart := aliased()
	// Templates can change the values they are given.
	chart["templates/set.yaml"] = `{{ $_ := set .Values "changed" "yes" }}{{ $_ := unset .Values.keep "this" }}` + dump("set", ".Values.keep")
	chart["values.yaml"] = "keep: {this: 1, that: 2}\n"
	r := request(t, chart, "keep: {other: 3}")
	shown := func(r helm.Request) (string, error) {
		output, err := helm.Render(t.Context(), r)
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(output)
		return string(text), err
	}
	fresh := [2]string{}
	for i, values := range []string{"keep: {other: 3}", "b: {cache: {enabled: true, size: 7}}"} {
		var err error
		fresh[i], err = shown(request(t, chart, values))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(fresh[0]).NotTo(ContainSubstring("leaf"))
	g.Expect(fresh[1]).To(ContainSubstring("leaf"))
	other := map[string]any{"b": map[string]any{"cache": map[string]any{"enabled": true, "size": 7.0}}}
	var wait sync.WaitGroup
	results, errs := make([]string, 8), make([]error, 8)
	for i := range results {
		wait.Go(func() {
			mine := r
			if i%2 == 1 {
				mine.Values = other
			}
			results[i], errs[i] = shown(mine)
		})
	}
	wait.Wait()
	for i, result := range results {
		g.Expect(errs[i]).NotTo(HaveOccurred())
		g.Expect(result).To(Equal(fresh[i%2]), "as when nobody else renders")
	}
	g.Expect(r.Values).To(Equal(map[string]any{"keep": map[string]any{"other": 3.0}}))
}

func TestWhatIsRendered(t *testing.T) {
	g := NewWithT(t)
	chart := files{
		"Chart.yaml":                    chartYAML,
		".helmignore":                   "ignored.yaml\n",
		"templates/a.yaml":              dump("a", "dict \"release\" .Release \"version\" .Capabilities.KubeVersion.Version \"file\" (.Files.Get \"f.txt\")"),
		"templates/empty.yaml":          "{{ if false }}a: b{{ end }}\n# nothing\n",
		"templates/_part.tpl":           "{{ define \"part\" }}no object{{ end }}",
		"templates/NOTES.txt":           "Thank you for installing {{ .Chart.Name }}.",
		"ignored.yaml":                  "x",
		"f.txt":                         "content",
		"crds/widget.yaml":              "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: '{{ not templated }}'}\n",
		"crds/README.md":                "no object",
		"charts/lib/Chart.yaml":         "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n",
		"charts/lib/templates/_lib.tpl": "{{ define \"lib.name\" }}lib{{ end }}",
		"templates/lib.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ include \"lib.name\" . }}}\n",
	}
	chart["charts/tgz-1.0.0.tgz"] = files{
		"Chart.yaml":         "apiVersion: v2\nname: tgz\nversion: 1.0.0\n",
		"templates/tgz.yaml": dump("tgz", "1"),
	}.packaged(t)
	output := render(t, chart, "")
	g.Expect(names(output.Objects)).To(Equal([]string{
		"ConfigMap tgz < web/charts/tgz/templates/tgz.yaml", "ConfigMap a < web/templates/a.yaml", "ConfigMap lib < web/templates/lib.yaml",
	}))
	g.Expect(names(output.CRDs)).To(Equal([]string{"CustomResourceDefinition {{ not templated }} < web/crds/widget.yaml"}))
	g.Expect(asJSON(t, dumped(t, output, "a"))).To(MatchJSON(`{"file": "content", "version": "v1.32.3-vke.8", "release":
		{"IsInstall": true, "IsUpgrade": false, "Name": "rel", "Namespace": "ns", "Revision": 1, "Service": "Helm"}}`))

	r := request(t, chart, "")
	r.Upgrade, r.SkipCRDs = true, true
	output, err := helm.Render(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(output.CRDs).To(BeEmpty())
	g.Expect(asJSON(t, dumped(t, output, "a"))).To(ContainSubstring(`"IsInstall":false,"IsUpgrade":true,"Name":"rel","Namespace":"ns","Revision":2`))
}

func TestRenderRefuses(t *testing.T) {
	with := func(more files) files {
		chart := files{"Chart.yaml": chartYAML}
		for name, content := range more {
			chart[name] = content
		}
		return chart
	}
	tests := []struct {
		name   string
		chart  files
		values string
		want   string
	}{
		{"failing template", with(files{"templates/a.yaml": "\n\n{{ fail \"no luck\" }}"}), "", "execution error at (web/templates/a.yaml:3:3): no luck"},
		{"required value", with(files{"templates/a.yaml": "{{ required \"set it\" .Values.x }}"}), "", "web/templates/a.yaml:1:3): set it"},
		{"template that does not parse", with(files{"templates/a.yaml": "{{ if }}"}), "", "parse error at (web/templates/a.yaml:1)"},
		{"text that is no YAML", with(files{"templates/a.yaml": "a: b: c"}), "", "web/templates/a.yaml: yaml: "},
		{"missing dependencies", with(files{"Chart.yaml": chartYAML + "dependencies: [{name: db, version: 1.x.x, repository: 'https://c.test'}, {name: cache}]"}), "",
			"chart web depends on charts that are not in its charts/ folder: db 1.x.x, cache"},
		{"library", with(files{"Chart.yaml": chartYAML + "type: library\n"}), "", "only charts of type application"},
		{"cluster too old", with(files{"Chart.yaml": chartYAML + "kubeVersion: '>=1.33'\n"}), "",
			"chart web needs Kubernetes >=1.33, the target cluster has v1.32.3-vke.8; render.helm.kubeVersion overrides"},
		{"schema", with(files{"values.schema.json": `{"properties": {"port": {"type": "integer"}}}`}), "port: x", "at '/port': got string, want integer"},
		{"schema of a subchart", with(files{
			"charts/sub/Chart.yaml":         "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
			"charts/sub/values.schema.json": `{"required": ["port"]}`,
		}), "", "the values of chart web.sub do not fit"},
		{"schema that reads files", with(files{"values.schema.json": `{"$ref": "file:///etc/passwd"}`}), "", "references to outside of the schema are not followed"},
		{"schema that reads the network", with(files{"values.schema.json": `{"$ref": "http://127.0.0.1:1/x"}`}), "", "references to outside of the schema are not followed"},
		{"broken Chart.yaml", with(files{"Chart.yaml": "a: ["}), "", "cannot load Chart.yaml"},
		{"integer beyond 64 bits in the defaults", with(files{"values.yaml": "id: 18446744073709551616"}), "", "values.yaml of chart web: yaml: line 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := helm.Render(t.Context(), request(t, test.chart, test.values))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestCapabilities(t *testing.T) {
	g := NewWithT(t)
	chart := files{
		"Chart.yaml":       chartYAML + "kubeVersion: '>=1.26'\n",
		"templates/a.yaml": dump("a", `list (.Capabilities.APIVersions.Has "batch/v1") (.Capabilities.APIVersions.Has "batch/v1/CronJob") (.Capabilities.APIVersions.Has "apps/v1beta2") (.Capabilities.APIVersions.Has "t.test/v1/Widget") .Capabilities.KubeVersion.Minor`),
	}
	g.Expect(asJSON(t, dumped(t, render(t, chart, ""), "a"))).To(MatchJSON(`[true, true, false, true, "32"]`))

	chart["Chart.yaml"] = chartYAML + "kubeVersion: '>=1.26-0'\n"
	render(t, chart, "")

	r := request(t, chart, "")
	var err error
	r.Capabilities, err = helm.NewCapabilities("v1.32.3", "1.40", nil, []string{"apps/v1beta2"})
	g.Expect(err).NotTo(HaveOccurred())
	output, err := helm.Render(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asJSON(t, dumped(t, output, "a"))).To(MatchJSON(`[false, false, true, false, "40"]`))

	_, err = helm.NewCapabilities("v1.32.3", "soon", nil, nil)
	g.Expect(err).To(MatchError(ContainSubstring(`kubeVersion "soon"`)))
}

func TestHooks(t *testing.T) {
	g := NewWithT(t)
	hook := func(name, annotations string) string {
		return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}\n"
	}
	output := render(t, files{
		"Chart.yaml": chartYAML,
		"templates/hooks.yaml": hook("a", `helm.sh/hook: "pre-upgrade, pre-install", helm.sh/hook-weight: "-3", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"`) +
			hook("t", `helm.sh/hook: test-success`) + hook("old", `helm.sh/hook: crd-install`) + hook("plain", `other: x`),
	}, "")
	g.Expect(names(output.Objects)).To(Equal([]string{"Job plain < web/templates/hooks.yaml, document 4"}))
	g.Expect(output.Hooks).To(HaveLen(2))
	g.Expect(output.Hooks[0].Weight).To(Equal(-3))
	g.Expect(asJSON(t, output.Hooks[0].Events)).To(MatchJSON(`["pre-install", "pre-upgrade"]`))
	g.Expect(asJSON(t, output.Hooks[0].DeletePolicies)).To(MatchJSON(`["before-hook-creation", "hook-succeeded"]`))
	g.Expect(asJSON(t, output.Hooks[1].Events)).To(MatchJSON(`["test"]`))
}

// TestTheClockIsFoundOut renders what has no other value a moment later, but does tomorrow or
// next year. What is made of a date that stands in the chart stays.
func TestTheClockIsFoundOut(t *testing.T) {
	tests := map[string]bool{
		`now | date "2006"`: true, `now | date "01"`: true, `now | date "02"`: true, `now | date "Mon"`: true, `now | date "15"`: true, `now | unixEpoch`: true,
		`htmlDate now`: true, `htmlDateInZone now "UTC"`: true, `dateInZone "2006" now "Asia/Tokyo"`: true, `date "2006" "no date"`: true, `htmlDate nil`: true, `date_in_zone "2006" 1.5 "UTC"`: true,
		`durationRound (toDate "2006" "2001")`: true, `ago (toDate "2006" "2001")`: true, `ago 0`: true, `ago (int64 0)`: true, `now.Year`: true, `(now | dateModify "-24h").Unix`: true,
		`date "2006" 0`: false, `htmlDate (toDate "2006-01-02" "2024-07-01")`: false, `durationRound "2h10m"`: false, `dateInZone "15:04" (int64 0) "Asia/Tokyo"`: false, `toDate "2006" "2024"`: false,
	}
	for expression, want := range tests {
		g := NewWithT(t)
		output, err := helm.Render(t.Context(), request(t, files{"Chart.yaml": chartYAML, "templates/a.yaml": dump("a", expression)}, ""))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(output.Objects[0].Unstable).To(Equal(want), expression)
	}
}

// A chart may fail at a later time: that is no reason for it to fail now.
func TestChartsThatEnd(t *testing.T) {
	g := NewWithT(t)
	output, err := helm.Render(t.Context(), request(t, files{"Chart.yaml": chartYAML,
		"templates/a.yaml": `{{ if gt (now | unixEpoch | int64) (add .Values.started 34000000) }}{{ fail "the licence has ended" }}{{ end }}` + dump("a", "1")}, fmt.Sprintf("started: %d\n", time.Now().Unix())))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(output.Objects[0].Unstable).To(BeFalse())
}

func TestUnstableObjectsAreMarked(t *testing.T) {
	g := NewWithT(t)
	output := render(t, files{
		"Chart.yaml":       chartYAML,
		"templates/a.yaml": dump("random", "randAlphaNum 16") + "---\n" + dump("fixed", "1"),
		"templates/b.yaml": dump("other", "2"),
	}, "")
	unstable := map[string]bool{}
	for _, d := range output.Objects {
		unstable[d.Object.GetName()] = d.Unstable
	}
	g.Expect(unstable).To(Equal(map[string]bool{"random": true, "fixed": false, "other": false}))
}

func TestEqualCRDsOfSubchartsAreGivenOnce(t *testing.T) {
	g := NewWithT(t)
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.t.test}\n"
	output := render(t, files{
		"Chart.yaml":           chartYAML,
		"crds/w.yaml":          crd,
		"charts/s/Chart.yaml":  "apiVersion: v2\nname: s\nversion: 1.0.0\n",
		"charts/s/crds/w.yaml": crd + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\n",
	}, "")
	g.Expect(names(output.CRDs)).To(Equal([]string{
		"CustomResourceDefinition widgets.t.test < web/crds/w.yaml", "ValidatingAdmissionPolicy p < web/charts/s/crds/w.yaml, document 2",
	}))
}

func TestHelmignoreIsForChartsThatWereNotPackaged(t *testing.T) {
	g := NewWithT(t)
	chart := files{
		"Chart.yaml":       chartYAML,
		".helmignore":      "# comment\r\nsecret.txt\r\n",
		"secret.txt":       "seen",
		"templates/a.yaml": dump("a", `.Files.Get "secret.txt"`),
		"templates/.b":     "{{ fail \"dot files are no templates\" }}",
	}
	g.Expect(dumped(t, render(t, chart, ""), "a")).To(Equal(""))

	delete(chart, "templates/.b")
	r := request(t, chart, "")
	r.Packaged = true
	output, err := helm.Render(t.Context(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dumped(t, output, "a")).To(Equal("seen"))
}

func TestArchivesInArchivesAreBounded(t *testing.T) {
	large := string(make([]byte, 1<<18))
	inner := files{"Chart.yaml": "apiVersion: v2\nname: inner\nversion: 1.0.0\n"}
	for i := range 8 {
		inner[fmt.Sprintf("f%d", i)] = large
	}
	outer := files{"Chart.yaml": "apiVersion: v2\nname: outer\nversion: 1.0.0\n"}
	for i := range 9 {
		outer[fmt.Sprintf("charts/inner%d.tgz", i)] = inner.packaged(t)
	}
	_, err := helm.Render(t.Context(), request(t, files{"Chart.yaml": chartYAML, "charts/outer-1.0.0.tgz": outer.packaged(t)}, ""))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("the archives in charts/ have more than 16 MiB; raise --render-max-bytes")))
}

func TestAnArchiveMayNotGrowWithoutMeasure(t *testing.T) {
	inner := files{"Chart.yaml": "apiVersion: v2\nname: inner\nversion: 1.0.0\n"}
	for i := range 3 {
		inner[fmt.Sprintf("f%d", i)] = string(make([]byte, 4<<20))
	}
	r := request(t, files{"Chart.yaml": chartYAML, "charts/inner-1.0.0.tgz": inner.packaged(t)}, "")
	_, err := helm.Render(t.Context(), r)
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("charts/inner-1.0.0.tgz has "), ContainSubstring("grows to more than 100 times as many when it is unpacked; raise --artifact-max-ratio"))))
	r.Ratio = 100_000
	_, err = helm.Render(t.Context(), r)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func TestAnArchiveElsewhereIsAFile(t *testing.T) {
	g := NewWithT(t)
	output := render(t, files{
		"Chart.yaml": chartYAML, "charts/_off.tgz": "no archive", "files/charts/x.tgz": "content",
		"templates/a.yaml": dump("a", `.Files.Get "files/charts/x.tgz"`),
	}, "")
	g.Expect(dumped(t, output, "a")).To(Equal("content"))
}
