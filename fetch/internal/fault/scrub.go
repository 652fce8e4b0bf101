// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	mask = "***"
	// minSecret is the length from which a secret is looked for in a text. A shorter one
	// would blot out ordinary words and still be guessable from the gaps.
	minSecret = 3
	// maxText bounds a text: servers answer with whole pages.
	maxText = 1000
)

var (
	userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s"'@]*@`)
	query    = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'?]*)\?[^\s"']*`)
	// What a server calls an address need not be one: in quotes, all up to the closing one
	// belongs to it.
	quotedUserinfo = regexp.MustCompile(`("[a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^/"@\\]|\\.)*@`)
	quotedQuery    = regexp.MustCompile(`("(?:[a-zA-Z][a-zA-Z0-9+.-]*://|[/.%])(?:[^"?\\]|\\.)*)\?(?:[^"\\]|\\.)*"`)
	// ephemeral is the local side of a connection, whose port differs each time: a message
	// in a condition has to be the same for the same failure.
	ephemeral = regexp.MustCompile(`(?:\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:%.]+\]):\d+->`)
)

// Scrubber takes secrets out of texts. The zero value and nil know no secrets and still
// take userinfo and queries out of URLs.
type Scrubber struct {
	replacer *strings.Replacer
	secrets  []string
}

// NewScrubber returns a Scrubber that knows the secrets, in the encodings in which they
// travel.
func NewScrubber(secrets ...string) *Scrubber {
	var forms []string
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		quoted := strconv.Quote(secret)
		forms = append(forms, escaped(secret)...)
		forms = append(forms, secret, quoted[1:len(quoted)-1],
			hex.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawStdEncoding.EncodeToString([]byte(secret)),
			base64.URLEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)))
	}
	// The replacer prefers earlier pairs, and one secret may be part of another.
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, mask)
	}
	return &Scrubber{replacer: strings.NewReplacer(pairs...), secrets: secrets}
}

// escaped gives the forms in which URLs hold a secret. What is escaped differs from part to part
// and from library to library, and so does the case of the digits.
func escaped(secret string) []string {
	query := url.QueryEscape(secret)
	forms := []string{query, url.PathEscape(secret), strings.TrimPrefix(url.UserPassword("", secret).String(), ":"),
		// As RFC 3986 wants it, and as browsers do it.
		strings.ReplaceAll(query, "+", "%20"),
		strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(query)}
	for _, form := range forms {
		forms = append(forms, escapes.ReplaceAllStringFunc(form, strings.ToLower))
	}
	return forms
}

// escapes are the bytes that are escaped in a URL.
var escapes = regexp.MustCompile(`%[0-9A-F]{2}`)

// With returns a Scrubber that knows more secrets.
func (s *Scrubber) With(secrets ...string) *Scrubber {
	if s != nil {
		secrets = append(slices.Clone(secrets), s.secrets...)
	}
	return NewScrubber(secrets...)
}

// Clean returns the text without secrets, without userinfo and queries of URLs, on one
// line, bounded in length, and the same for every repetition of a failure.
func (s *Scrubber) Clean(text string) string {
	if s != nil && s.replacer != nil {
		text = s.replacer.Replace(text)
	}
	text = quotedUserinfo.ReplaceAllString(text, "$1")
	text = quotedQuery.ReplaceAllString(text, `$1"`)
	text = userinfo.ReplaceAllString(text, "$1")
	text = query.ReplaceAllString(text, "$1")
	text = ephemeral.ReplaceAllString(text, "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// URL returns an address as it may be shown: without userinfo, query and fragment.
func URL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return (*Scrubber)(nil).Clean(raw)
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}
