// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// benchCharts are charts of three sizes.
func benchCharts() map[string]map[string]string {
	deployment := `{{- define "labels" }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | default .Chart.Version | quote }}
{{- end }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ printf "%s-%s-NUMBER" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Chart.Name }}-NUMBER}}
  template:
    metadata:
      labels: {{- include "labels" . | nindent 8 }}
        app: {{ .Chart.Name }}-NUMBER
    spec:
      containers:
      - name: app
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.Version }}"
        resources: {{- toYaml .Values.resources | nindent 10 }}
        env:
        {{- range $name, $value := .Values.env }}
        - {name: {{ $name }}, value: {{ tpl $value $ | quote }}}
        {{- end }}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}-{{ .Chart.Name }}-NUMBER, labels: {{ include "labels" . | fromYaml | toJson }}}
spec: {selector: {app: {{ .Chart.Name }}-NUMBER}, ports: [{port: {{ .Values.port }}}]}
`
	values := `replicas: 2
image: {repository: registry.test/app, tag: ""}
port: 8080
resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
env: {HOST: "{{ .Release.Name }}.test", LEVEL: info, MODE: production, REGION: eu}
`
	chart := func(prefix, name string, templates int, files map[string]string) {
		files[prefix+"Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"
		files[prefix+"values.yaml"] = values
		for i := range templates {
			files[fmt.Sprintf("%stemplates/t%d.yaml", prefix, i)] = strings.ReplaceAll(deployment, "NUMBER", fmt.Sprint(i))
		}
	}
	small, large, many := map[string]string{}, map[string]string{}, map[string]string{}
	chart("", "web", 3, small)
	chart("", "web", 150, large)
	chart("", "web", 3, many)
	for i := range 20 {
		chart(fmt.Sprintf("charts/sub%d/", i), fmt.Sprintf("sub%d", i), 4, many)
	}
	return map[string]map[string]string{"small": small, "large": large, "subcharts": many}
}

// BenchmarkRender renders what was not rendered before, with Helm, with convoy in one process,
// and with convoy in a worker that is there: from the files of the chart to objects. Helm's own
// part ends with text.
func BenchmarkRender(b *testing.B) {
	for name, files := range benchCharts() {
		dir := b.TempDir()
		for file, text := range files {
			full := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name+"/helm", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := helmInstall(b, dir, corev1alpha1.HelmRender{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/convoy", func(b *testing.B) {
			b.ReportAllocs()
			root := os.DirFS(dir)
			for b.Loop() {
				in := benchInput(render.Artifact{Root: root, Path: ".", Digest: "sha256:1", RootDigest: "sha256:1"})
				if _, err := render.New(render.Options{}).Render(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/worker", func(b *testing.B) {
			b.ReportAllocs()
			r := render.New(render.Options{Workers: true, CacheEntries: 1})
			root := os.DirFS(dir)
			for i := 0; b.Loop(); i++ {
				digest := fmt.Sprintf("sha256:%d", i)
				in := benchInput(render.Artifact{Root: root, Path: ".", Digest: digest, RootDigest: digest})
				if _, err := r.Render(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMutations renders the largest chart, whose 150 Deployments two mutations change.
func BenchmarkMutations(b *testing.B) {
	files := benchCharts()["large"]
	target := corev1alpha1.ObjectSelector{Kind: "Deployment"}
	for name, workers := range map[string]bool{"convoy": false, "worker": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := render.New(render.Options{Workers: workers, CacheEntries: 1})
			in := benchInput(content(".", files))
			in.Release.Spec.Mutations = []corev1alpha1.Mutation{
				{Name: "strategic", Target: target, Patch: "spec: {template: {spec: {containers: [{name: app, imagePullPolicy: Always}]}}}"},
				{Name: "json", Target: target, Type: corev1alpha1.MutationJSON, Patch: `[{"op": "add", "path": "/metadata/labels/a", "value": "b"}]`},
			}
			for i := 0; b.Loop(); i++ {
				in.Artifact.Digest = fmt.Sprintf("sha256:%d", i)
				if _, err := r.Render(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirstWorker renders as soon as a worker has been started for it.
func BenchmarkFirstWorker(b *testing.B) {
	in := benchInput(content(".", benchCharts()["small"]))
	for b.Loop() {
		if _, err := render.New(render.Options{Workers: true}).Render(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func benchInput(a render.Artifact) render.Input {
	r := &corev1alpha1.Release{}
	r.Namespace, r.Name = "team", "web"
	return render.Input{Release: r, Artifact: a, Cluster: catalogueCluster{}}
}

// BenchmarkUnchanged renders what was rendered before.
func BenchmarkUnchanged(b *testing.B) {
	for name, files := range benchCharts() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r, in := render.New(render.Options{}), benchInput(content(".", files))
			if _, err := r.Render(b.Context(), in); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := r.Render(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
			if renders := r.Stats().Renders; renders != 1 {
				b.Fatalf("%d renders", renders)
			}
		})
	}
}

// BenchmarkManyClusters renders one chart for 500 clusters of equal capabilities at once.
func BenchmarkManyClusters(b *testing.B) {
	files := benchCharts()["large"]
	for b.Loop() {
		r := render.New(render.Options{})
		var wait sync.WaitGroup
		for range 500 {
			wait.Go(func() {
				if _, err := r.Render(b.Context(), benchInput(content(".", files))); err != nil {
					b.Error(err)
				}
			})
		}
		wait.Wait()
		b.ReportMetric(float64(r.Stats().Renders), "renders")
		if renders := r.Stats().Renders; renders != 1 {
			b.Fatalf("%d renders", renders)
		}
	}
}
