// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/bench/benchmark"
)

func TestSizes(t *testing.T) {
	g := NewWithT(t)
	for _, quick := range []bool{true, false} {
		many, few := sizesOf(benchmark.Settings{Quick: quick}), sizesOf(benchmark.Settings{Quick: quick, Variants: []string{large}})
		g.Expect(few.releases).To(BeNumerically("<", many.releases))
		if !quick {
			g.Expect(few.objects()).To(Equal(many.objects()))
		}
		more := sizesOf(benchmark.Settings{Quick: quick, Variants: []string{large, fourTimes}})
		g.Expect(more.releases).To(Equal(few.releases))
		g.Expect(more.objects()).To(Equal(4 * few.objects()))
	}
}
