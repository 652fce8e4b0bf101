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
	"strings"
)

const prefix = "sha256:"

// Of gives the digest of a value: "sha256:" and 64 hex digits. Structs count with their
// JSON fields in the order of their declaration.
func Of(value any) (string, error) {
	var canonical bytes.Buffer
	encoder := json.NewEncoder(&canonical)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("encoding for a digest: %w", err)
	}
	sum := sha256.Sum256(bytes.TrimSuffix(canonical.Bytes(), []byte("\n")))
	return prefix + hex.EncodeToString(sum[:]), nil
}

// Hex gives the hex digits of a digest; ok is false when it has not the form that Of gives.
func Hex(digest string) (digits string, ok bool) {
	digits, ok = strings.CutPrefix(digest, prefix)
	decoded, err := hex.DecodeString(digits)
	return digits, ok && err == nil && len(decoded) == sha256.Size && digits == strings.ToLower(digits)
}
