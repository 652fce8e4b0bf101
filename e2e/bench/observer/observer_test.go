// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/bench/benchmark"
)

func TestAnonymous(t *testing.T) {
	g := NewWithT(t)
	bytes, err := anonymous("VmRSS:\t  300 kB\nRssAnon:\t  200 kB\nRssFile:\t  100 kB\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes).To(BeEquivalentTo(200 << 10))
	_, err = anonymous("VmRSS:\t 300 kB\n")
	g.Expect(err).To(HaveOccurred())
}

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
