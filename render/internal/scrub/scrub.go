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

const (
	// Searched is how much of a text is looked at. What is longer can be cut there before.
	Searched = 16 << 10
	// lead is by how much of its beginning a form is known that is longer than that.
	lead = 4 << 10
	// shown is how much is given of a text of which no more was looked at: whatever begins in
	// it has its lead in what was looked at.
	shown = Searched - lead
)

const (
	// mostFound is how many bytes of secrets there may be with what lies in them, mostParsed how
	// many of these may be parsed for that, and mostSought how many of them may be looked for;
	// each text counts perText besides.
	mostFound  = 64 << 20
	mostParsed = 2 << 20
	mostSought = 8 << 20
	perText    = 32
)

const mask = "***"

// hidden is the text in the place of one that cannot be searched.
const hidden = mask + " (the message is not shown: there are too many values of Secrets to look for in it)"

// Scrubber knows some secrets. The nil Scrubber knows none.
type Scrubber struct {
	// lines are looked for in all forms, within encoded texts too; wholes have spaces around
	// them, and are looked for with them.
	lines, wholes []string
	// heads are the letters and digits of secrets, in lower case; tails are the same
	// backwards. Both are sorted.
	heads, tails []string
	// tooMany is true when not all of them can be looked for.
	tooMany bool
	sought  int
}

// New makes a Scrubber for secrets; nil when none of them can be looked for.
func New(secrets []string) *Scrubber {
	s := &Scrubber{}
	found, whole := expand(secrets)
	s.tooMany = !whole
	for _, secret := range found {
		if s.tooMany {
			return s
		}
		s.add(secret)
	}
	s.lines, s.wholes, s.heads, s.tails = sorted(s.lines), sorted(s.wholes), sorted(s.heads), sorted(s.tails)
	if len(s.lines) == 0 && len(s.wholes) == 0 && !s.tooMany {
		return nil
	}
	return s
}

// TooMany is a Scrubber that shows no message.
func TooMany() *Scrubber { return &Scrubber{tooMany: true} }

// Distinct gives those of some secrets that can be looked for, each once. all is false when they
// are more than can be: then New gives TooMany for them, too.
func Distinct(secrets []string) (distinct []string, all bool) {
	distinct = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < shortest })
	distinct = sorted(distinct)
	sought := 0
	for _, secret := range distinct {
		if length := len(strings.TrimSpace(secret)); length >= shortest {
			sought += min(length, Searched) + perText
		}
	}
	if sought > mostSought {
		return nil, false
	}
	return distinct, true
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

func (s *Scrubber) add(secret string) {
	for line := range strings.SplitSeq(secret, "\n") {
		s.lines = s.seek(s.lines, strings.TrimSpace(line))
	}
	trimmed := strings.TrimSpace(secret)
	if trimmed != secret {
		s.wholes = s.seek(s.wholes, secret)
	}
	if strings.Contains(trimmed, "\n") {
		s.lines = s.seek(s.lines, trimmed)
		return // its lines are not secret from their first word on
	}
	// Nor is a scheme.
	if _, after, isURL := strings.Cut(secret, "://"); isURL {
		secret = after
	}
	if small, _ := squeeze(secret); len(small) >= part {
		s.heads = s.seek(s.heads, small)
		s.tails = s.seek(s.tails, backwards(small))
	}
}

// seek adds a text to those that are looked for, as far as it can be in what is searched.
func (s *Scrubber) seek(texts []string, text string) []string {
	if len(text) < shortest {
		return texts
	}
	text = text[:min(len(text), Searched)]
	if s.sought += len(text) + perText; s.sought > mostSought {
		s.tooMany = true
		return texts
	}
	return append(texts, text)
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

// Text gives a text without the secrets. Of a text of Searched bytes or more, which may have
// been cut there, it gives the beginning.
func (s *Scrubber) Text(text string) string {
	switch {
	case s == nil:
		return text
	case s.tooMany:
		return hidden
	case len(text) < Searched:
		return s.marked(text).masked(len(text))
	}
	return strings.ToValidUTF8(s.marked(text[:Searched]).masked(shown), "") + " …"
}

// marked finds the secrets in a text.
func (s *Scrubber) marked(text string) *marks {
	m := newMarks(text)
	for _, secret := range s.wholes {
		formsOf(secret, m.form)
	}
	for _, secret := range s.lines {
		formsOf(secret, m.form)
		withinOf(secret, m.within)
		withinOf(base64Of(secret), m.within)
	}
	small, places := squeeze(text)
	for at := range small {
		if n := longestPrefix(s.heads, small[at:]); n >= part {
			m.mark(places[at], places[at+n-1]+1)
		}
	}
	small = backwards(small)
	slices.Reverse(places)
	for at := range small {
		if n := longestPrefix(s.tails, small[at:]); n >= part {
			m.mark(places[at+n-1], places[at]+1)
		}
	}
	return m
}

// longestPrefix tells how many bytes a text has in common with one of some sorted texts: with
// one of the two that it lies between.
func longestPrefix(sorted []string, text string) int {
	longest := 0
	at, _ := slices.BinarySearch(sorted, text)
	for _, near := range sorted[max(0, at-1):min(len(sorted), at+1)] {
		longest = max(longest, common(near, text))
	}
	return longest
}

// common tells how many bytes two texts begin with alike.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func backwards(text string) string {
	turned := []byte(text)
	slices.Reverse(turned)
	return string(turned)
}
