// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const canary = `c4n/ry+"tok en\`

func TestCleanTakesSecretsOut(t *testing.T) {
	s := NewScrubber(canary, "user:"+canary, "xy")
	for name, given := range map[string]string{
		"plain":                        "failed with " + canary,
		"quoted":                       fmt.Sprintf("failed with %q", canary),
		"query":                        "https://host/x?token=" + url.QueryEscape(canary),
		"path":                         "https://host/" + url.PathEscape(canary),
		"userinfo":                     "https://user:" + url.QueryEscape(canary) + "@host/",
		"RFC 3986":                     "https://user:" + strings.ReplaceAll(url.QueryEscape(canary), "+", "%20") + "@host/",
		"RFC 3986, quoted by a server": `no such page: "/x/c4n%2Fry%2B%22tok%20en%5C"`,
		"in small letters":             "c4n%2fry%2b%22tok%20en%5c",
		"of a user":                    url.UserPassword("u", canary).String(),
		"basic":                        "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+canary)),
		"base64":                       base64.StdEncoding.EncodeToString([]byte(canary)),
		"raw base64":                   base64.RawURLEncoding.EncodeToString([]byte(canary)),
		"hexadecimal":                  fmt.Sprintf("%x", canary),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := s.Clean("before " + given + " after")
			g.Expect(got).NotTo(ContainSubstring("c4n"))
			g.Expect(got).NotTo(ContainSubstring(base64.StdEncoding.EncodeToString([]byte("user:" + canary))[:12]))
			g.Expect(got).To(And(HavePrefix("before "), HaveSuffix(" after")))
		})
	}
}

// TestCleanTakesMarksOut has marks in a secret that some escape and others do not.
func TestCleanTakesMarksOut(t *testing.T) {
	const secret = "p@ss (w0rd)!*'/+&="
	s := NewScrubber(secret)
	for _, given := range []string{
		"p%40ss%20%28w0rd%29%21%2A%27%2F%2B%26%3D", "p%40ss%20%28w0rd%29%21%2a%27%2f%2b%26%3d", "p%40ss+%28w0rd%29%21%2A%27%2F%2B%26%3D",
		"p%40ss%20(w0rd)!*'%2F%2B%26%3D", url.PathEscape(secret), url.UserPassword("u", secret).String()[2:],
	} {
		NewWithT(t).Expect(s.Clean("before " + given + " after")).To(Equal("before *** after"))
	}
}

// TestAnswersThatEnd are told from each other, and not in the words of the library.
func TestAnswersThatEnd(t *testing.T) {
	g := NewWithT(t)
	g.Expect(FromRequest(fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), nil)).To(MatchError(ContainSubstring("ends too early")))
	g.Expect(FromRequest(&url.Error{Op: "Get", URL: "x", Err: io.EOF}, nil)).To(MatchError("the server closed the connection without an answer"))
}

// TestConnectionThatTimesOut is another matter than a caller that does not wait any more.
func TestConnectionThatTimesOut(t *testing.T) {
	g := NewWithT(t)
	err := FromRequest(&net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}, nil)
	g.Expect(errors.Is(err, ErrUnreachable)).To(BeTrue(), "%v", err)
	g.Expect(errors.Is(err, context.DeadlineExceeded)).To(BeTrue(), "%v", err)
	g.Expect(errors.Is(FromRequest(context.DeadlineExceeded, nil), ErrUnreachable)).To(BeFalse())
}

func TestCleanWithoutKnownSecrets(t *testing.T) {
	for _, tc := range []struct{ name, given, want string }{
		{"userinfo", "Get https://u:p@host/x failed", "Get https://host/x failed"},
		{"query", `Get "https://host/x?sig=abc": no`, `Get "https://host/x": no`},
		{"userinfo of what is no URL", `parse "https://u:p w@ho st/x": no`, `parse "https://ho st/x": no`},
		{"query of what is no URL", `parse "https://ho st/x?sig=a b\"c": no`, `parse "https://ho st/x": no`},
		{"query of a path", `header "/x%zz?sig=abc": parse "/x%zz?sig=abc": no`, `header "/x%zz": parse "/x%zz": no`},
		{"quotes and questions", `"why?" he said, "where is https://host?"`, `"why?" he said, "where is https://host"`},
		{"lines", "a\n\tb\r\nc\x00d", "a b c d"},
		{"ephemeral port", "read tcp 127.0.0.1:54321->127.0.0.1:80: reset", "read tcp 127.0.0.1:80: reset"},
		{"ephemeral port, IPv6", "read tcp [::1]:54321->[::1]:80: reset", "read tcp [::1]:80: reset"},
		{"ordinary text", "tag v1.2.0 at host:80 is a@b", "tag v1.2.0 at host:80 is a@b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			NewWithT(t).Expect((*Scrubber)(nil).Clean(tc.given)).To(Equal(tc.want))
		})
	}
	NewWithT(t).Expect(len((*Scrubber)(nil).Clean(strings.Repeat("é", 5000)))).To(BeNumerically("<=", maxText+3))
}

func TestErrorsOfLibrariesAreNotReachable(t *testing.T) {
	g := NewWithT(t)
	library := &url.Error{Op: "Get", URL: "https://u:" + canary + "@host", Err: errors.New("boom " + canary)}
	err := FromRequest(fmt.Errorf("wrapped: %w", library), NewScrubber(canary))
	g.Expect(errors.Is(err, ErrUnreachable)).To(BeTrue())
	var reached *url.Error
	g.Expect(errors.As(err, &reached)).To(BeFalse())
	g.Expect(err.Error()).To(Equal("boom ***"))
}

func TestRewriteKeepsKinds(t *testing.T) {
	g := NewWithT(t)
	err := Rewrite(errors.Join(ErrUnreachable, context.DeadlineExceeded), "text")
	g.Expect(errors.Is(err, ErrUnreachable)).To(BeTrue())
	g.Expect(errors.Is(err, context.DeadlineExceeded)).To(BeTrue())
	g.Expect(errors.Is(err, ErrNotFound)).To(BeFalse())
}

func TestTemporary(t *testing.T) {
	g := NewWithT(t)
	for _, kind := range kinds {
		err := &fs.PathError{Op: "open", Path: "a", Err: New(kind, "why")}
		var temporary interface{ Temporary() bool }
		g.Expect(errors.As(err, &temporary)).To(BeTrue())
		g.Expect(temporary.Temporary()).To(Equal(kind != ErrContent && kind != ErrLimit), "%v", kind)
	}
}
