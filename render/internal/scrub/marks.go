// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"index/suffixarray"
	"strings"
)

// marks are the bytes of a text that must not be shown. Each form is found in it without
// reading it all, and each byte is looked at once in the end, however often it was marked.
type marks struct {
	text   string
	places *suffixarray.Index // in the text in lower case
	// begins are where forms can begin, by the hash of their first bytes: most begin nowhere.
	begins [1 << 16]bool
	// whole and parts are the forms that were found, so that each is marked once.
	whole, parts map[string]bool
	// changes say at each byte how many marks begin there, less those that end before it.
	changes []int
	// encoded are the bytes at which something begins that an encoded text has in it.
	encoded []bool
}

func newMarks(text string) *marks {
	small := lower(text)
	m := &marks{
		text: text, places: suffixarray.New([]byte(small)),
		whole: map[string]bool{}, parts: map[string]bool{},
		changes: make([]int, len(text)+1), encoded: make([]bool, len(text)),
	}
	for at := range len(small) - shortest + 1 {
		m.begins[hash(small[at:])] = true
	}
	return m
}

// hash is of the first bytes of a text, which has the shortest length at least.
func hash(text string) uint16 {
	bytes := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
	return uint16((bytes * 2654435761) >> 16)
}

// each calls found where a form is in the text, unless the form is in seen.
func (m *marks) each(form string, seen map[string]bool, found func(at int)) {
	if len(form) < shortest || !m.begins[hash(form)] || seen[form] {
		return
	}
	places := m.places.Lookup([]byte(form), -1)
	if len(places) > 0 {
		seen[form] = true
	}
	for _, at := range places {
		found(at)
	}
}

// form marks a form wherever it is. Of one that is longer than its lead, what follows it is
// marked to the end.
func (m *marks) form(form string) {
	if len(form) > lead {
		m.each(form[:lead], m.whole, func(at int) { m.mark(at, len(m.text)) })
		return
	}
	m.each(form, m.whole, func(at int) { m.mark(at, at+len(form)) })
}

// within notes where something is that an encoded text has in it.
func (m *marks) within(form string) {
	m.each(form[:min(len(form), lead)], m.parts, func(at int) { m.encoded[at] = true })
}

func (m *marks) mark(from, to int) {
	m.changes[from]++
	m.changes[to]--
}

// words marks all of each encoded text that has something in it.
func (m *marks) words() {
	for from := 0; from < len(m.text); from++ {
		if !isEncoding(m.text[from]) {
			continue
		}
		to, holds := from, false
		for ; to < len(m.text) && isEncoding(m.text[to]); to++ {
			holds = holds || m.encoded[to]
		}
		if holds {
			m.mark(from, to)
		}
		from = to
	}
}

func isEncoding(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/-_=", c) >= 0
}

// masked gives the first bytes of the text, with asterisks for all that is marked in a row.
func (m *marks) masked(most int) string {
	m.words()
	var out strings.Builder
	before, depth := false, 0
	for i := range most {
		depth += m.changes[i]
		switch {
		case depth == 0:
			out.WriteByte(m.text[i])
		case !before:
			out.WriteString(mask)
		}
		before = depth > 0
	}
	return out.String()
}
