// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"kumodo.io/convoy/apiserver/internal/scheme"
)

// passed answers what was sent.
var passed = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { _, _ = io.Copy(w, req.Body) })

func newTestRefuser(t *testing.T, maxBytes int64) refuser {
	t.Helper()
	types, err := scheme.New()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return newRefuser(&genericapiserver.Config{Serializer: serializer.NewCodecFactory(types), MaxRequestBodyBytes: maxBytes})
}

func TestStrategicPatchesThatTheLibraryStumblesOver(t *testing.T) {
	const strategic = string(types.StrategicMergePatchType)
	for name, c := range map[string]struct {
		contentType, body string
		code              int
	}{
		"names":                    {strategic, `{"spec":{"$retainKeys":["source"]}}`, http.StatusOK},
		"a list of lists":          {strategic, `{"spec":{"$retainKeys":[["source"]]}}`, http.StatusBadRequest},
		"an object, deep":          {strategic, `{"spec":{"x":[{"y":{"$retainKeys":[{}]}}]}}`, http.StatusBadRequest},
		"a name and a number":      {strategic, `{"$retainKeys":["a",1]}`, http.StatusBadRequest},
		"no list":                  {strategic, `{"$retainKeys":"a"}`, http.StatusBadRequest},
		"null":                     {strategic, `{"$retainKeys":null}`, http.StatusBadRequest},
		"with parameters":          {strategic + "; charset=utf-8", `{"$retainKeys":"a"}`, http.StatusBadRequest},
		"no JSON":                  {strategic, `{`, http.StatusOK},
		"another kind of patch":    {string(types.MergePatchType), `{"$retainKeys":"a"}`, http.StatusOK},
		"more than may be":         {strategic, `{"metadata":"` + strings.Repeat("a", 200) + `"}`, http.StatusRequestEntityTooLarge},
		"more, of another patch":   {string(types.MergePatchType), strings.Repeat("a", 200), http.StatusOK},
		"as much as there may be":  {strategic, `{"a":"` + strings.Repeat("a", 92) + `"}`, http.StatusOK},
		"one more than may be":     {strategic, `{"a":"` + strings.Repeat("a", 93) + `"}`, http.StatusRequestEntityTooLarge},
		"nothing at all, no patch": {strategic, ``, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			recorder := httptest.NewRecorder()
			req := httptest.NewRequest(http.MethodPatch, "/x", strings.NewReader(c.body))
			req.Header.Set("Content-Type", c.contentType)
			newTestRefuser(t, 100).withRetainKeys(passed).ServeHTTP(recorder, req)
			g.Expect(recorder.Code).To(Equal(c.code), recorder.Body.String())
			if c.code == http.StatusOK {
				g.Expect(recorder.Body.String()).To(Equal(c.body), "the body goes on unchanged")
			} else {
				g.Expect(recorder.Body.String()).To(And(ContainSubstring(`"kind":"Status"`), ContainSubstring("patch")))
			}
		})
	}
}

func TestPathsThatAreNoText(t *testing.T) {
	g := NewWithT(t)
	handler := newTestRefuser(t, 0).withText(passed)
	for path, code := range map[string]int{"/a%ff": http.StatusBadRequest, "/%c3%28": http.StatusBadRequest, "/%C3%A9": http.StatusOK, "/a": http.StatusOK} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		g.Expect(recorder.Code).To(Equal(code), path)
	}
}
