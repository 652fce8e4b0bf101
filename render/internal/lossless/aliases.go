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
	// PerValue is what a value counts besides its text.
	PerValue = 16
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
	return checkExpansion(&node, maxExpanded)
}

func checkExpansion(node *yaml.Node, most int64) error {
	sizes := expansion{most: most, known: map[*yaml.Node]int64{}}
	if sizes.of(node) > most {
		return limit.New("the aliases of a YAML document make more than %s of it", limit.Size(most))
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

// expansion is how large nodes are once aliases are written out.
type expansion struct {
	// most is from where on it does not matter by how much a size is more.
	most int64
	// known are the sizes of the nodes that aliases stand for, 0 while one is worked out: what
	// contains itself is refused by the decoder.
	known map[*yaml.Node]int64
}

func (e *expansion) of(node *yaml.Node) int64 {
	if node.Kind == yaml.AliasNode {
		size, ok := e.known[node.Alias]
		if !ok {
			e.known[node.Alias] = 0
			size = e.of(node.Alias)
			e.known[node.Alias] = size
		}
		return size
	}
	size := int64(PerValue + len(node.Value))
	for _, child := range node.Content {
		if size += e.of(child); size > e.most {
			return size
		}
	}
	return size
}
