// SPDX-License-Identifier: Apache-2.0

package scrub_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
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

// TestTextOfTransformedSecrets looks for what templates make of secrets.
func TestTextOfTransformedSecrets(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	b32 := base32.StdEncoding.EncodeToString
	const secret = "hunter2-canary"
	s := scrub.New([]string{secret, `{"db": {"pw": "inner-canary", "n": 12345678}, "l": [deeper-canary]}`, "a: yaml-canary\nb: 'it''s <one>'\n",
		b64([]byte(`{"auths": {"r": {"auth": "` + b64([]byte("me:nested-canary")) + `"}}}`)), "postgres://me:url-canary@db:5432/x", "87654321"})
	tests := []struct{ name, given, want string }{
		{"value in JSON", "inner-canary", "***"},
		{"number in JSON", "12345678 is", "*** is"},
		{"item of a list in a text", "deeper-canary", "***"},
		{"value in YAML", "yaml-canary", "***"},
		{"quoted for YAML", "'it''s <one>'", "'***'"},
		{"quoted for JSON", `"it's \u003cone\u003e"`, `"***"`},
		{"for HTML", "it&#39;s &lt;one&gt;", "***"},
		{"in base64, in JSON, in base64", "password me:nested-canary", "password ***"},
		{"password of a URL", "url-canary@db", "***@db"},
		{"in base64 behind one byte", "got " + b64([]byte(":"+secret+"@")), "got ***"},
		{"in base64 behind two bytes", b64([]byte("u:" + secret)), "***"},
		{"in base64 behind three bytes", b64([]byte("me:"+secret+" and more")) + "!", "***!"},
		{"in base64 without padding", base64.RawURLEncoding.EncodeToString([]byte("user:" + secret)), "***"},
		{"in base64 twice", b64([]byte(b64([]byte(secret)))), "***"},
		{"in base32", b32([]byte(secret)), "***"},
		{"in base32 behind others", "x " + b32([]byte("user:x:"+secret)) + ".", "x ***."},
		{"in hexadecimal", hex.EncodeToString([]byte("user:" + secret)), hex.EncodeToString([]byte("user:")) + "***"},
		{"beginning", "hunter2-ca", "***"},
		{"beginning, then others", "hunter2-can-do", "***-do"},
		{"end", "nter2-canary", "***"},
		{"too short a beginning", "hunter2", "hunter2"},
		{"other separators", "hunter2_canary hunter2.canary HUNTER2CANARY", "*** *** ***"},
		{"letter by letter", "h u n t e r 2 - c a n a r y", "***"},
		{"a digest", "0a4d55a8d778e5022fab701977c5d840bbc486d0", "0a4d55a8d778e5022fab701977c5d840bbc486d0"},
		{"schemes are none", "postgres://other, https://a.test", "postgres://other, https://a.test"},
		{"what templates say", "template: web/templates/a.yaml:1:3: at <fail>", "template: web/templates/a.yaml:1:3: at <fail>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(s.Text(test.given)).To(Equal(test.want))
		})
	}
}

// Numbers are taken out as templates print them, and as Go does.
func TestScalars(t *testing.T) {
	g := NewWithT(t)
	g.Expect(scrub.Scalars(map[string]any{"a": 87654321.0, "b": []any{1.5, int64(7), true, nil}}, nil)).To(ConsistOf("87654321", "8.7654321e+07", "1.5", "7"))
}

func TestWithoutSecrets(t *testing.T) {
	g := NewWithT(t)
	g.Expect(scrub.New([]string{"", "a"})).To(BeNil())
	var none *scrub.Scrubber
	g.Expect(none.Text("as it is")).To(Equal("as it is"))
}

// TestDistinct keeps what can be looked for, and tells what is too much for New to look for.
func TestDistinct(t *testing.T) {
	g := NewWithT(t)
	distinct, all := scrub.Distinct([]string{"hunter2", "abc", "first line\nsecond", "hunter2", "    "})
	g.Expect(all).To(BeTrue())
	g.Expect(distinct).To(Equal([]string{"    ", "first line\nsecond", "hunter2"}))
	var many []string
	for n := range 300_000 {
		many = append(many, fmt.Sprintf("secret-%d", n))
	}
	distinct, all = scrub.Distinct(many)
	g.Expect(all).To(BeFalse())
	g.Expect(distinct).To(BeEmpty())
	g.Expect(scrub.New(many).Text("nothing")).To(Equal(scrub.TooMany().Text("nothing")))
	g.Expect(scrub.TooMany().Text("nothing")).To(ContainSubstring("not shown"))
}

// TestManyTextsInSecrets has more of them than are parsed to look for what lies in them.
func TestManyTextsInSecrets(t *testing.T) {
	g := NewWithT(t)
	text := "a: inside-hunter2\n#" + strings.Repeat("x", 500<<10)
	g.Expect(scrub.New([]string{text + "1", text + "2", text + "3"}).Text("fail: inside-hunter2")).To(Equal("fail: ***"))
	g.Expect(scrub.New([]string{text + "1", text + "2", text + "3", text + "4", text + "5"}).Text("fail: inside-hunter2")).To(ContainSubstring("not shown"))
}
