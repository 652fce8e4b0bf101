// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Bound is the most that a figure may be. Bounds are for what is the same on every machine: counts.
type Bound struct {
	Of   string  `json:"of"`
	What string  `json:"what"`
	Most float64 `json:"most"`
}

// ReadBounds reads a YAML list of bounds. A field that is none of a bound's is an error.
func ReadBounds(path string) ([]Bound, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the bounds: %w", err)
	}
	var bounds []Bound
	if err := yaml.UnmarshalStrict(data, &bounds); err != nil {
		return nil, fmt.Errorf("read the bounds in %s: %w", path, err)
	}
	return bounds, nil
}

// Check gives an error that names each figure above its bound, and each bound without a figure: what is
// not measured any more must not pass for good.
func (d *Document) Check(bounds []Bound) error {
	figures := map[[2]string]float64{}
	for _, r := range d.Reports {
		for _, f := range r.Figures {
			figures[[2]string{f.Of, f.What}] = f.Value
		}
	}
	var errs []error
	for _, b := range bounds {
		value, ok := figures[[2]string{b.Of, b.What}]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%s, %s: was not measured, and has a bound", b.Of, b.What))
		case value > b.Most:
			errs = append(errs, fmt.Errorf("%s, %s: %s, the bound is %s", b.Of, b.What, number(value), number(b.Most)))
		}
	}
	return errors.Join(errs...)
}
