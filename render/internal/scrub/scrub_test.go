// SPDX-License-Identifier: Apache-2.0

package scrub_test

import (
	"encoding/base64"
	"encoding/hex"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/scrub"
)

func TestText(t *testing.T) {
	const secret = "Hunter2 \"canary\"\nsecond-line"
	s := scrub.New([]string{secret, "ab", "5432"})
	tests := []struct{ name, given, want string }{
		{"whole", "fail: " + secret + "!", "fail: ***!"},
		{"one line", "at Hunter2 \"canary\".", "at ***."},
		{"another line", "second-line", "***"},
		{"other case", "HUNTER2 \"CANARY\"", "***"},
		{"quoted", `error for "Hunter2 \"canary\"\nsecond-line"`, `error for "***"`},
		{"base64", base64.StdEncoding.EncodeToString([]byte(secret)), "***"},
		{"hexadecimal", hex.EncodeToString([]byte("second-line")), "***"},
		{"twice", "5432 and 5432", "*** and ***"},
		{"too short to look for", "about", "about"},
		{"nothing", "line 12 of templates/a.yaml", "line 12 of templates/a.yaml"},
		{"beside bytes that are no text", "\xff5432\xfe", "\xff***\xfe"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(s.Text(test.given)).To(Equal(test.want))
		})
	}
}

func TestWithoutSecrets(t *testing.T) {
	g := NewWithT(t)
	g.Expect(scrub.New([]string{"", "a"})).To(BeNil())
	var none *scrub.Scrubber
	g.Expect(none.Text("as it is")).To(Equal("as it is"))
}
