// SPDX-License-Identifier: Apache-2.0

package git

import (
	"strings"

	"kumodo.io/convoy/fetch/internal/fault"
)

// configBytes bounds a configuration file of a repository.
const configBytes = 1 << 20

// setting is a value of a configuration file. Section and key are in lower case.
type setting struct{ section, subsection, key, value string }

// parseConfig reads the form of git-config(1). It knows no includes, and a key without
// value has the value true. name is for the error, which is fault.ErrContent.
func parseConfig(name string, data []byte) ([]setting, error) {
	if len(data) > configBytes {
		return nil, fault.New(fault.ErrLimit, "the file %s has more than %s", name, fault.Size(configBytes))
	}
	p := configParser{rest: strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\ufeff"), line: 1}
	var settings []setting
	for p.skipBlank(); p.rest != ""; p.skipBlank() {
		p.start = p.line
		if p.rest[0] == '[' {
			if !p.header() {
				return nil, p.malformed(name)
			}
			continue
		}
		s, ok := p.setting()
		if !ok {
			return nil, p.malformed(name)
		}
		settings = append(settings, s)
	}
	return settings, nil
}

type configParser struct {
	rest                string
	line, start         int
	section, subsection string
}

func (p *configParser) malformed(name string) error {
	return fault.New(fault.ErrContent, "line %d of the file %s is malformed", p.start, name)
}

// next takes a byte off; 0 is the end.
func (p *configParser) next() byte {
	if p.rest == "" {
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c == '\n' {
		p.line++
	}
	return c
}

// skipBlank passes over white space and comments.
func (p *configParser) skipBlank() {
	for p.rest != "" {
		switch c := p.rest[0]; {
		case c == '#' || c == ';':
			p.skipLine()
		case c == ' ' || c == '\t' || c == '\n':
			p.next()
		default:
			return
		}
	}
}

func (p *configParser) skipLine() {
	for p.rest != "" && p.rest[0] != '\n' {
		p.next()
	}
}

func (p *configParser) word(more string) string {
	n := 0
	for n < len(p.rest) && (isAlphanumeric(p.rest[n]) || strings.IndexByte(more, p.rest[n]) >= 0) {
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return strings.ToLower(word)
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (p *configParser) skipSpaces() { p.rest = strings.TrimLeft(p.rest, " \t") }

// header reads [section] or [section "subsection"].
func (p *configParser) header() bool {
	p.next()
	p.section, p.subsection = p.word("-."), ""
	if p.section == "" {
		return false
	}
	if p.skipSpaces(); strings.HasPrefix(p.rest, `"`) {
		p.next()
		var b strings.Builder
		for {
			c := p.next()
			if c == '"' {
				break
			}
			if c == '\\' {
				c = p.next()
			}
			if c == 0 || c == '\n' {
				return false
			}
			b.WriteByte(c)
		}
		p.subsection = b.String()
	}
	return p.next() == ']'
}

func (p *configParser) setting() (setting, bool) {
	s := setting{section: p.section, subsection: p.subsection, key: p.word("-"), value: "true"}
	if s.key == "" || s.section == "" {
		return s, false
	}
	p.skipSpaces()
	switch {
	case p.rest == "" || strings.IndexByte("\n#;", p.rest[0]) >= 0:
		p.skipLine()
		return s, true
	case p.next() != '=':
		return s, false
	}
	p.skipSpaces()
	var ok bool
	s.value, ok = p.value()
	return s, ok
}

var configEscapes = map[byte]byte{'n': '\n', 't': '\t', 'b': '\b', '\\': '\\', '"': '"'}

// value reads up to the end of the line, or of the next one when a backslash ends it.
func (p *configParser) value() (string, bool) {
	var b strings.Builder
	quoted, kept := false, 0
	for {
		c := p.next()
		switch {
		case c == 0 || c == '\n':
			return b.String()[:kept], !quoted
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			continue
		case c == '"':
			quoted = !quoted
			kept = b.Len()
			continue
		case c == '\\':
			escaped := p.next()
			if escaped == '\n' {
				continue
			}
			known := false
			if c, known = configEscapes[escaped]; !known {
				return "", false
			}
			b.WriteByte(c)
			kept = b.Len()
			continue
		}
		b.WriteByte(c)
		// Spaces at the end count only in quotes.
		if quoted || (c != ' ' && c != '\t') {
			kept = b.Len()
		}
	}
}
