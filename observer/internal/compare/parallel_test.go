// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

// TestParallelPanicsForItsCaller: what panics in one of many ends no process whose caller recovers.
func TestParallelPanicsForItsCaller(t *testing.T) {
	g := NewWithT(t)
	var done atomic.Int32
	g.Expect(func() {
		Parallel(20, func(i int) {
			if i%7 == 3 {
				panic("out of range")
			}
			done.Add(1)
		})
	}).To(PanicWith(And(ContainSubstring("out of range"), ContainSubstring("parallel_test.go"))))
	g.Expect(done.Load()).To(Equal(int32(17)), "the others are done")
}
