// SPDX-License-Identifier: Apache-2.0

package lossless

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"kumodo.io/convoy/render/internal/limit"
)

const (
	// maxExpanded is how many bytes a document may have once each alias is replaced by what
	// it stands for. No API server takes an object of that size.
	maxExpanded = 16 << 20
	// perNode is about what a value takes besides its text.
	perNode = 16
)

// CheckAliases refuses a YAML document that its aliases make enormous: decoding it would
// write out everything that they stand for. The error is a *limit.Error. Documents without
// aliases are not looked at, and one that does not parse is left to the decoder.
func CheckAliases(document []byte) error {
	if !hasToken(document, '&') || !hasToken(document, '*') {
		return nil
	}
	var node yaml.Node
	if err := yaml.Unmarshal(document, &node); err != nil {
		return nil
	}
	sizes := expansion{}
	if sizes.of(&node) > maxExpanded {
		return limit.New("the aliases of a YAML document make more than %s of it", limit.Size(maxExpanded))
	}
	return nil
}

// hasToken tells whether there may be an anchor or an alias: a mark at the start of a word.
func hasToken(document []byte, mark byte) bool {
	for at, c := range document {
		if c == mark && (at == 0 || bytes.IndexByte([]byte(" \t\n\r[{,:-?!"), document[at-1]) >= 0) {
			return true
		}
	}
	return false
}

// expansion holds the sizes of the nodes that aliases stand for, 0 while one is worked out:
// what contains itself is refused by the decoder.
type expansion map[*yaml.Node]int64

func (e expansion) of(node *yaml.Node) int64 {
	if node.Kind == yaml.AliasNode {
		known, ok := e[node.Alias]
		if !ok {
			e[node.Alias] = 0
			known = e.of(node.Alias)
			e[node.Alias] = known
		}
		return known
	}
	size := int64(perNode + len(node.Value))
	for _, child := range node.Content {
		if size += e.of(child); size > maxExpanded {
			return size
		}
	}
	return size
}
