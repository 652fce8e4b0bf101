// SPDX-License-Identifier: Apache-2.0

package expiring

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestCache(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New[int](func() time.Time { return now })
	made := 0
	get := func(key string) int {
		value, err := c.Get(t.Context(), key, func(context.Context) (int, time.Time, error) {
			made++
			return made, now.Add(time.Minute), nil
		})
		g.Expect(err).NotTo(HaveOccurred())
		return value
	}
	g.Expect(get("a")).To(Equal(1))
	g.Expect(get("a")).To(Equal(1))
	g.Expect(get("b")).To(Equal(2))
	c.Forget("a")
	g.Expect(get("a")).To(Equal(3))
	now = now.Add(time.Minute)
	g.Expect(get("a")).To(Equal(4), "it has ended")
	get("c")
	g.Expect(c.kept).NotTo(HaveKey("b"), "what has ended does not stay")
}

func TestCacheKeepsNoFailure(t *testing.T) {
	g := NewWithT(t)
	c := New[int](time.Now)
	boom := errors.New("boom")
	_, err := c.Get(t.Context(), "a", func(context.Context) (int, time.Time, error) { return 0, time.Time{}, boom })
	g.Expect(err).To(MatchError(boom))
	value, err := c.Get(t.Context(), "a", func(context.Context) (int, time.Time, error) { return 1, time.Now().Add(time.Hour), nil })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(value).To(Equal(1))
}

func TestCacheMakesOnceForAll(t *testing.T) {
	g := NewWithT(t)
	c := New[int](time.Now)
	begun, release := make(chan struct{}), make(chan struct{})
	slow := func(context.Context) (int, time.Time, error) {
		close(begun) // a second call panics
		<-release
		return 1, time.Now().Add(time.Hour), nil
	}
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() { _, _ = c.Get(context.Background(), "a", slow) })
	}
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Get(ctx, "a", slow)
	g.Expect(err).To(MatchError(context.Canceled), "who leaves does not wait")
	close(release)
	wait.Wait()
}

// TestForgetWaitsForNobody, and what was being made meanwhile is not kept.
func TestForgetWaitsForNobody(t *testing.T) {
	g := NewWithT(t)
	c := New[int](time.Now)
	made := 0
	get := func() int {
		value, err := c.Get(t.Context(), "a", func(context.Context) (int, time.Time, error) {
			if made++; made == 1 {
				c.Forget("a")
			}
			return made, time.Now().Add(time.Hour), nil
		})
		g.Expect(err).NotTo(HaveOccurred())
		return value
	}
	g.Expect(get()).To(Equal(1))
	g.Expect(get()).To(Equal(2))
	g.Expect(get()).To(Equal(2))

	c.Forget("a")
	boom := errors.New("boom")
	_, err := c.Get(t.Context(), "a", func(context.Context) (int, time.Time, error) { return 0, time.Time{}, boom })
	g.Expect(err).To(MatchError(boom))
	g.Expect(get()).To(Equal(3), "what was forgotten does not come again")
}
