// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"kumodo.io/convoy/render/internal/digest"
)

// What is kept of one render: suffixes of keys.
const (
	suffixRender   = ".json.zst"
	suffixEntry    = ".index.json"
	suffixUnneeded = ".unneeded"
	suffixRemoving = ".removing"
)

// root is what the keys of an installation begin with, "" for none.
func root(installation string) string {
	if installation == "" {
		return ""
	}
	segment := url.PathEscape(installation)
	if strings.Trim(segment, ".") == "" {
		segment = strings.ReplaceAll(segment, ".", "%2E")
	}
	return segment + "/"
}

// releaseKey gives what the keys of a Release begin with.
func (s *Store) releaseKey(namespace, name string) (string, error) {
	for _, part := range []string{namespace, name} {
		if problems := validation.IsDNS1123Subdomain(part); len(problems) > 0 {
			return "", fmt.Errorf("%q is not the name of a Release or namespace", part)
		}
	}
	return root(s.options.Installation) + namespace + "/" + name + "/", nil
}

// keyOf gives what the keys of a render begin with, to which one of the suffixes comes.
func (s *Store) keyOf(namespace, name, renderDigest string) (string, error) {
	prefix, err := s.releaseKey(namespace, name)
	if err != nil {
		return "", err
	}
	digits, ok := digest.Hex(renderDigest)
	if !ok {
		return "", fmt.Errorf("render %q of Release %s/%s: the digest is not sha256 and 64 hex digits: %w", renderDigest, namespace, name, ErrNotFound)
	}
	return prefix + digits, nil
}

// parsedKey is a key taken apart.
type parsedKey struct{ namespace, name, digest, suffix string }

// parseKey takes a key apart; ok is false for keys that this package does not make, which
// are nobody's business here.
func (s *Store) parseKey(key string) (parsed parsedKey, ok bool) {
	below, ok := strings.CutPrefix(key, root(s.options.Installation))
	parts := strings.Split(below, "/")
	if !ok || len(parts) != 3 {
		return parsedKey{}, false
	}
	digits, suffix, _ := strings.Cut(parts[2], ".")
	parsed = parsedKey{namespace: parts[0], name: parts[1], digest: "sha256:" + digits, suffix: "." + suffix}
	made, err := s.keyOf(parsed.namespace, parsed.name, parsed.digest)
	known := slices.Contains([]string{suffixRender, suffixEntry, suffixUnneeded, suffixRemoving}, parsed.suffix)
	return parsed, err == nil && known && made+parsed.suffix == key
}
