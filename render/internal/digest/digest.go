// SPDX-License-Identifier: Apache-2.0

// Package digest names content by what it is: SHA-256 over canonical JSON, in which object
// keys are sorted, nothing is indented, and the characters <, > and & stand for themselves.
// A digest is the same in every process, on every machine.
package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

const prefix = "sha256:"

// Of gives the digest of a value: "sha256:" and 64 hex digits. Structs count with their
// JSON fields in the order of their declaration. Texts that are no UTF-8, which JSON does not
// tell from one another, count once more, as they are.
func Of(value any) (string, error) {
	canonical := unended{sum: sha256.New()}
	encoder := json.NewEncoder(&canonical)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("encoding for a digest: %w", err)
	}
	if canonical.replaced {
		invalid(reflect.ValueOf(value), func(text string) { fmt.Fprintf(canonical.sum, "\n%d %s", len(text), text) })
	}
	return prefix + hex.EncodeToString(canonical.sum.Sum(nil)), nil
}

// replacement is what the encoder writes for a byte that is no UTF-8: of the character itself it
// writes the bytes.
var replacement = []byte(`\ufffd`)

// invalid visits the texts in a value that are no UTF-8, in the order of the encoding.
func invalid(v reflect.Value, visit func(string)) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); !utf8.ValidString(text) {
			visit(text)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			invalid(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			invalid(v.Field(i), visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			invalid(v.Index(i), visit)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			invalid(key, visit)
			invalid(v.MapIndex(key), visit)
		}
	}
}

// Canonical gives the canonical JSON of a value. As a json.RawMessage in another value it counts
// in a digest as the value itself does.
func Canonical(value any) (json.RawMessage, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encoding for a digest: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// unended sums up what is written, but for a newline at the end.
type unended struct {
	sum     hash.Hash
	newline bool
	// replaced is true when there may have been something in a text that is no UTF-8.
	replaced bool
}

func (u *unended) Write(p []byte) (int, error) {
	u.replaced = u.replaced || bytes.Contains(p, replacement)
	text := bytes.TrimSuffix(p, []byte("\n"))
	if u.newline && len(p) > 0 {
		u.sum.Write([]byte("\n"))
	}
	u.sum.Write(text)
	u.newline = len(text) < len(p) || u.newline && len(p) == 0
	return len(p), nil
}

// Hex gives the hex digits of a digest; ok is false when it has not the form that Of gives.
func Hex(digest string) (digits string, ok bool) {
	digits, ok = strings.CutPrefix(digest, prefix)
	decoded, err := hex.DecodeString(digits)
	return digits, ok && err == nil && len(decoded) == sha256.Size && digits == strings.ToLower(digits)
}
