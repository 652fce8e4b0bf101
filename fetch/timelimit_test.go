// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/budget"
)

// TestTimeDoesNotPassForWhoWaitsForOthers has a limit that would be over at once.
func TestTimeDoesNotPassForWhoWaitsForOthers(t *testing.T) {
	g := NewWithT(t)
	ctx, limit := within(t.Context(), time.Hour)
	defer limit.stop()
	first, second := limit.wait(), limit.wait()
	limit.left = 0
	first()
	g.Expect(ctx.Err()).NotTo(HaveOccurred())
	second()
	g.Eventually(ctx.Done()).Should(BeClosed())
}

func TestTimeThatIsOver(t *testing.T) {
	g := NewWithT(t)
	ctx, limit := within(t.Context(), 0)
	g.Eventually(ctx.Done()).Should(BeClosed())
	limit.wait()()
	limit.stop()

	ctx, limit = within(t.Context(), time.Hour)
	goOn := limit.wait()
	limit.stop()
	g.Expect(ctx.Err()).To(HaveOccurred())
	goOn()
}

// TestOperationThatWaitsForRoom has an hour pass, and then a second too much.
func TestOperationThatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		const mib = 1 << 20
		c := New(Options{CacheBytes: mib})
		other := c.taken.Open("other")
		g.Expect(budget.Take(budget.With(t.Context(), other), 4*mib)).To(Succeed())
		ctx, close := c.holding(t.Context(), "host")
		defer close()
		o := c.operation(&target{host: "host", timeout: time.Second, counts: c.counts["HelmRegistry"]}, demand{})
		done := make(chan error)
		go func() { done <- o.run(ctx, func(ctx context.Context) error { return budget.Take(ctx, mib) }) }()
		time.Sleep(time.Hour)
		g.Expect(done).NotTo(Receive())
		g.Expect(c.slots.running()).To(BeZero())
		other.Close()
		g.Expect(<-done).To(Succeed())

		err := o.run(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		g.Expect(errors.Is(err, context.DeadlineExceeded)).To(BeTrue(), "%v", err)
		g.Expect(errors.Is(err, ErrUnreachable)).To(BeTrue(), "%v", err)
	})
}
