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
	"strings"
)

const prefix = "sha256:"

// Of gives the digest of a value: "sha256:" and 64 hex digits. Structs count with their
// JSON fields in the order of their declaration.
func Of(value any) (string, error) {
	canonical := unended{sum: sha256.New()}
	encoder := json.NewEncoder(&canonical)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("encoding for a digest: %w", err)
	}
	return prefix + hex.EncodeToString(canonical.sum.Sum(nil)), nil
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
}

func (u *unended) Write(p []byte) (int, error) {
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
