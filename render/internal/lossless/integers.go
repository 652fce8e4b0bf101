// SPDX-License-Identifier: Apache-2.0

package lossless

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// longest is the number of digits up to which every integer fits into 64 bits.
const longest = 18

var integerLiteral = regexp.MustCompile(`^[-+]?[0-9_]+$`)

// checkIntegers refuses integers of more than 64 bits: the YAML decoder would make
// floating point numbers of them without a word. Only documents with a long run of digits
// pay for the second parse; one that does not parse is left to the decoder's own error.
func checkIntegers(document []byte) error {
	if !hasLongDigits(document) {
		return nil
	}
	var node yaml.Node
	if err := yaml.Unmarshal(document, &node); err != nil {
		return nil
	}
	return checkNode(&node)
}

func hasLongDigits(document []byte) bool {
	run := 0
	for _, c := range document {
		switch {
		case c >= '0' && c <= '9':
			run++
		case c != '_':
			run = 0
		}
		if run > longest {
			return true
		}
	}
	return false
}

// checkNode looks at a node and what is below it. Aliases are not followed: what they
// stand for is in the tree anyway.
func checkNode(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode && node.ShortTag() != "!!str" && integerLiteral.MatchString(node.Value) {
		digits := strings.ReplaceAll(node.Value, "_", "")
		_, signed := strconv.ParseInt(digits, 0, 64)    // a zero in front makes it octal
		_, unsigned := strconv.ParseUint(digits, 0, 64) // the decoder takes no sign here either
		if signed != nil && unsigned != nil {
			return fmt.Errorf("yaml: line %d: the integer does not fit into 64 bits; quote it if it is meant as text", node.Line)
		}
	}
	for _, child := range node.Content {
		if err := checkNode(child); err != nil {
			return err
		}
	}
	return nil
}
