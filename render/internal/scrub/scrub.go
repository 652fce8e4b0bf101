// SPDX-License-Identifier: Apache-2.0

// Package scrub takes secrets out of texts that people read. Engines show values in their
// errors; where values came from Secrets, those are replaced by asterisks.
//
// It finds a secret as it is, line by line, in any case, in base64, hexadecimal, URL and
// quoted form. It cannot find what a template made of it otherwise, nor secrets so short
// that they are part of any text.
package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// shortest is the length from which a secret is looked for.
const shortest = 4

const mask = "***"

// Scrubber knows the forms of some secrets. The nil Scrubber knows none.
type Scrubber struct {
	forms []string // in lower case, longest first
}

// New makes a Scrubber for secrets; nil when none of them can be looked for.
func New(secrets []string) *Scrubber {
	var forms []string
	for _, secret := range secrets {
		for _, part := range append(strings.Split(secret, "\n"), secret) {
			part = strings.TrimSpace(part)
			if len(part) >= shortest {
				forms = append(forms, formsOf(part)...)
			}
		}
		if len(secret) >= shortest {
			forms = append(forms, formsOf(secret)...)
		}
	}
	if len(forms) == 0 {
		return nil
	}
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return &Scrubber{forms: slices.Compact(forms)}
}

func formsOf(secret string) []string {
	raw := []byte(secret)
	forms := []string{
		secret,
		strings.Trim(strconv.Quote(secret), `"`),
		url.QueryEscape(secret),
		url.PathEscape(secret),
		hex.EncodeToString(raw),
		base64.StdEncoding.EncodeToString(raw),
		base64.RawStdEncoding.EncodeToString(raw),
		base64.URLEncoding.EncodeToString(raw),
		base64.RawURLEncoding.EncodeToString(raw),
	}
	for i := range forms {
		forms[i] = lower(forms[i])
	}
	return forms
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

// Scalars adds every text and number inside a decoded value to texts.
func Scalars(value any, texts []string) []string {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			texts = Scalars(inner, texts)
		}
	case []any:
		for _, inner := range v {
			texts = Scalars(inner, texts)
		}
	case string:
		texts = append(texts, v)
	case bool, nil:
	default:
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// Error gives an error without the secrets: the same one if its text shows none of them, else
// one that leads to no other.
func (s *Scrubber) Error(err error) error {
	if text := s.Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// Text gives a text without the secrets.
func (s *Scrubber) Text(text string) string {
	if s == nil {
		return text
	}
	for _, form := range s.forms {
		text = replace(text, form)
	}
	return text
}

func replace(text, form string) string {
	searched := lower(text)
	var out strings.Builder
	for {
		at := strings.Index(searched, form)
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:at])
		out.WriteString(mask)
		text, searched = text[at+len(form):], searched[at+len(form):]
	}
}
