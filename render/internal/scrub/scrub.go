// SPDX-License-Identifier: Apache-2.0

// Package scrub takes secrets out of texts that people read. Engines show values in their
// errors; where values came from Secrets, those are replaced by asterisks.
//
// It finds a secret as it is, line by line, in any case, and with other characters in the
// place of those that are no letters or digits; its first and last eight characters or more;
// in base64, base32, hexadecimal, URL, HTML and quoted form, by itself or within a text that
// was encoded as a whole. What lies in a secret that is a JSON or YAML text, or base64, or a
// URL with a password, is a secret too. It cannot find what a template made of one otherwise
// (the middle of it, its digest, its letters in another order), nor secrets so short that
// they are part of any text.
package scrub

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// shortest is the length from which a secret is looked for, part from which a part of
	// it is: the beginning or end, or what has been encoded of it.
	shortest = 4
	part     = 8
)

const mask = "***"

// Scrubber knows the forms of some secrets. The nil Scrubber knows none.
type Scrubber struct {
	// forms are looked for as they are, in lower case.
	forms []string
	// squeezed are secrets of which only letters and digits are looked for, in lower case.
	squeezed []string
	// within are parts of encoded texts that have a secret in them.
	within []string
}

// New makes a Scrubber for secrets; nil when none of them can be looked for.
func New(secrets []string) *Scrubber {
	s := &Scrubber{}
	for _, secret := range expand(secrets) {
		s.add(secret)
	}
	s.forms, s.squeezed, s.within = sorted(s.forms), sorted(s.squeezed), sorted(s.within)
	if len(s.forms) == 0 {
		return nil
	}
	return s
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

func (s *Scrubber) add(secret string) {
	for _, line := range append(strings.Split(secret, "\n"), secret) {
		if line = strings.TrimSpace(line); len(line) >= shortest {
			s.forms = append(s.forms, formsOf(line)...)
			s.within = append(s.within, withinOf(line)...)
			s.within = append(s.within, withinOf(base64.StdEncoding.EncodeToString([]byte(line)))...)
		}
	}
	if len(secret) >= shortest {
		s.forms = append(s.forms, formsOf(secret)...)
	}
	// The lines of a longer text are not secret from their first word on, nor is a scheme.
	if strings.Contains(strings.TrimSpace(secret), "\n") {
		return
	}
	if _, after, isURL := strings.Cut(secret, "://"); isURL {
		secret = after
	}
	if small, _ := squeeze(secret); len(small) >= part {
		s.squeezed = append(s.squeezed, small)
	}
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
	case float64:
		// As templates print it, and as Go does.
		texts = append(texts, strconv.FormatFloat(v, 'f', -1, 64))
		if short := fmt.Sprint(v); short != texts[len(texts)-1] {
			texts = append(texts, short)
		}
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
	m := marks{text: text, marked: make([]bool, len(text))}
	searched := lower(text)
	for _, form := range s.forms {
		m.each(searched, form, func(at int) { m.mark(at, at+len(form)) })
	}
	for _, form := range s.within {
		m.each(searched, form, func(at int) { m.word(at, at+len(form)) })
	}
	small, places := squeeze(text)
	for _, secret := range s.squeezed {
		m.each(small, secret[:part], func(at int) {
			m.mark(places[at], places[at+common(small[at:], secret)-1]+1)
		})
		m.each(small, secret[len(secret)-part:], func(at int) {
			end := at + part
			m.mark(places[end-commonEnd(small[:end], secret)], places[end-1]+1)
		})
	}
	return m.masked()
}

// common tells how many bytes two texts begin with alike, commonEnd with how many they end.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonEnd(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// marks are the bytes of a text that must not be shown.
type marks struct {
	text   string
	marked []bool
}

// each calls found where a form is in a text.
func (m *marks) each(text, form string, found func(at int)) {
	for from := 0; ; {
		at := strings.Index(text[from:], form)
		if at < 0 {
			return
		}
		found(from + at)
		from += at + 1
	}
}

func (m *marks) mark(from, to int) {
	for i := from; i < to; i++ {
		m.marked[i] = true
	}
}

// word marks all of an encoded text.
func (m *marks) word(from, to int) {
	for from > 0 && isEncoding(m.text[from-1]) {
		from--
	}
	for to < len(m.text) && isEncoding(m.text[to]) {
		to++
	}
	m.mark(from, to)
}

func isEncoding(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/-_=", c) >= 0
}

// masked gives the text with asterisks for all that is marked in a row.
func (m *marks) masked() string {
	var out strings.Builder
	for i := 0; i < len(m.text); i++ {
		switch {
		case !m.marked[i]:
			out.WriteByte(m.text[i])
		case i == 0 || !m.marked[i-1]:
			out.WriteString(mask)
		}
	}
	return out.String()
}
