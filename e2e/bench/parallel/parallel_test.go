// SPDX-License-Identifier: Apache-2.0

package parallel

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

func TestDo(t *testing.T) {
	g := NewWithT(t)
	var seen [10]atomic.Int64
	g.Expect(Do(t.Context(), 4, len(seen), func(_ context.Context, n int) error {
		seen[n].Add(1)
		return nil
	})).To(Succeed())
	for n := range seen {
		g.Expect(seen[n].Load()).To(BeEquivalentTo(1))
	}
	failed := errors.New("failed")
	g.Expect(Do(t.Context(), 1, 10, func(_ context.Context, n int) error {
		g.Expect(n).To(BeNumerically("<=", 2), "an error ends it")
		if n == 2 {
			return failed
		}
		return nil
	})).To(MatchError(failed))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(Do(ctx, 1, 1, func(context.Context, int) error { return nil })).To(MatchError(context.Canceled))
}

func TestDoWithGivesEachItsOwn(t *testing.T) {
	g := NewWithT(t)
	made := 0
	var calls atomic.Int64
	g.Expect(DoWith(t.Context(), 3, 9, func() *int { made++; return new(int) }, func(_ context.Context, own *int, _ int) error {
		*own++ // the race detector tells when two share one
		calls.Add(1)
		return nil
	})).To(Succeed())
	g.Expect(made).To(Equal(3))
	g.Expect(calls.Load()).To(BeEquivalentTo(9))
}
