// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"kumodo.io/convoy/apiserver/internal/scheme"
)

func TestPathsThatAreNoText(t *testing.T) {
	g := NewWithT(t)
	types, err := scheme.New()
	g.Expect(err).NotTo(HaveOccurred())
	handler := withTextPath(http.NotFoundHandler(), serializer.NewCodecFactory(types))
	for path, code := range map[string]int{"/a%ff": http.StatusBadRequest, "/%c3%28": http.StatusBadRequest, "/%C3%A9": http.StatusNotFound, "/a": http.StatusNotFound} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		g.Expect(recorder.Code).To(Equal(code), path)
		if code == http.StatusBadRequest {
			g.Expect(recorder.Body.String()).To(And(ContainSubstring(`"kind":"Status"`), ContainSubstring("UTF-8")))
		}
	}
}
