// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// aValue matches what stands behind a name: with quotes, which may be escaped, with brackets, or
// with neither.
const aValue = `\\+"[\s\S]*?\\+"|"(?:[^"\\]|\\.)*"?|'[^']*'?|\[[^\]]*\]?|\{[^}]*\}?`

// named finds names, each with what is between it and its value, and the value behind them.
type named struct{ name, value *regexp.Regexp }

var (
	// A URL's user and password, also one that has to be escaped there and is not, and those before
	// an address as drivers of databases write it.
	userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^/?#\s"'` + "`" + `]*|[^/:\s"']+:[^\s"']*)@`)
	address  = regexp.MustCompile(`[^\s"'=:/@]+:[^\s"']*@([a-z0-9]+\()`)
	// Parameters of URLs that are as good as a token.
	parameter = regexp.MustCompile(`(?i)((?:[?&;]|\\u0026)(?:[\w.-]*(?:sig|key|token|credential|signature|secret|password)|sign|code|auth|pass|jwt|sas|session|sid|assertion|ticket|otp)=)[^&;\s"'#\\]+`)
	// A line of YAML, one with nothing but what is below or in a block, and anywhere name=value and
	// name: value.
	header = regexp.MustCompile(`^(\s*(?:- +)*)["']?([\w./~-]+)["']?:\s*([|>][-+0-9]*)?\s*(?:#.*)?$`)
	line   = named{regexp.MustCompile(`(?m)^\s*(?:- +)*["']?[\w./~-]+["']?:[ \t]+`), regexp.MustCompile(`^\S.*`)}
	pair   = named{regexp.MustCompile(`[\w.-]+\\*["']?\s*[:=]\s*`), regexp.MustCompile(`^(?:` + aValue + `|[^\s"']+)`)}
	// An argument with its value in the next word, or in the next item of a list.
	argument = named{
		regexp.MustCompile(`(?:^|[\s"'` + "`" + `(\[,=])--?[A-Za-z][\w.-]*\\*["']?(?:[ \t]*,\s*|[ \t]*\n\s*- +|[ \t]+)`),
		regexp.MustCompile(`^(?:` + aValue + `|[^\s"',-][^\s"',]*)`),
	}
	// Bearer and Basic credentials, JSON web tokens, private keys, also in base64.
	scheme     = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{6,}`)
	webToken   = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	encodedPEM = regexp.MustCompile(`LS0tLS1CRUdJTi(?:[A-Za-z0-9+/=_-]|\\n|\n[ \t]*)*`)
	// A manifest of a Secret, and its data.
	secretKind = regexp.MustCompile(`\bkind\\*["']?\s*:\s*\\*["']?Secret\b`)
	secretData = regexp.MustCompile(`\b(?:data|stringData)\\*["']?\s*:`)
)

// Text takes out of a text, as a message or a log, what looks like a secret. One that holds a
// manifest of a Secret is masked as a whole.
func Text(text string) string {
	if secretKind.MatchString(text) && secretData.MatchString(text) {
		return Masked
	}
	text = privateKey.ReplaceAllString(text, Masked)
	text = encodedPEM.ReplaceAllStringFunc(text, encodedKey)
	text = userinfo.ReplaceAllString(text, "${1}"+Masked+"@")
	text = address.ReplaceAllString(text, Masked+"@${1}")
	text = parameter.ReplaceAllString(text, "${1}"+Masked)
	text = scheme.ReplaceAllString(text, "$1 "+Masked)
	text = webToken.ReplaceAllString(text, Masked)
	text = blocks(text)
	for _, one := range []named{line, argument, pair} {
		text = one.masked(text)
	}
	return text
}

// encodedKey masks PEM in base64 if it holds a private key, or cannot be told.
func encodedKey(encoded string) string {
	digits := strings.NewReplacer(`\n`, "", "\n", "", " ", "", "\t", "", "=", "", "-", "+", "_", "/").Replace(encoded)
	decoded, err := base64.RawStdEncoding.DecodeString(digits[:len(digits)/4*4])
	if err != nil || strings.Contains(string(decoded), "PRIVATE KEY") {
		return Masked
	}
	return encoded
}

// masked masks the values behind names of secrets; those behind others are looked through, too.
func (n named) masked(text string) string {
	var done strings.Builder
	for {
		found := n.name.FindStringIndex(text)
		if found == nil {
			return done.String() + text
		}
		name, behind := strings.Trim(text[found[0]:found[1]], "\\\"'`-:=[(, \t\n"), found[1]
		done.WriteString(text[:behind])
		text = text[behind:]
		if !Secret(name) || isReference(name) {
			continue
		}
		if value := n.value.FindString(text); value != "" {
			done.WriteString(Masked)
			text = text[len(value):]
		}
	}
}

// blocks masks what is below a name of a secret, by its indentation.
func blocks(text string) string {
	lines := strings.Split(text, "\n")
	var done []string
	for i := 0; i < len(lines); i++ {
		found := header.FindStringSubmatch(lines[i])
		if found == nil || !Secret(found[2]) || isReference(found[2]) {
			done = append(done, lines[i])
			continue
		}
		end := i + 1
		for end < len(lines) && isBelow(lines[end], len(found[1]), found[3] == "") {
			end++
		}
		if strings.TrimSpace(strings.Join(lines[i+1:end], "")) == "" {
			done = append(done, lines[i])
			continue
		}
		name, _, _ := strings.Cut(lines[i], ":")
		done = append(done, name+": "+Masked)
		i = end - 1
	}
	return strings.Join(done, "\n")
}

// isBelow tells whether a line belongs to a name in a column: a list may begin in the same one.
func isBelow(line string, column int, list bool) bool {
	content := strings.TrimLeft(line, " \t")
	indentation := len(line) - len(content)
	return content == "" || indentation > column || list && indentation == column && strings.HasPrefix(content, "- ")
}
