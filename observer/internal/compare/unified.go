// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"
)

// unifiedContext is the number of unchanged lines around a change.
const unifiedContext = 3

// Unified is the difference of two objects as a unified diff of YAML; either may be nil.
// Values of Secrets are masked: one that changed is marked so on the right side.
func Unified(from, to map[string]any) (string, error) {
	from, to = normalise(from), normalise(to)
	a, err := lines(MaskObject(from))
	if err != nil {
		return "", err
	}
	b, err := lines(maskCounterpart(to, from))
	if err != nil {
		return "", err
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: a, B: b, FromFile: "from", ToFile: "to", Context: unifiedContext})
}

func lines(object map[string]any) ([]string, error) {
	if object == nil {
		return nil, nil
	}
	data, err := yaml.Marshal(object)
	if err != nil {
		return nil, err
	}
	return difflib.SplitLines(string(data)), nil
}
