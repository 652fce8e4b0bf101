// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// leaves visits the scalars of a value in a fixed order, each with its path.
func leaves(above string, value any, visit func(path string, leaf any)) {
	below := func(name string) string { return strings.TrimPrefix(above+"."+name, ".") }
	switch value := value.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			leaves(below(name), value[name], visit)
		}
		if len(value) == 0 {
			visit(above, "{}")
		}
	case []any:
		for i := range value {
			leaves(fmt.Sprintf("%s[%d]", above, i), value[i], visit)
		}
		if len(value) == 0 {
			visit(above, "[]")
		}
	case []string:
		for _, item := range value {
			visit(above+"[]", item)
		}
		if len(value) == 0 {
			visit(above, "[]")
		}
	default:
		visit(above, value)
	}
}

// difference of two records, empty when there is none: lines that are missing have a minus,
// those that are too many a plus.
func difference(want, got []string) string {
	var text strings.Builder
	for len(want) > 0 || len(got) > 0 {
		if len(want) > 0 && len(got) > 0 && want[0] == got[0] {
			want, got = want[1:], got[1:]
			continue
		}
		missing, extra := untilCommon(want, got)
		for _, line := range want[:missing] {
			text.WriteString("\n      - " + line)
		}
		for _, line := range got[:extra] {
			text.WriteString("\n      + " + line)
		}
		want, got = want[missing:], got[extra:]
	}
	return text.String()
}

// untilCommon returns how many lines each list has before the nearest line that is common.
func untilCommon(want, got []string) (int, int) {
	for distance := range len(want) + len(got) + 1 {
		for i := max(0, distance-len(got)); i <= min(distance, len(want)); i++ {
			if j := distance - i; i < len(want) && j < len(got) && want[i] == got[j] {
				return i, j
			}
		}
	}
	return len(want), len(got)
}

func TestDifference(t *testing.T) {
	for _, test := range []struct {
		name, want, got, difference string
	}{
		{"nothing", "a b c", "a b c", ""},
		{"a line that is missing", "a b c", "a c", "- b"},
		{"a line that is too much", "a c", "a b c", "+ b"},
		{"another line", "a b c", "a x c", "- b + x"},
		{"another order", "a b", "b a", "+ b - b"},
		{"nothing in common", "a", "b c", "- a + b + c"},
		{"nothing at all", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := difference(strings.Fields(test.want), strings.Fields(test.got))
			NewWithT(t).Expect(strings.Join(strings.Fields(got), " ")).To(Equal(test.difference))
		})
	}
}
