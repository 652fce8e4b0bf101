// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestOCITokensInTheClear has a registry with TLS send its clients to a server without it,
// where they would show their credentials; that its certificate need not be trusted is no
// reason to.
func TestOCITokensInTheClear(t *testing.T) {
	registry := testsource.ServeOCI(t, true)
	registry.Config.ErrorLog = testsource.Quiet()
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "latest")
	registry.Push("web", []testsource.Layer{{MediaType: chartLayer, Content: testsource.Chart(t, "web", "1.0.0")}}, "1.0.0")
	var shown atomic.Int32
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		shown.Add(1)
		_, _ = fmt.Fprint(w, `{"token":"canary-token","access_token":"canary-token"}`)
	}))
	t.Cleanup(tokens.Close)
	registry.Allow(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer canary-token" },
		fmt.Sprintf(`Bearer realm="%s/token",service="test"`, tokens.URL))
	ca := string(testsource.Certificate(registry.Server))
	all := secrets{
		"password": {"username": "u", "password": "canary", "ca.crt": ca},
		"identity": {".dockerconfigjson": fmt.Sprintf(`{"auths":{%q:{"identitytoken":"canary-identity"}}}`, registry.Host()), "ca.crt": ca},
		"ca":       {"ca.crt": ca},
	}
	for _, secret := range []string{"password", "identity", "ca"} {
		for _, insecure := range []bool{false, true} {
			artifact := ociWant("oci://"+registry.Host(), secret, artifactRef("app", corev1alpha1.OCIRef{}))
			artifact.Source.(*sourcev1alpha1.OCIRegistry).Spec.Insecure = insecure
			chart := helmWant("oci://"+registry.Host(), secret, "web", "1.0.0")
			chart.Source.(*sourcev1alpha1.HelmRegistry).Spec.Insecure = insecure
			for kind, want := range map[string]fetch.Want{"artifact": artifact, "chart": chart} {
				t.Run(fmt.Sprintf("%s of %s, insecure %v", kind, secret, insecure), func(t *testing.T) {
					g := NewWithT(t)
					shown.Store(0)
					r := newRig(t, fetch.Options{Secrets: all})
					_, err := r.get(t, want)
					_, checkErr := r.Check(t.Context(), "team", want.Source)
					for _, err := range []error{err, checkErr} {
						g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
						g.Expect(err.Error()).To(And(ContainSubstring("uses http but registry was contacted over https"), Not(ContainSubstring("canary"))))
					}
					g.Expect(shown.Load()).To(BeZero())
				})
			}
		}
	}
}
