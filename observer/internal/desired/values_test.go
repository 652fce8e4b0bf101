// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// host has one Secret.
type host struct{ secret map[string][]byte }

func (host) ConfigMap(_ context.Context, _, name string) (map[string]string, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

func (h host) Secret(context.Context, string, string) (map[string][]byte, error) {
	return h.secret, nil
}

// parent is a chart with a subchart that it imports values of.
func parent(defaults string) fstest.MapFS {
	return fstest.MapFS{
		"Chart.yaml":            {Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies: [{name: db, version: 1.x, import-values: [shared]}]\n")},
		"values.yaml":           {Data: []byte(defaults)},
		"charts/db/Chart.yaml":  {Data: []byte("apiVersion: v2\nname: db\nversion: 1.0.0\n")},
		"charts/db/values.yaml": {Data: []byte("exports: {shared: {imported: default}}\n")},
	}
}

func TestValues(t *testing.T) {
	b := newBench(t, map[string]fstest.MapFS{"main@sha1:1": parent("a: 1"), "main@sha1:2": parent("a: 2")})
	r := b.References.(References)
	r.HostReader = host{map[string][]byte{"values.yaml": []byte("db: {exports: {shared: {imported: canary}}}\npassword: canary\n")}}
	b.References = r
	b.release.Spec.Render = &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{
		ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret", Name: "s"}}, Values: &runtime.RawExtension{Raw: []byte(`{"b": 3}`)},
	}}
	for _, test := range []struct {
		name, asked string
		pin         *corev1alpha1.Pin
		revision, a string
	}{
		{"of what a sync would take", "", nil, "main@sha1:2", "2"},
		{"of a revision", "main@sha1:1", nil, "main@sha1:1", "1"},
		{"of a pinned revision", "", &corev1alpha1.Pin{Revision: "main@sha1:1"}, "main@sha1:1", "1"},
		{"of another one than the pinned", "main@sha1:2", &corev1alpha1.Pin{Render: "sha256:x"}, "main@sha1:2", "2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b.release.Spec.Pin = test.pin
			got, err := b.Values(t.Context(), b.release, cluster{}, test.asked)
			b.Expect(err).NotTo(HaveOccurred())
			b.Expect(got.Revision).To(Equal(test.revision))
			var lines []string
			for _, v := range got.Values {
				lines = append(lines, fmt.Sprintf("%s=%v %s", v.Path, v.Value, v.Origin))
			}
			b.Expect(lines).To(Equal([]string{
				"a=" + test.a + " {Chart c/values.yaml }", "b=3 {Release  }",
				"db.exports.shared.imported=<nil> {Secret s values.yaml}", "db.global=map[] {ChartImport  }",
				"imported=default {ChartImport  }", "password=<nil> {Secret s values.yaml}",
			}), "what is imported is the subchart's own default, never what a Secret sets there")
		})
	}
}

func TestReleasesWithoutValues(t *testing.T) {
	kustomization := fstest.MapFS{"kustomization.yaml": {Data: []byte("resources: []\n")}, "Chart.yaml": {Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")}}
	bare := fstest.MapFS{"Chart.yaml": kustomization["Chart.yaml"]}
	for _, test := range []struct {
		name    string
		content fstest.MapFS
		render  corev1alpha1.RenderType
		pin     *corev1alpha1.Pin
		want    string
	}{
		{"manifests", manifest("1"), "", nil, `no Chart.yaml at the path "." of main@sha1:2`},
		{"a kustomization that happens to have a Chart.yaml", kustomization, corev1alpha1.RenderKustomize, nil, "spec.render.type is kustomize"},
		{"a pinned render", manifest("1"), "", &corev1alpha1.Pin{Render: "sha256:x"}, "spec.pin.render"},
		{"a chart that has none", bare, "", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, map[string]fstest.MapFS{"main@sha1:2": test.content})
			b.release.Spec.Render, b.release.Spec.Pin = &corev1alpha1.RenderSpec{Type: test.render}, test.pin
			got, err := b.Values(t.Context(), b.release, cluster{}, "")
			if test.want == "" {
				b.Expect(err).NotTo(HaveOccurred())
				b.Expect(got.Values).To(BeEmpty())
				return
			}
			b.Expect(err).To(MatchError(ErrNoValues))
			b.Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}
