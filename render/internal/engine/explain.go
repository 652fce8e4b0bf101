// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"kumodo.io/convoy/render/internal/helm"
)

// Path gives the keys that lead to a value as one text.
func Path(keys []string) string { return strings.Join(keys, "\x00") }

// explain gives the values of a chart and where they stand in it.
func (j Job) explain() (*Output, error) {
	merged, defaults, err := helm.Values(j.Helm)
	if err != nil {
		return nil, err
	}
	output := &Output{Values: merged, Defaults: map[string]string{}}
	output.find(defaults, nil, merged)
	return output, nil
}

// find adds the files of what is under a path.
func (o *Output) find(defaults *helm.Defaults, path []string, under map[string]any) {
	for key, value := range under {
		here := append(slices.Clip(path), key)
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
			o.find(defaults, here, inner)
		} else if file := defaults.File(here); file != "" {
			o.Defaults[Path(here)] = file
		}
	}
}
