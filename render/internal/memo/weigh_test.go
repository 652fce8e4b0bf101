// SPDX-License-Identifier: Apache-2.0

package memo_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/memo"
)

func TestWeigh(t *testing.T) {
	g := NewWithT(t)
	m := memo.New[string, int64](100, func(error) bool { return true }).Weigh(10, func(v int64) int64 { return v })
	known := func(key string) bool { _, ok := m.Get(key); return ok }
	m.Put("a", 4)
	m.Put("b", 4)
	g.Expect(known("a")).To(BeTrue()) // now b is the one not asked for the longest
	_, _, err := m.Do(t.Context(), "c", func(context.Context) (int64, error) { return 5, nil })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]bool{known("a"), known("b"), known("c")}).To(Equal([]bool{true, false, true}))
	m.Put("d", 11) // never
	g.Expect([]bool{known("a"), known("c"), known("d")}).To(Equal([]bool{true, true, false}))
	m.Put("a", 5) // the same key does not count twice
	g.Expect([]bool{known("a"), known("c")}).To(Equal([]bool{true, true}))
	m.Put("a", 11)
	g.Expect(known("a")).To(BeFalse())
	_, _, err = m.Do(t.Context(), "e", func(context.Context) (int64, error) { return 100, errors.New("no") })
	g.Expect(err).To(HaveOccurred())
	g.Expect(known("c")).To(BeTrue())
}
