// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// words are those by which a name looks like that of a secret; compared without case and marks.
var words = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "apikey", "accesskey", "privatekey", "keydata",
	"signingkey", "encryptionkey", "authorization", "kubeconfig", "dockerconfig", "htpasswd", "connectionstring", "dsn", "cookie", "signature",
	"stringdata", "lastapplied", "riocattleioapplied", "kappk14siooriginal",
}

// ends make a word of a name, between marks or by its case, that of a secret: DB_PASS, storageKey.
var ends = []string{"pass", "auth", "key", "keys"}

// harmless are words with such an end that are none, and words that make a key that of a map or
// of a pair, wherever they are in a name.
var harmless = []string{
	"bypass", "compass", "monkey", "hotkey", "valkey", "pubkey", "publickey", "topologykey", "valueskey",
	"public", "topology", "values", "label", "annotation", "field", "config", "primary", "foreign", "partition", "sort", "cache",
}

// harmlessLast are last words of a name that say something about a secret.
var harmlessLast = []string{
	"ref", "refs", "name", "names", "namespace", "id", "file", "path", "dir", "url", "type", "mode", "method", "enabled", "size", "length", "algorithm", "through",
}

// references are ends of names that look like those of secrets but name an object, say how it is
// used, or count.
var references = []string{"ref", "refs", "name", "names", "namespace", "expirationseconds", "mode"}

// known are fields of the API with such names that hold nothing secret.
var known = map[string]bool{
	"automountserviceaccounttoken": true, "serviceaccounttoken": true, "imagepullsecrets": true, "secret": true, "secrets": true,
}

// Secret tells whether a name looks like that of a secret. A bare key does not: that of a map,
// a selector or a Secret is called so, too.
func Secret(name string) bool {
	bare := plain(name)
	for _, word := range words {
		if strings.Contains(bare, word) {
			return true
		}
	}
	if bare == "key" || bare == "keys" || !slices.ContainsFunc(ends, func(end string) bool { return strings.Contains(bare, end) }) {
		return false
	}
	return endsAsSecret(name)
}

// endsAsSecret tells whether a word of a name has the end of one for secrets.
func endsAsSecret(name string) bool {
	segments := segments(name)
	if len(segments) == 0 || slices.Contains(harmlessLast, segments[len(segments)-1]) {
		return false
	}
	if slices.ContainsFunc(segments, func(segment string) bool { return slices.Contains(harmless, segment) }) {
		return false
	}
	return slices.ContainsFunc(segments, func(segment string) bool {
		return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(segment, end) })
	})
}

var (
	lowerUpper = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	upperWord  = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// segments splits a name at marks and where its case says that a word begins.
func segments(name string) []string {
	name = upperWord.ReplaceAllString(lowerUpper.ReplaceAllString(name, "$1 $2"), "$1 $2")
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
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
