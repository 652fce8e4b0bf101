// SPDX-License-Identifier: Apache-2.0

package digest_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/digest"
)

// The digests are of `{"a":"<&>","b":[1,1.5,9007199254740993,null,true]}` and `{}`,
// computed with sha256sum: they must never change.
func TestOf(t *testing.T) {
	tests := []struct {
		name  string
		given any
		want  string
	}{
		{"canonical", map[string]any{"b": []any{1.0, 1.5, int64(9007199254740993), nil, true}, "a": "<&>"},
			"sha256:cbc4a134877b35626bb353c8ab9842c28fa44c70d5969612c48ce819b6cc219f"},
		{"empty", map[string]any{}, "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := digest.Of(test.given)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(test.want))
			_, ok := digest.Hex(got)
			g.Expect(ok).To(BeTrue())
		})
	}
}

func TestHexRefuses(t *testing.T) {
	for _, given := range []string{
		"", "sha256:", "sha256:44", "sha512:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
		"sha256:44136FA355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
		"sha256:../36fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
	} {
		_, ok := digest.Hex(given)
		NewWithT(t).Expect(ok).To(BeFalse(), given)
	}
}
