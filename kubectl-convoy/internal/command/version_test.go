// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

const (
	groupPath   = "/apis/core.convoy.kumodo.io/v1alpha1"
	openapiPath = "/openapi/v3" + groupPath
)

func TestVersion(t *testing.T) {
	description := func(version string) any {
		return map[string]any{"openapi": "3.0.0", "info": map[string]any{"title": "convoy", "version": version}}
	}
	host := &version.Info{GitVersion: "v1.37.2"}
	group := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: "core.convoy.kumodo.io/v1alpha1"}
	known := "Client: " + Version + "\nHost cluster: v1.37.2\n"
	served := known + "API: core.convoy.kumodo.io/v1alpha1\n"
	for _, test := range []struct {
		name    string
		answers map[string]any // by path; an int is the code of a refusal
		code    int
		out     string
		errOut  string
	}{
		{"all", map[string]any{"/version": host, groupPath: group, openapiPath: description("v9.8.7")}, 0, served + "convoy-apiserver: v9.8.7\n", ""},
		{
			"a server that does not tell its version", map[string]any{"/version": host, groupPath: group, openapiPath: description("")}, 0,
			served + "convoy-apiserver: answers, version unknown (" + openapiPath + " does not tell it)\n", "",
		},
		{
			"a user who may not read descriptions", map[string]any{"/version": host, groupPath: group, openapiPath: http.StatusForbidden}, 0,
			served + "convoy-apiserver: answers, version unknown (" + openapiPath + ": Forbidden)\n", "",
		},
		{
			"no convoy", map[string]any{"/version": host, groupPath: http.StatusNotFound}, 1, known,
			"error: the host cluster does not know the API core.convoy.kumodo.io/v1alpha1: convoy is not installed there\n",
		},
		{
			"a convoy that does not answer", map[string]any{"/version": host, groupPath: http.StatusServiceUnavailable}, 1, known,
			"error: the host cluster knows the API core.convoy.kumodo.io/v1alpha1, but gets no answer from convoy-apiserver: ServiceUnavailable\n",
		},
		{"no host", map[string]any{"/version": http.StatusForbidden}, 1, "Client: " + Version + "\n", "error: version of the host cluster: Forbidden\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			code, out, errOut := runAgainst(t, context.Background(), func(w http.ResponseWriter, req *http.Request) {
				switch answer := test.answers[req.URL.Path].(type) {
				case int:
					reason := map[int]metav1.StatusReason{
						http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
						http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
					}[answer]
					refuse(w, answer, reason, string(reason))
				case nil:
					t.Errorf("asked for %s", req.URL)
				default:
					send(w, answer)
				}
			}, "version")
			g.Expect(code).To(Equal(test.code))
			g.Expect(out).To(Equal(test.out))
			g.Expect(errOut).To(Equal(test.errOut))
		})
	}
}

func TestVersionOfTheClientAsksNobody(t *testing.T) {
	g := NewWithT(t)
	code, out, _ := runAgainst(t, context.Background(), func(_ http.ResponseWriter, req *http.Request) { t.Errorf("asked for %s", req.URL) }, "version", "--client")
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(Equal("Client: " + Version + "\n"))
}
