// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestFormats(t *testing.T) {
	for _, test := range []struct {
		path, accept string
		contentType  string
		want         string // how the answer begins
	}{
		{"/diff/ns/app", "", "application/json", `{"kind":"ReleaseDiff"`},
		{"/diff/ns/app", "application/json", "application/json", `{"kind":"ReleaseDiff"`},
		{"/diff/ns/app", "image/png, text/plain;q=0.5", "text/plain; charset=utf-8", "update ConfigMap ns/cm\n--- ConfigMap ns/cm (live)\n+++ ConfigMap ns/cm (desired)\n@@"},
		{"/diff/ns/app", "application/yaml", "application/yaml", "apiVersion: core.convoy.kumodo.io/v1alpha1\n"},
		{"/diff/ns/app?output=yaml", "text/plain", "application/yaml", "apiVersion: "},
		{"/diff/ns/app?output=text", "image/png", "text/plain; charset=utf-8", "update ConfigMap ns/cm"},
		{"/diff/ns/app?output=patch", "", "application/json", `[{"version":"v1","kind":"ConfigMap","namespace":"ns","name":"cm","action":"update","patch":[{"op":"replace","path":"/data/a","value":"1"}]`},
		{"/preview/ns/app?output=text", "", "text/plain; charset=utf-8", "revision main@sha1:1\nrender d\nplan sha256:"},
		{"/health/ns/app?output=text", "", "text/plain; charset=utf-8", "OBJECT"},
		{"/history/ns/app?output=text", "", "text/plain; charset=utf-8", "ID   REVISION   RENDER       OUTCOME   REASON   OBJECTS   REQUESTED BY"},
		{"/history/ns/app?id=4&output=text", "", "text/plain; charset=utf-8", "---\napiVersion: v1\n"},
		{"/nothing/ns/app?output=text", "", "text/plain; charset=utf-8", "404"},
	} {
		t.Run(test.path+" "+test.accept, func(t *testing.T) {
			w := newWorld(t)
			w.put(changed)
			w.current = rendered("d", configMap)
			w.byDigest["sha256:old"] = rendered("sha256:old", configMap)
			w.release.Status.History = []corev1alpha1.HistoryEntry{{ID: 4, Render: "sha256:old"}}
			w.health = &corev1alpha1.ReleaseHealth{Objects: []corev1alpha1.ObjectHealthDetail{}}
			req := httptest.NewRequest(http.MethodGet, test.path, nil)
			if test.accept != "" {
				req.Header.Set("Accept", test.accept)
			}
			recorder := httptest.NewRecorder()
			w.server.Handler().ServeHTTP(recorder, req)
			w.Expect(recorder.Header().Get("Content-Type")).To(Equal(test.contentType))
			w.Expect(recorder.Body.String()).To(HavePrefix(test.want))
			if test.contentType == "application/yaml" {
				diff := &corev1alpha1.ReleaseDiff{}
				w.Expect(yaml.UnmarshalStrict(recorder.Body.Bytes(), diff)).To(Succeed())
				w.Expect(diff.Objects).To(HaveLen(1))
			}
		})
	}
}

func TestNegotiation(t *testing.T) {
	for accept, want := range map[string]format{
		"":                             formatJSON,
		"*/*":                          formatJSON,
		"*":                            formatJSON,
		"application/*":                formatJSON,
		"text/*":                       formatText,
		"APPLICATION/YAML":             formatYAML,
		"application/json, */*":        formatJSON, // kubectl get --raw
		"application/yaml, */*":        formatYAML,
		"text/plain, application/json": formatText,
		"text/plain;q=0.5, application/yaml;q=0.9":                           formatYAML,
		"text/plain;q=0.5, */*;q=0.9":                                        formatJSON,
		"application/json;q=0, */*;q=0.1":                                    formatYAML,
		"text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8": formatJSON, // browsers
		"application/json; charset=utf-8":                                    formatJSON,
		"application/json;as=Table;v=v1;g=meta.k8s.io, application/yaml":     formatYAML,
		"application/vnd.kubernetes.protobuf, application/json":              formatJSON,
		"image/png, text/plain;q=.2":                                         formatText,
		"application/yaml;q=x, text/plain":                                   formatText,
		"//, application/yaml":                                               formatYAML,

		"image/png":                                    "",
		"application/json;q=0":                         "",
		"application/json-patch+json":                  "",
		"application/vnd.kubernetes.protobuf":          "",
		"application/json;as=Table;v=v1;g=meta.k8s.io": "",
		"text/html":                                    "",
		"*/*;q=0":                                      "",
		"application":                                  "",
	} {
		t.Run(accept, func(t *testing.T) {
			g := NewWithT(t)
			got, err := formatOf([]string{accept}, "", "ReleaseDiff")
			g.Expect(got).To(Equal(want))
			if want != "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(apierrors.ReasonForError(err)).To(Equal(metav1.StatusReasonNotAcceptable))
			g.Expect(err).To(MatchError("only the following media types are accepted: application/json, application/yaml, text/plain"))
		})
	}
}

func TestNothingThatIsAcceptable(t *testing.T) {
	w := newWorld(t)
	req := httptest.NewRequest(http.MethodGet, "/preview/ns/app", nil)
	req.Header.Set("Accept", "image/png")
	recorder := httptest.NewRecorder()
	w.server.Handler().ServeHTTP(recorder, req)
	w.Expect(recorder.Code).To(Equal(http.StatusNotAcceptable))
	w.Expect(recorder.Header().Get("Content-Type")).To(Equal("application/json"))
	w.Expect(recorder.Body.String()).To(ContainSubstring(`"reason":"NotAcceptable"`))
	w.Expect(w.arrived.Load()).To(BeZero())
}

func TestNothingButReadingIsServed(t *testing.T) {
	w := newWorld(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		recorder := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(recorder, httptest.NewRequest(method, "/preview/ns/app", nil))
		w.Expect(recorder.Code).To(Equal(http.StatusMethodNotAllowed))
	}
	w.Expect(w.arrived.Load()).To(BeZero())
}

func TestDiffFromDesiredToLive(t *testing.T) {
	w := newWorld(t)
	w.put(changed)
	w.put(other)
	w.has("app", "cm", "other")
	w.current = rendered("d", configMap, secretManifest)
	diff := answer[corev1alpha1.ReleaseDiff](w, "/diff/ns/app?from=desired&to=live")
	w.Expect(diff.From + " " + diff.To).To(Equal("desired live"))
	var found []string
	for _, object := range diff.Objects {
		found = append(found, string(object.Action)+" "+object.Name)
	}
	w.Expect(found).To(Equal([]string{"update cm", "delete s", "create other"}))
	w.Expect(diff.Objects[0].Changes).To(Equal([]corev1alpha1.FieldChange{{Path: "/data/a", From: `"1"`, To: `"2"`}}))
	w.Expect(diff.Objects[0].Unified).To(ContainSubstring("-  a: \"1\"\n+  a: \"2\""))
	w.Expect(diff.Objects[1].Unified).To(And(ContainSubstring("-kind: Secret"), Not(ContainSubstring("canary"))))
}

const secretManifest = "{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: s}, data: {p: canary}}"
