// SPDX-License-Identifier: Apache-2.0

// Package redact takes secrets out of objects and texts that are handed to others. It rather
// masks too much: what looks like a secret by its name, place or form is one.
package redact

import (
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Masked stands where a secret was.
const Masked = "(masked)"

// words are those by which a name looks like that of a secret; compared without case and marks.
var words = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "apikey", "accesskey", "privatekey", "keydata",
	"signingkey", "encryptionkey", "authorization", "kubeconfig", "dockerconfig", "htpasswd", "connectionstring", "dsn", "cookie", "signature",
}

// references are ends of names that look like those of secrets but name an object, say how it is
// used, or count.
var references = []string{"ref", "refs", "name", "names", "namespace", "expirationseconds", "mode"}

// known are fields of the API with such names that hold nothing secret.
var known = map[string]bool{
	"automountserviceaccounttoken": true, "serviceaccounttoken": true, "imagepullsecrets": true, "secret": true, "secrets": true,
}

// Secret tells whether a name looks like that of a secret.
func Secret(name string) bool {
	name = plain(name)
	if name == "auth" || name == "pass" {
		return true
	}
	for _, word := range words {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

var marks = strings.NewReplacer("-", "", "_", "", ".", "", " ", "", "/", "", "~1", "")

func plain(name string) string { return marks.Replace(strings.ToLower(name)) }

// isReference tells whether a field of the API that looks like a secret is none.
func isReference(field string) bool {
	field = plain(field)
	for _, end := range references {
		if strings.HasSuffix(field, end) {
			return true
		}
	}
	return known[field]
}

// freeForm are fields of convoy's kinds into which people write what they want.
var freeForm = map[string]bool{"values": true, "template": true, "patch": true, "annotations": true}

// Object takes the secrets out of an object of the API, which it changes: values under names of
// secrets, the data of Secrets, what tools keep in annotations of what was applied, and what
// looks like a secret in a text.
func Object(object map[string]any) {
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	of(object, false)
}

// of masks below a value; anything tells that its names are those of people, not of the API.
func of(value any, anything bool) any {
	switch value := value.(type) {
	case map[string]any:
		ofMap(value, anything)
		return value
	case []any:
		for i := range value {
			value[i] = of(value[i], anything)
		}
		return value
	case string:
		if anything {
			return document(value)
		}
		return Text(value)
	}
	return value
}

func ofMap(fields map[string]any, anything bool) {
	if kind, _ := fields["kind"].(string); kind == "Secret" && fields["apiVersion"] == "v1" {
		mask(fields, "data")
		mask(fields, "stringData")
	}
	// An environment variable, and an operation of a JSON patch, have the name beside the value.
	for _, naming := range []string{"name", "key", "path"} {
		if name, ok := fields[naming].(string); ok && (Secret(name) || naming == "path" && strings.Contains(strings.ToLower(name), "data/")) {
			mask(fields, "value")
		}
	}
	for field, value := range fields {
		_, isText := value.(string)
		switch {
		case strings.HasSuffix(field, "last-applied-configuration"):
			fields[field] = Masked
		case Secret(field) && (anything || isText && !isReference(field)):
			mask(fields, field)
		default:
			fields[field] = of(value, anything || freeForm[field])
		}
	}
}

// mask puts the mask in the place of a value, if there is one.
func mask(fields map[string]any, field string) {
	if value, ok := fields[field]; ok && value != nil {
		fields[field] = Masked
	}
}

// document is Text of what may be YAML or JSON in a string, as a patch is.
func document(text string) string {
	var content any
	if strings.ContainsAny(text, ":{") && yaml.Unmarshal([]byte(text), &content) == nil {
		switch content.(type) {
		case map[string]any, []any:
			if masked, err := yaml.Marshal(of(content, true)); err == nil {
				return string(masked)
			}
		}
	}
	return Text(text)
}

var (
	// A URL's user and password, also one that has to be escaped there and is not.
	userinfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^/?#\s"'` + "`" + `]*|[^/:\s"']+:[^\s"']*)@`)
	// A line of YAML, and anywhere name=value and name: value with quotes, brackets or neither.
	line = regexp.MustCompile(`(?im)^(\s*(?:- +)?["']?` + named + `["']?:[ \t]+)(\S.*)$`)
	pair = regexp.MustCompile(`(?i)(` + named + `\\*["']?\s*[:=]\s*)(?:\\+"[\s\S]*?\\+"|"(?:[^"\\]|\\.)*"?|'[^']*'?|\[[^\]]*\]?|\{[^}]*\}?|[^\s"']+)`)
	// Bearer and Basic credentials, JSON web tokens, private keys.
	scheme     = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{6,}`)
	webToken   = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

// named matches a name that looks like that of a secret, in any spelling.
var named = `[\w.-]*(?:` + strings.Join(append([]string{
	`\bauth`, `\bpass`, `api[-_]key`, `access[-_]key`, `private[-_]key`, `key[-_]data`, `signing[-_]key`, `encryption[-_]key`,
}, words...), "|") + `)[\w.-]*`

// Text takes out of a text, as a message or a log, what looks like a secret.
func Text(text string) string {
	text = privateKey.ReplaceAllString(text, Masked)
	text = userinfo.ReplaceAllString(text, "${1}"+Masked+"@")
	text = scheme.ReplaceAllString(text, "$1 "+Masked)
	text = webToken.ReplaceAllString(text, Masked)
	return masked(pair, masked(line, text))
}

// masked masks what an expression finds behind a name, unless that is the name of a reference.
func masked(expression *regexp.Regexp, text string) string {
	return expression.ReplaceAllStringFunc(text, func(match string) string {
		name := expression.FindStringSubmatch(match)[1]
		if isReference(strings.Trim(name, "\\\"'-:= \t\n")) {
			return match
		}
		return name + Masked
	})
}
