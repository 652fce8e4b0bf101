// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"gocloud.dev/blob/memblob"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kumodo.io/convoy/render"
)

// A render that could not be read again is not stored, and one that is too large to be read
// is not corrupt.
func TestTooLarge(t *testing.T) {
	g := NewWithT(t)
	result := &render.Result{Objects: []render.Object{{Object: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": strings.Repeat("a", 1<<20)},
	}}}}}
	var err error
	result.Digest, err = result.ComputeDigest()
	g.Expect(err).NotTo(HaveOccurred())
	r := Record{Namespace: "team", Name: "web", Result: result}
	s := New(Place{Bucket: memblob.OpenBucket(nil), Name: "mem://"}, Options{})
	defer func() { g.Expect(s.Close()).To(Succeed()) }()
	s.largest = 1 << 20
	g.Expect(s.Put(t.Context(), r)).To(MatchError(ErrTooLarge))
	s.largest = 2 << 20
	g.Expect(s.Put(t.Context(), r)).To(Succeed())
	s.largest = 1 << 20
	_, err = s.Get(t.Context(), "team", "web", result.Digest)
	g.Expect(err).To(MatchError(ErrTooLarge))
	g.Expect(err).NotTo(MatchError(ErrCorrupt))
	g.Expect(err.Error()).To(ContainSubstring(result.Digest[len("sha256:"):]))
}

// What a service calls a code is shown when it looks like one.
func TestCodes(t *testing.T) {
	for code, shown := range map[string]bool{
		"AccessDenied": true, "XAmzContentSHA256Mismatch": true, "InvalidMd5": true, "KMS.NotFoundException": true, "503": true,
		"AKIAIOSFODNN7EXAMPLE": false, strings.Repeat("0a", 32): false, "Bearer canary": false, "access denied": false,
	} {
		t.Run(code, func(t *testing.T) {
			s := &Store{place: Place{Explain: func(error) (string, string) { return code, "" }}}
			NewWithT(t).Expect(strings.Contains(s.text(errors.New("canary")), code)).To(Equal(shown))
		})
	}
}

func TestScrub(t *testing.T) {
	tests := []struct{ name, given, want string }{
		{"nothing", "connection refused", "connection refused"},
		{"a signature", `Get "https://a.example/c/k?sv=1&sig=canary": EOF`, `Get "https://a.example/c/k": EOF`},
		{"a password", "open https://user:canary@a.example/c: EOF", "open https://a.example/c: EOF"},
		{"two", "https://a/?x=canary, http://b/?y=canary", "https://a/ http://b/"},
		{"ends of a connection", "read tcp 10.0.0.1:4711->10.0.0.2:443: connection reset by peer", "read tcp 10.0.0.2:443: connection reset by peer"},
		{"a signed request", "refused: AWS4-HMAC-SHA256 Credential=AKIACANARY/x, Signature=canary token", "refused: (not shown)"},
		{"a token", "refused Authorization: Bearer canary", "refused (not shown)"},
		{"a long token", "refused " + strings.Repeat("canary", 10) + "/x", "refused (not shown)/x"},
		{"what is no HTTP", `Get "https://a.example/c": net/http: malformed HTTP response "canary \"canary"`, `Get "https://a.example/c": net/http: malformed HTTP response (not shown)`},
		{"a header that is none", "net/http: malformed MIME header line: canary", "net/http: malformed MIME header line: (not shown)"},
		{"an answer of a token service", "oauth2: cannot fetch token: 400\nResponse: canary", "oauth2: cannot fetch token: 400"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { NewWithT(t).Expect(scrub(test.given)).To(Equal(test.want)) })
	}
}
