// SPDX-License-Identifier: Apache-2.0

// Package managed tells what it means that a server calls an object invalid that it would
// accept as a new one: that it refuses the change, or that server-side apply left something of
// another field manager's beside what is desired, which the two cannot be together.
package managed

import (
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fixed is how servers word that a field cannot change: there is no type of cause for it. The
// rules of a definition that speak of the old object are quoted where they have no words of
// their own.
var fixed = regexp.MustCompile(`(?i)\bimmutable\b|\boldSelf\b|\bonce set\b` +
	`|\b(may|must|can|should) ?not (be )?(chang|updat|modif|alter|decreas|unset|remov)|\bcannot (be )?(chang|updat|modif|alter)` +
	`|\bupdates? to .*\bforbidden|\bless than (previous value|status\.capacity)`)

// Immutable tells that a cause of a refusal is, in the server's own words, that a field cannot
// change. That something is invalid says nothing of the kind.
func Immutable(cause metav1.StatusCause) bool { return fixed.MatchString(detail(cause.Message)) }

// detail is a message without the value that it quotes: people may write any words there.
func detail(message string) string {
	for _, kind := range []string{"Invalid value: ", "Unsupported value: ", "Duplicate value: ", "Not found: ", "Too long: ", "Too many: "} {
		rest, ok := strings.CutPrefix(message, kind)
		if !ok {
			continue
		}
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			return rest[len(quoted):]
		}
		if i := strings.LastIndex(rest, ": "); i >= 0 {
			return rest[i:]
		}
		return ""
	}
	return message
}
