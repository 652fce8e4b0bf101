// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
	"sigs.k8s.io/yaml"
)

// Unified is the difference of two objects as a unified diff of YAML; either may be nil.
// Values of Secrets are masked: one that changed is marked so on the right side.
func Unified(from, to map[string]any) (string, error) {
	from, to = normalise(from), normalise(to)
	a, err := text(MaskObject(from))
	if err != nil {
		return "", err
	}
	b, err := text(maskCounterpart(to, from))
	if err != nil {
		return "", err
	}
	// The first line is the command that would tell the same.
	_, unified, _ := bytes.Cut(diff.Diff("from", a, "to", b), []byte("\n"))
	return string(unified), nil
}

func text(object map[string]any) ([]byte, error) {
	if object == nil {
		return nil, nil
	}
	return yaml.Marshal(object)
}
