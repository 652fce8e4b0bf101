// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Merge puts layer over base and gives the result; neither is changed, though the result
// shares parts with both. Maps are merged key by key, anything else is replaced. A null
// stays in the result: it is what removes a default of the chart later.
func Merge(base, layer map[string]any) map[string]any {
	merged := make(map[string]any, len(base)+len(layer))
	for key, value := range base {
		merged[key] = value
	}
	for key, value := range layer {
		over, isMap := value.(map[string]any)
		under, wasMap := merged[key].(map[string]any)
		if isMap && wasMap {
			value = Merge(under, over)
		}
		merged[key] = value
	}
	return merged
}

// at gives values that hold one string at a dotted path. A backslash before a dot makes it
// part of a key.
func at(path, value string) (map[string]any, error) {
	steps, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	var inner any = value
	for i := len(steps) - 1; i >= 0; i-- {
		inner = map[string]any{steps[i]: inner}
	}
	return inner.(map[string]any), nil
}

func splitPath(path string) ([]string, error) {
	steps := corev1alpha1.SplitValuePath(path)
	for _, s := range steps {
		if s == "" || strings.ContainsAny(s, "[]") {
			return nil, fmt.Errorf("targetPath %q is not a dotted path of keys", path)
		}
	}
	return steps, nil
}
