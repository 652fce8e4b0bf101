// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// charts are References with charts only, by repository, name and version.
type charts struct {
	secrets
	by    map[string]render.Artifact
	asked []string
}

func (c *charts) Chart(_ context.Context, namespace string, wanted render.Dependency) (render.Artifact, error) {
	key := fmt.Sprintf("%s %s %s %s", namespace, wanted.Repository, wanted.Name, wanted.Version)
	c.asked = append(c.asked, key)
	if a, ok := c.by[key]; ok {
		return a, nil
	}
	return render.Artifact{}, errNoChart
}

var errNoChart = errors.New("the namespace team has no HelmRegistry with the url")

// packed is a chart that has one ConfigMap, called as the chart.
func packed(name, version, value string) map[string]string {
	return map[string]string{
		"Chart.yaml":       "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n",
		"templates/a.yaml": configMap("{{ .Chart.Name }}-"+value, "data: {v: {{ .Chart.Version | quote }}}"),
	}
}

func with(files map[string]string, more map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{files, more} {
		for name, text := range m {
			all[name] = text
		}
	}
	return all
}

func below(folder string, files map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range files {
		all[folder+"/"+name] = text
	}
	return all
}

type dependency struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Repository string `json:"repository"`
}

// lockOf makes a lock file as Helm does.
func lockOf(declared, locked []dependency) string {
	data, _ := json.Marshal([2]any{declared, locked})
	digest := sha256.Sum256(data)
	text, _ := json.Marshal(map[string]any{"dependencies": locked, "digest": "sha256:" + hex.EncodeToString(digest[:]), "generated": "2026-01-01T00:00:00Z"})
	return string(text)
}

func TestDependenciesFromRegistries(t *testing.T) {
	g := NewWithT(t)
	top := with(packed("top", "1.0.0", "x"), map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies:\n" +
			"- {name: db, version: ^1, repository: 'https://charts.test/a'}\n" +
			"- {name: db, version: ^1, repository: 'https://charts.test/a', alias: other}\n" +
			"- {name: cache, version: 2.x, repository: 'oci://reg.test/charts', condition: cache.enabled}\n" +
			"- {name: vendored, version: 1.0.0, repository: 'https://charts.test/a'}\n",
		"values.yaml": "cache: {enabled: false}\n",
	})
	top = with(top, below("charts/any-folder", packed("vendored", "1.0.0", "v")))
	references := &charts{by: map[string]render.Artifact{
		"team https://charts.test/a db ^1":     content(".", packed("db", "1.2.0", "d")),
		"team oci://reg.test/charts cache 2.x": content(".", packed("cache", "2.0.0", "c")),
	}}
	in := input(t, "", top)
	in.References = references
	result := rendered(t, in)
	g.Expect(described(result.Objects)).To(ConsistOf("ConfigMap team/top-x", "ConfigMap team/db-d", "ConfigMap team/other-d", "ConfigMap team/vendored-v"))
	g.Expect(references.asked).To(ConsistOf("team https://charts.test/a db ^1", "team oci://reg.test/charts cache 2.x"), "once each, and what is in charts/ not at all")

	renderer := render.New(render.Options{})
	for range 3 {
		_, err := renderer.Render(t.Context(), in)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(renderer.Stats().Renders).To(Equal(int64(1)))
	references.by["team https://charts.test/a db ^1"] = content(".", packed("db", "1.3.0", "d"))
	changed, err := renderer.Render(t.Context(), in)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(renderer.Stats().Renders).To(Equal(int64(2)), "a new version of a dependency is another input")
	g.Expect(changed.Digest).NotTo(Equal(result.Digest))
}

func TestDependenciesOfALockFile(t *testing.T) {
	declared, locked := []dependency{{"db", "^1", "https://charts.test"}}, []dependency{{"db", "1.1.0", "https://charts.test"}}
	named := "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: db, version: ^1, repository: '@stable'}]\n"
	plain := "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: db, version: ^1, repository: 'https://charts.test'}]\n"
	exact := "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: db, version: v1.1.0, repository: 'https://charts.test'}]\n"
	for _, tc := range []struct {
		name, chart, lock string
		want              string
		wantRanges        []string
	}{
		{"none", plain, "", "1.2.0", []string{"db ^1"}},
		{"none and none needed", exact, "", "1.1.0", nil},
		{"that fits", plain, lockOf(declared, locked), "1.1.0", nil},
		{"made when the repository had a name", named, lockOf(declared, locked), "1.1.0", nil},
		{"of other dependencies", plain, lockOf(locked, locked), "", nil},
		{"with another dependency", plain, lockOf(declared, append(locked, locked...)), "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			files := map[string]string{"Chart.yaml": tc.chart}
			if tc.lock != "" {
				files["Chart.lock"] = tc.lock
			}
			in := input(t, "", files)
			in.References = &charts{by: map[string]render.Artifact{
				"team https://charts.test db ^1":     content(".", packed("db", "1.2.0", "d")),
				"team https://charts.test db 1.1.0":  content(".", packed("db", "1.1.0", "d")),
				"team https://charts.test db v1.1.0": content(".", packed("db", "1.1.0", "d")),
			}}
			if tc.want == "" {
				err := failed(t, in)
				g.Expect(err.Reason).To(Equal(corev1alpha1.ReasonRenderFailed))
				g.Expect(err.Error()).To(ContainSubstring("the lock file of chart top does not fit its dependencies any more; run `helm dependency update`"))
				return
			}
			result := rendered(t, in)
			version, _, _ := unstructured.NestedString(result.Objects[0].Object.Object, "data", "v")
			g.Expect(version).To(Equal(tc.want))
			g.Expect(result.Ranges).To(Equal(tc.wantRanges))
		})
	}
}

func TestDependenciesInTheSource(t *testing.T) {
	g := NewWithT(t)
	dependsOn := func(name, repository string) map[string]string {
		return map[string]string{"Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\ndependencies: [{name: lib, version: 1.x, repository: '" + repository + "'}]\n"}
	}
	files := with(below("apps/top", with(packed("top", "1.0.0", "x"), dependsOn("top", "file://../../lib"))), below("lib", packed("lib", "1.5.0", "l")))
	files["lib/Chart.yaml"] += "dependencies: [{name: base, version: '*', repository: 'file://../base'}]\n"
	files = with(files, below("base", packed("base", "0.1.0", "b")))
	at := func(files map[string]string) render.Input {
		in := input(t, "", files)
		in.Artifact.Path = "apps/top"
		in.Artifact.Digest = "sha256:of the path" // which others in the source do not change
		return in
	}
	before := rendered(t, at(files))
	g.Expect(described(before.Objects)).To(ConsistOf("ConfigMap team/top-x", "ConfigMap team/lib-l", "ConfigMap team/base-b"))
	after := rendered(t, at(with(files, below("base", packed("base", "0.1.0", "changed")))))
	g.Expect(after.Inputs).NotTo(Equal(before.Inputs))
	g.Expect(described(after.Objects)).To(ContainElement("ConfigMap team/base-changed"))
	g.Expect(rendered(t, at(with(files, map[string]string{"elsewhere": "x"}))).Inputs).To(Equal(before.Inputs))

	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"out of the source", below("apps/top", dependsOn("top", "file://../../../lib")), "chart top depends on file://../../../lib: the path leaves the source"},
		{"absolute", below("apps/top", dependsOn("top", "file:///lib")), "the path leaves the source"},
		{"not there", below("apps/top", dependsOn("top", "file://../none")), "there is no usable chart in the folder apps/none of the source"},
		{"another version", with(below("apps/top", dependsOn("top", "file://../lib")), below("apps/lib", packed("lib", "2.0.0", "l"))), "where the chart lib 2.0.0 is"},
		{"itself", below("apps/top", dependsOn("top", "file://.")), "in a circle"},
		{"a circle", with(below("apps/top", dependsOn("top", "file://../lib")), below("apps/lib", dependsOn("lib", "file://../lib"))), "in a circle"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			NewWithT(t).Expect(failed(t, at(tc.files)).Error()).To(ContainSubstring(tc.want))
		})
	}
}

func TestDependenciesThatCannotBeHad(t *testing.T) {
	g := NewWithT(t)
	in := input(t, "", map[string]string{"Chart.yaml": "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: db, version: ^1, repository: 'https://charts.test'}]\n"})
	in.References = &charts{}
	_, err := render.New(render.Options{}).Render(t.Context(), in)
	g.Expect(err).To(MatchError(errNoChart))
	g.Expect(err.Error()).To(Equal("chart top depends on the chart db ^1: the namespace team has no HelmRegistry with the url"))

	in.References = nil
	g.Expect(failed(t, in).Error()).To(ContainSubstring("run `helm dependency update` and add them to the source"))
	in = input(t, "", map[string]string{"Chart.yaml": "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: db, version: ^1}]\n"})
	in.References = &charts{}
	g.Expect(failed(t, in).Error()).To(Equal("chart top depends on charts that are not in its charts/ folder: db ^1; run `helm dependency update` and add them to the source, or name their repository in Chart.yaml"))
	in = input(t, "source: {helm: {chart: top}}", map[string]string{"Chart.yaml": "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: db, version: ^1, repository: 'https://charts.test'}]\n"})
	in.References = &charts{}
	g.Expect(failed(t, in).Error()).To(Equal("chart top depends on charts that are not in its charts/ folder: db ^1; it was packaged without them: package it again after `helm dependency update`, or use another version"))
}
