// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"errors"
	"strconv"

	"kumodo.io/convoy/render/internal/lossless"
)

// ParseYAML decodes values from YAML or JSON text. No text gives no values.
func ParseYAML(text []byte) (map[string]any, error) {
	decoded, err := lossless.YAML(text)
	if err != nil {
		return nil, err
	}
	return fromDecoded(decoded)
}

// ParseJSON decodes values from JSON text.
func ParseJSON(text []byte) (map[string]any, error) {
	decoded, err := lossless.JSON(text)
	if err != nil {
		return nil, err
	}
	return fromDecoded(decoded)
}

func fromDecoded(decoded any) (map[string]any, error) {
	converted, err := lossless.Convert(decoded, number)
	if err != nil {
		return nil, err
	}
	switch v := converted.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	return nil, errors.New("a map of values is expected")
}

// exactUpTo is up to where floating point numbers hold every integer.
const exactUpTo = 1 << 53

// number chooses the Go type of a number in values. Charts are written for Helm, which
// makes a float64 of everything: they compare with one, print it with %.0f, or ask for the
// type. So a number is a float64 if that is the same number; an integer beyond becomes int64
// or uint64, for its digits to survive. How large float64s print is for templates to say.
func number(n json.Number) (any, bool) {
	if !lossless.IsInteger(n) {
		f, err := n.Float64()
		return f, err == nil
	}
	if i, err := n.Int64(); err == nil {
		if -exactUpTo <= i && i <= exactUpTo {
			return float64(i), true
		}
		return i, true
	}
	u, err := strconv.ParseUint(n.String(), 10, 64)
	return u, err == nil
}

// Decoded gives what was decoded with json.Numbers in it with the numbers that values have;
// an integer beyond 64 bits is what Helm makes of it. It works in place.
func Decoded(value any) any {
	converted, err := lossless.Convert(value, func(n json.Number) (any, bool) {
		if v, ok := number(n); ok {
			return v, true
		}
		f, err := n.Float64()
		return f, err == nil
	})
	if err != nil {
		return value
	}
	return converted
}
