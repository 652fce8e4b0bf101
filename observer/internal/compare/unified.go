// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"reflect"
	"slices"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// unifiedContext is the number of unchanged lines around a change.
const unifiedContext = 3

// Unified is the difference of two objects as a unified diff of YAML; either may be nil.
// Values of Secrets are masked: one that changed is marked so on the right side.
func Unified(key corev1alpha1.ObjectKey, from, to map[string]any) (string, error) {
	left, right := MaskObject(key, normalise(from)), MaskObject(key, normalise(to))
	if IsSecret(key) {
		markChanged(normalise(from), normalise(to), right)
	}
	a, err := lines(left)
	if err != nil {
		return "", err
	}
	b, err := lines(right)
	if err != nil {
		return "", err
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: a, B: b, FromFile: "from", ToFile: "to", Context: unifiedContext})
}

// markChanged tells in the masked right side which values differ from the left side's.
func markChanged(from, to, maskedTo map[string]any) {
	for field, shown := range maskedTo {
		before, after := from[field], to[field]
		names, isMap := shown.(map[string]any)
		switch {
		case slices.Contains(shownOfSecret, field):
		case isMap:
			markKeys(before, after, names)
		case before != nil && !reflect.DeepEqual(before, after):
			maskedTo[field] = maskedChanged
		}
	}
}

func markKeys(from, to any, shown map[string]any) {
	before, _ := from.(map[string]any)
	after, _ := to.(map[string]any)
	for name, value := range after {
		if old, ok := before[name]; ok && !reflect.DeepEqual(old, value) {
			shown[name] = maskedChanged
		}
	}
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
