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

// JSON has one text for all that is no UTF-8; a digest tells them apart, wherever they stand.
func TestOfWhatIsNoText(t *testing.T) {
	type holder struct {
		Values map[string]any `json:"values"`
		Texts  []string       `json:"texts"`
	}
	seen := map[string]string{}
	for _, text := range []string{"\ufffd", `\ufffd`, "\xff", "\xfe", "\xff\xfe", "\xfe\xff", "a\xff", "\xffa"} {
		for place, value := range map[string]any{
			"value": text, "of a map": map[string]any{"a": map[string]any{"b": []any{1, text}}}, "key": map[string]any{text: 1},
			"of a struct": &holder{Values: map[string]any{"v": text}}, "of a list": holder{Texts: []string{text}},
		} {
			got, err := digest.Of(value)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(seen).NotTo(HaveKey(got), "%s: %q", place, text)
			seen[got] = place + text
			again, _ := digest.Of(value)
			NewWithT(t).Expect(again).To(Equal(got))
		}
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
