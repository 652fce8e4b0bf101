// SPDX-License-Identifier: Apache-2.0

package store

import (
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

func TestScrub(t *testing.T) {
	tests := []struct{ name, given, want string }{
		{"nothing", "connection refused", "connection refused"},
		{"a signature", `Get "https://a.example/c/k?sv=1&sig=canary": EOF`, `Get "https://a.example/c/k": EOF`},
		{"a password", "open https://user:canary@a.example/c: EOF", "open https://a.example/c: EOF"},
		{"two", "https://a/?x=canary, http://b/?y=canary", "https://a/ http://b/"},
		{"ends of a connection", "read tcp 10.0.0.1:4711->10.0.0.2:443: connection reset by peer", "read tcp 10.0.0.2:443: connection reset by peer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { NewWithT(t).Expect(scrub(test.given)).To(Equal(test.want)) })
	}
}
