// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestCounterpart(t *testing.T) {
	for _, test := range []struct {
		name, items, others string
		want                []int // of each of the others, and of one that is not there
	}{
		{"names", "[{name: a}, {name: b}]", "[{name: b}, {name: c}, {name: a}]", []int{1, -1, 0, -1}},
		{"no names", "[1, {x: 1}]", "[{x: 1}, 2, 3]", []int{0, 1, -1, -1}},
		{"one that is not there", "[{name: a}, {name: b}]", "[{name: b}]", []int{1, 1}},
		{"several of a name", "[{name: v, path: /a}, {name: v, path: /b}]", "[{name: v, path: /a}, {name: v, path: /b, readOnly: true}]", []int{0, 1, -1}},
		{"several of a name in another order", "[{name: v, path: /b}, {name: v, path: /a}]", "[{name: v, path: /a}, {name: v, path: /b, readOnly: true}]", []int{1, 0, -1}},
		{"several of a name, after another one", "[{name: v, path: /0}, {name: v, path: /a}, {name: v, path: /b}]", "[{name: v, path: /a}, {name: v, path: /b}]", []int{1, 2, 2}},
		{"several of a name that are as like", "[{name: v, path: /a, readOnly: false}, {name: v, path: /b, readOnly: true}]",
			"[{name: v, path: /a, readOnly: true}, {name: v, path: /b, readOnly: false}]", []int{0, 1, -1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var items, others []any
			g.Expect(yaml.Unmarshal([]byte(test.items), &items)).To(Succeed())
			g.Expect(yaml.Unmarshal([]byte(test.others), &others)).To(Succeed())
			var got []int
			for place := range len(others) + 1 {
				got = append(got, Counterpart(items, others, place))
			}
			g.Expect(got).To(Equal(test.want))
			g.Expect(Counterpart(items, others, -1)).To(Equal(-1))
		})
	}
}
