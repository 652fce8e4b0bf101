// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/render"
)

func TestValues(t *testing.T) {
	w := newWorld(t)
	w.values = &desired.Values{Revision: "main@sha1:1", Values: []render.Value{
		{Path: `auth.to\.k\\en`, Secret: true, Origin: render.ValueOrigin{Kind: "Secret", Name: "s", Key: "token"}},
		{Path: "auth.user", Value: "web", Origin: render.ValueOrigin{Kind: render.OriginFile, Name: "prod.yaml"}},
		{Path: "empty", Value: map[string]any{}, Origin: render.ValueOrigin{Kind: render.OriginChart, Name: "web/values.yaml"}},
		{Path: "imported", Origin: render.ValueOrigin{Kind: render.OriginImport}},
		{Path: "list", Value: []any{int64(9007199254740993), nil}, Origin: render.ValueOrigin{Kind: render.OriginRelease}},
	}}
	got := answer[corev1alpha1.ReleaseValues](w, "/values/ns/app?revision=v1")
	w.Expect(w.revision).To(Equal("v1"))
	w.Expect(got.Revision).To(Equal("main@sha1:1"))
	w.Expect(string(got.Values.Raw)).To(MatchJSON(
		`{"auth": {"to.k\\en": "(masked)", "user": "web"}, "empty": {}, "imported": null, "list": [9007199254740993, null]}`))
	w.Expect(got.Origins).To(Equal([]corev1alpha1.ValueOrigin{
		{Path: `auth.to\.k\\en`, Kind: corev1alpha1.ValueOriginSecret, Name: "s", Key: "token"},
		{Path: "auth.user", Kind: corev1alpha1.ValueOriginFile, Name: "prod.yaml"},
		{Path: "empty", Kind: corev1alpha1.ValueOriginChart, Name: "web/values.yaml"},
		{Path: "imported", Kind: corev1alpha1.ValueOriginChartImport},
		{Path: "list", Kind: corev1alpha1.ValueOriginRelease},
	}))

	w.values = &desired.Values{}
	_, body := w.get("/values/ns/app")
	w.Expect(body).To(And(ContainSubstring(`"values":{}`), ContainSubstring(`"origins":[]`)), "a chart without values has none")

	w.Expect(w.clusters.Replace(nil, "")).To(Succeed())
	code, body := w.get("/values/ns/app")
	w.Expect(code).To(Equal(http.StatusServiceUnavailable))
	w.Expect(body).To(ContainSubstring("no such cluster"))
}
