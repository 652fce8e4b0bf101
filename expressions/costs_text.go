// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// textOf gives the text that an argument is; other arguments are refused by the function itself.
func textOf(value ref.Val) string {
	text, _ := value.(types.String)
	return string(text)
}

// joining writes the separator between all elements.
func joining(args []ref.Val, limit uint64) uint64 {
	total := times(2, weight(args[0], limit))
	if len(args) > 1 {
		total = plus(total, times(size(args[0]), uint64(len(textOf(args[1]))))/bytesPerUnit)
	}
	return total
}

// splitting makes a text of each part, of which each takes some tens of bytes.
func splitting(args []ref.Val, _ uint64) uint64 {
	text := textOf(args[0])
	parts := uint64(strings.Count(text, textOf(args[1])) + 1) //nolint:gosec // not negative
	if len(args) > 2 {
		parts = min(parts, least(args[2]))
	}
	return plus(span(len(text)), times(2, parts))
}

func replacing(args []ref.Val, _ uint64) uint64 {
	text, old, by := textOf(args[0]), textOf(args[1]), textOf(args[2])
	places := uint64(strings.Count(text, old)) //nolint:gosec // not negative
	if len(args) > 3 {
		places = min(places, least(args[3]))
	}
	return plus(times(4, span(len(text))), times(2, places), times(places, uint64(len(by)))/bytesPerUnit)
}

// formatting writes each argument, in hexadecimal perhaps, and numbers with at most 100 digits.
func formatting(args []ref.Val, limit uint64) uint64 {
	return plus(times(4, size(args[0])), times(16, weight(args[len(args)-1], limit)))
}
