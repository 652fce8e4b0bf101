// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// value is a decoded manifest, or values of a chart, on its way. It arrives as what it was:
// an int64 is not taken for a float64, nor bytes that are no UTF-8 for others.
type value struct{ any }

// kinds of values; each is followed by what it says.
const (
	kindNil    = iota
	kindFalse  //
	kindTrue   //
	kindInt    // a varint
	kindUint   // a uvarint
	kindFloat  // 8 bytes
	kindString // its length, its bytes
	kindList   // its length, its values
	kindMap    // its length, keys and values
	kindNoList // a list that is nil, which is null in JSON
	kindNoMap
)

// maxNested is how deep values may be nested. Decoders of YAML and JSON stop at 10,000.
const maxNested = 20_000

// GobEncode writes the value. A type that no manifest has is an error.
func (v value) GobEncode() ([]byte, error) { return appendValue(nil, v.any, 0) }

// GobDecode reads the value.
func (v *value) GobDecode(data []byte) error {
	d := decoder{rest: data}
	decoded, err := d.value(0)
	if err == nil && len(d.rest) > 0 {
		err = errMalformed
	}
	v.any = decoded
	return err
}

func appendValue(to []byte, v any, depth int) (_ []byte, err error) {
	if depth > maxNested {
		return nil, errors.New("a value is nested too deep")
	}
	switch v := v.(type) {
	case nil:
		return append(to, kindNil), nil
	case bool:
		if v {
			return append(to, kindTrue), nil
		}
		return append(to, kindFalse), nil
	case int64:
		return binary.AppendVarint(append(to, kindInt), v), nil
	case uint64:
		return binary.AppendUvarint(append(to, kindUint), v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(to, kindFloat), math.Float64bits(v)), nil
	case string:
		return appendString(append(to, kindString), v), nil
	case []any:
		if v == nil {
			return append(to, kindNoList), nil
		}
		to = binary.AppendUvarint(append(to, kindList), uint64(len(v)))
		for _, inner := range v {
			if to, err = appendValue(to, inner, depth+1); err != nil {
				return nil, err
			}
		}
		return to, nil
	case map[string]any:
		if v == nil {
			return append(to, kindNoMap), nil
		}
		to = binary.AppendUvarint(append(to, kindMap), uint64(len(v)))
		for key, inner := range v {
			if to, err = appendValue(appendString(to, key), inner, depth+1); err != nil {
				return nil, err
			}
		}
		return to, nil
	}
	return nil, fmt.Errorf("a value has the type %T", v)
}

func appendString(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

var errMalformed = errors.New("a value is malformed")

// decoder reads values from what is left of a message.
type decoder struct {
	rest []byte
	// keys are those of maps that were read, to have each text once.
	keys map[string]string
}

func (d *decoder) value(depth int) (any, error) {
	if depth > maxNested || len(d.rest) == 0 {
		return nil, errMalformed
	}
	kind := d.rest[0]
	d.rest = d.rest[1:]
	switch kind {
	case kindNil:
		return nil, nil
	case kindFalse, kindTrue:
		return kind == kindTrue, nil
	case kindInt:
		i, n := binary.Varint(d.rest)
		return i, d.skip(n)
	case kindUint:
		return d.uint()
	case kindFloat:
		text, err := d.bytes(8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.BigEndian.Uint64(text)), nil
	case kindString:
		text, err := d.text()
		return string(text), err
	case kindList:
		return d.list(depth)
	case kindMap:
		return d.fields(depth)
	case kindNoList:
		return []any(nil), nil
	case kindNoMap:
		return map[string]any(nil), nil
	}
	return nil, errMalformed
}

func (d *decoder) list(depth int) (any, error) {
	length, err := d.length()
	if err != nil {
		return nil, err
	}
	list := make([]any, length)
	for i := range list {
		if list[i], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (d *decoder) fields(depth int) (any, error) {
	length, err := d.length()
	if err != nil {
		return nil, err
	}
	fields := make(map[string]any, length)
	for range length {
		text, err := d.text()
		if err != nil {
			return nil, err
		}
		key := d.key(text)
		if fields[key], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func (d *decoder) key(text []byte) string {
	if known, ok := d.keys[string(text)]; ok {
		return known
	}
	if d.keys == nil {
		d.keys = map[string]string{}
	}
	key := string(text)
	d.keys[key] = key
	return key
}

func (d *decoder) text() ([]byte, error) {
	length, err := d.length()
	if err != nil {
		return nil, err
	}
	return d.bytes(length)
}

// length reads how many there are of something that takes a byte at least.
func (d *decoder) length() (int, error) {
	length, err := d.uint()
	if err != nil || length > uint64(len(d.rest)) {
		return 0, errMalformed
	}
	return int(length), nil
}

func (d *decoder) uint() (uint64, error) {
	u, n := binary.Uvarint(d.rest)
	return u, d.skip(n)
}

func (d *decoder) bytes(n int) ([]byte, error) {
	text := d.rest[:min(n, len(d.rest))]
	if len(text) < n {
		return nil, errMalformed
	}
	d.rest = d.rest[n:]
	return text, nil
}

// skip goes past a number of n bytes; 0 and less is one that cannot be read.
func (d *decoder) skip(n int) error {
	if n <= 0 {
		return errMalformed
	}
	d.rest = d.rest[n:]
	return nil
}
