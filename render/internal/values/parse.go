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

// plainBelow is the size from which Helm's own numbers no longer print as they were
// written: 1000000 comes out as 1e+06.
const plainBelow = 1_000_000

// number chooses the Go type of a number in values. Charts are written for Helm, which
// makes a float64 of everything, and may compare with one or ask for the type; so a number
// that prints the same either way stays a float64. Larger integers become int64 or uint64,
// for their digits to survive.
func number(n json.Number) (any, bool) {
	if !lossless.IsInteger(n) {
		f, err := n.Float64()
		return f, err == nil
	}
	if i, err := n.Int64(); err == nil {
		if -plainBelow < i && i < plainBelow {
			return float64(i), true
		}
		return i, true
	}
	u, err := strconv.ParseUint(n.String(), 10, 64)
	return u, err == nil
}
