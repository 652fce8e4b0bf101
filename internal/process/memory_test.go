// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

func TestMemoryIsGivenBackWhenThereIsLittleToDo(t *testing.T) {
	const mib = 1 << 20
	tests := []struct {
		name  string
		least uint64
		given usage // before were 10 collections
		want  bool
	}{
		{"nothing to do", 0, usage{10, 60 * mib}, true},
		{"the collection of every two minutes", 0, usage{11, 60 * mib}, true},
		{"much to do", 0, usage{12, 60 * mib}, false},
		{"as it was", 60 * mib, usage{10, 60 * mib}, false},
		{"a little more", 60 * mib, usage{10, 67 * mib}, false},
		{"more", 60 * mib, usage{10, 68 * mib}, true},
		{"a little more of much", 600 * mib, usage{10, 660 * mib}, false},
		{"more of much", 600 * mib, usage{10, 680 * mib}, true},
		{"less", 60 * mib, usage{10, 50 * mib}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := memory{last: usage{collections: 10}, least: usage{heap: tt.least}}
			NewWithT(t).Expect(m.due(tt.given)).To(Equal(tt.want))
		})
	}
}

func TestMemoryIsLookedAtUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, end := context.WithCancel(t.Context())
		var collections, heap, freed atomic.Uint64
		var busy atomic.Bool
		busy.Store(true)
		heap.Store(10 * leastGrown)
		m := memory{
			read: func() usage {
				if busy.Load() {
					collections.Add(2)
				}
				return usage{collections.Load(), heap.Load()}
			},
			free: func() { freed.Add(1); heap.Store(5 * leastGrown) },
		}
		done := make(chan error)
		go func() { done <- m.run(ctx) }()
		look := func() uint64 {
			time.Sleep(memoryInterval)
			synctest.Wait()
			return freed.Load()
		}
		time.Sleep(time.Second)
		g.Expect(look()).To(BeZero(), "much to do")
		busy.Store(false)
		g.Expect(look()).To(BeEquivalentTo(1))
		g.Expect(look()).To(BeEquivalentTo(1), "nothing has come since")
		heap.Store(7 * leastGrown)
		g.Expect(look()).To(BeEquivalentTo(2))
		end()
		g.Expect(<-done).To(MatchError(context.Canceled))
	})
}

func TestUsageOfThisProcess(t *testing.T) {
	g := NewWithT(t)
	before := readUsage()
	kept := make([]byte, 64<<20)
	after := readUsage()
	g.Expect(after.heap).To(BeNumerically(">=", before.heap+32<<20))
	g.Expect(after.collections).To(BeNumerically(">=", before.collections))
	runtime.KeepAlive(kept)
}
