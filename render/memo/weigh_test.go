// SPDX-License-Identifier: Apache-2.0

package memo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/memo"
)

func TestWeigh(t *testing.T) {
	g := NewWithT(t)
	const unit = 1 << 20 // next to which keys and the like weigh nothing
	m := memo.New[string, int64](100, func(error) bool { return true }).Weigh(10*unit+unit/2, func(v int64) int64 { return v * unit })
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
	_, _, err = m.Do(t.Context(), "f", func(context.Context) (int64, error) { return 0, errors.New(strings.Repeat("no", 3*unit)) })
	g.Expect(err).To(HaveOccurred())
	g.Expect(known("c")).To(BeFalse(), "failures weigh what their texts do")
}

// TestWeighWhatWeighsNothing has keys and the like bounded, too.
func TestWeighWhatWeighsNothing(t *testing.T) {
	g := NewWithT(t)
	m := memo.New[int, int](1<<20, func(error) bool { return true }).Weigh(1<<20, func(int) int64 { return 0 })
	for key := range 1 << 14 {
		m.Put(key, key)
	}
	_, first := m.Get(0)
	_, last := m.Get(1<<14 - 1)
	g.Expect([]bool{first, last}).To(Equal([]bool{false, true}))
}

func TestForget(t *testing.T) {
	g := NewWithT(t)
	m := memo.New[string, int](2, func(error) bool { return false })
	m.Put("a", 1)
	m.Forget("a", func(v int) bool { return v == 2 })
	_, known := m.Get("a")
	g.Expect(known).To(BeTrue())
	m.Forget("a", func(v int) bool { return v == 1 })
	_, known = m.Get("a")
	g.Expect(known).To(BeFalse())
	m.Forget("b", func(int) bool { return true })
}

func TestForgetAll(t *testing.T) {
	g := NewWithT(t)
	m := memo.New[string, int64](10, func(error) bool { return false }).Weigh(4<<20, func(v int64) int64 { return v << 20 })
	m.Put("a/1", 1)
	m.Put("a/2", 2)
	m.ForgetAll(func(key string) bool { return strings.HasPrefix(key, "a/") })
	m.Put("b/1", 3)
	for key, want := range map[string]bool{"a/1": false, "a/2": false, "b/1": true} {
		_, known := m.Get(key)
		g.Expect(known).To(Equal(want), key+": what is forgotten weighs nothing")
	}
}
