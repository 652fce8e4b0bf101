// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// serveRaw serves plain HTTP, and says garbled to what is none.
func serveRaw(t *testing.T, answer, garbled string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				first, err := r.Peek(4)
				if err != nil {
					return
				}
				if string(first) != "GET " && string(first) != "HEAD" {
					_, _ = io.WriteString(c, garbled)
					return
				}
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					if strings.TrimSpace(line) == "" {
						_, _ = io.WriteString(c, answer)
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// TestOCIAnswerOfPlainHTTP is what is told of a registry that may be insecure and has no TLS,
// whatever it makes of a handshake.
func TestOCIAnswerOfPlainHTTP(t *testing.T) {
	const broken = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	for name, garbled := range map[string]string{"HTTP": broken, "a page without a status line": "<!DOCTYPE HTML>\n<html>Bad request</html>\n", "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			host := serveRaw(t, broken, garbled)
			want := ociWant("oci://"+host, "", artifactRef("app", corev1alpha1.OCIRef{Tag: "1.0.0"}))
			r := newRig(t, fetch.Options{})
			_, checkErr := r.Check(t.Context(), "team", want.Source)
			_, err := r.get(t, want)
			for _, err := range []error{err, checkErr} {
				g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
				g.Expect(err).To(MatchError(And(ContainSubstring("the server answered with status 500"), Not(ContainSubstring("TLS")))))
			}
			if garbled == "" {
				return
			}
			want.Source.(*sourcev1alpha1.OCIRegistry).Spec.Insecure = false
			_, err = newRig(t, fetch.Options{}).Check(t.Context(), "team", want.Source)
			g.Expect(err).To(MatchError(ContainSubstring("the registry speaks plain HTTP; spec.insecure allows that")))
		})
	}
}

// TestOCIOfRegistriesThatSayLess has registries without HEAD requests, and with challenges
// besides the one that can be met.
func TestOCIOfRegistriesThatSayLess(t *testing.T) {
	basic := func(challenges ...string) func(http.Handler) http.HandlerFunc {
		return func(inner http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if _, password, _ := r.BasicAuth(); password == "p" {
					inner.ServeHTTP(w, r)
					return
				}
				w.Header()["Www-Authenticate"] = challenges
				w.WriteHeader(http.StatusUnauthorized)
			}
		}
	}
	head := func(answer http.HandlerFunc) func(http.Handler) http.HandlerFunc {
		return func(inner http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					answer(w, r)
					return
				}
				inner.ServeHTTP(w, r)
			}
		}
	}
	for name, tc := range map[string]struct {
		serve func(http.Handler) http.HandlerFunc
		want  error
	}{
		"another challenge before": {serve: basic("Negotiate", `Basic realm="x"`)},
		"another challenge after":  {serve: basic(`basic realm="x"`, "Negotiate")},
		"another challenge only":   {serve: basic("Negotiate", "NTLM"), want: fetch.ErrUnauthorized},
		"no HEAD":                  {serve: head(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })},
		"HEAD without a digest": {serve: head(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.Header().Set("Content-Length", "5")
		})},
		"HEAD that finds nothing": {serve: head(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }), want: fetch.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			registry := testsource.ServeOCI(t, false)
			digest := registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "1.0.0")
			registry.Config.Handler = tc.serve(registry.Config.Handler)
			want := ociWant("oci://"+registry.Host(), "creds", artifactRef("app", corev1alpha1.OCIRef{Tag: "1.0.0"}))
			a, err := newRig(t, fetch.Options{Secrets: secrets{"creds": {"username": "u", "password": "p"}}}).get(t, want)
			if tc.want != nil {
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.Revision).To(Equal("1.0.0@" + digest))
		})
	}
}
