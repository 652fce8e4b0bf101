// SPDX-License-Identifier: Apache-2.0

// Package weight estimates how much memory decoded values take, which can be a hundred times
// their text.
package weight

// What the parts of a value take besides what lies in them.
const (
	reference = 16 // of an interface
	header    = 24 // of a list
	number    = 8
	text      = 16
	emptyMap  = 48
	// Entries of a map are kept in groups, of which each has room for perGroup.
	group    = 272
	perGroup = 7
)

// Of gives about how many bytes a value of maps, lists, texts and numbers takes. What is in it
// twice counts twice.
func Of(value any) int64 {
	switch v := value.(type) {
	case map[string]any:
		bytes := int64(reference + emptyMap + (len(v)+perGroup-1)/perGroup*group)
		for key, inner := range v {
			bytes += int64(len(key)) + Of(inner) - reference // which is in the group
		}
		return bytes
	case []any:
		bytes := int64(reference + header)
		for _, inner := range v {
			bytes += Of(inner)
		}
		return bytes
	case string:
		return int64(reference + text + len(v))
	case nil, bool:
		return reference
	}
	return reference + number
}
