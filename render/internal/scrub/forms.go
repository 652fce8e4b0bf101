// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kumodo.io/convoy/render/internal/lossless"
)

// deepest is how deep secrets are looked for in secrets, longestText how long a text may be
// in which they are.
const (
	deepest     = 4
	longestText = 1 << 20
)

// expand adds to secrets what lies in them; whole is false when that is too much.
func expand(secrets []string) (all []string, whole bool) {
	all = slices.Clone(secrets)
	size, parsed := sizeOf(all), 0
	from := 0
	for range deepest {
		end := len(all)
		for _, secret := range all[from:end] {
			before := len(all)
			if isText(secret) {
				if parsed += len(secret); parsed > mostParsed {
					return nil, false
				}
			}
			all = inside(secret, all)
			if size += sizeOf(all[before:]); size > mostFound {
				return nil, false
			}
		}
		from = end
	}
	return all, size <= mostFound
}

func sizeOf(texts []string) int {
	size := perText * len(texts)
	for _, text := range texts {
		size += len(text)
	}
	return size
}

// isText tells secrets that may be JSON or YAML, which are parsed.
func isText(secret string) bool {
	trimmed := strings.TrimSpace(secret)
	return len(secret) <= longestText && (strings.ContainsAny(trimmed, ":[{") || strings.HasPrefix(trimmed, "-"))
}

// inside adds what lies in a secret: in a JSON or YAML text, in base64, in a URL.
func inside(secret string, found []string) []string {
	if len(secret) > longestText {
		return found
	}
	trimmed := strings.TrimSpace(secret)
	if isText(secret) {
		if value, err := lossless.YAML([]byte(secret)); err == nil {
			switch value.(type) {
			case map[string]any, []any:
				found = Scalars(value, found)
			}
		}
	}
	if len(trimmed) >= part {
		if text, err := base64.StdEncoding.DecodeString(trimmed); err == nil && utf8.Valid(text) {
			found = append(found, string(text))
		}
	}
	if _, rest, ok := strings.Cut(trimmed, "://"); ok {
		if parsed, err := url.Parse(trimmed); err == nil && parsed.User != nil {
			password, _ := parsed.User.Password()
			found = append(found, password)
		} else if user, _, ok := strings.Cut(rest, "@"); ok {
			_, password, _ := strings.Cut(user, ":")
			found = append(found, password)
		}
	}
	return found
}

// formsOf calls found for the texts by which a secret may be shown as a whole, in lower case.
func formsOf(secret string, found func(form string)) {
	raw := []byte(secret)
	found(lower(secret))
	for _, form := range []string{
		strings.Trim(strconv.Quote(secret), `"`),
		strings.ReplaceAll(secret, "'", "''"),
		url.QueryEscape(secret),
		url.PathEscape(secret),
		html.EscapeString(secret),
	} {
		if form != secret {
			found(lower(form))
		}
	}
	found(hex.EncodeToString(raw))
	for _, form := range []string{base64Of(secret), base64.URLEncoding.EncodeToString(raw), base32.StdEncoding.EncodeToString(raw)} {
		found(lower(form))
		if bare := strings.TrimRight(form, "="); bare != form {
			found(lower(bare))
		}
	}
	if quoted, err := json.Marshal(secret); err == nil {
		if form := strings.Trim(string(quoted), `"`); form != secret {
			found(lower(form))
		}
	}
}

func base64Of(secret string) string { return base64.StdEncoding.EncodeToString([]byte(secret)) }

var base32Encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// withinOf calls found for what is in the encoded form of any text that a secret lies in, in
// lower case: for each place that it can have in a group of bytes that are encoded together,
// the characters that nothing around it has a part in.
func withinOf(secret string, found func(form string)) {
	for _, e := range []struct {
		encode      func([]byte) string
		bytes, bits int // of a group; of a character
	}{
		{base64.RawStdEncoding.EncodeToString, 3, 6},
		{base64.RawURLEncoding.EncodeToString, 3, 6},
		{base32Encoding.EncodeToString, 5, 5},
	} {
		for before := range e.bytes {
			encoded := e.encode(append(make([]byte, before), secret...))
			from := (8*before + e.bits - 1) / e.bits
			to := 8 * (before + len(secret)) / e.bits
			if to-from >= part {
				found(lower(encoded[from:to]))
			}
		}
	}
}

// lower changes ASCII letters only, byte by byte, so that offsets stay what they were.
func lower(text string) string {
	lowered := []byte(text)
	for i, c := range lowered {
		if c >= 'A' && c <= 'Z' {
			lowered[i] = c + ('a' - 'A')
		}
	}
	return string(lowered)
}

// squeeze gives the letters and digits of a text in lower case, and where each was.
func squeeze(text string) (small string, places []int) {
	kept := make([]byte, 0, len(text))
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= utf8.RuneSelf:
		default:
			continue
		}
		kept, places = append(kept, c), append(places, i)
	}
	return string(kept), places
}
