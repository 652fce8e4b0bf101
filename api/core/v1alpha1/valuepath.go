// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "strings"

var escapeKey = strings.NewReplacer(`\`, `\\`, `.`, `\.`)

// JoinValuePath gives the path of a value, as targetPath and ValueOrigin have it: its keys,
// outermost first, joined by dots. A dot or backslash in a key gets a backslash before it.
func JoinValuePath(keys []string) string {
	escaped := make([]string, len(keys))
	for i, key := range keys {
		escaped[i] = escapeKey.Replace(key)
	}
	return strings.Join(escaped, ".")
}

// SplitValuePath gives the keys of a path, outermost first. Whatever has a backslash before it
// is part of a key. It does not judge the keys, which may be empty.
func SplitValuePath(path string) []string {
	var keys []string
	var key strings.Builder
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path):
			i++
			key.WriteByte(path[i])
		case path[i] == '.':
			keys = append(keys, key.String())
			key.Reset()
		default:
			key.WriteByte(path[i])
		}
	}
	return append(keys, key.String())
}
