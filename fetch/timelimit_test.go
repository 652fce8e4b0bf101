// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/access"
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

// TestOperationThatWaitsForRoom for a little less than it may, and then takes a little less time.
func TestOperationThatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := newRoomRig(t)
		done := r.start("team", "host", time.Second, func(ctx context.Context) error {
			if err := budget.Take(ctx, r.bytes); err != nil {
				return err
			}
			time.Sleep(time.Second - 1)
			return nil
		})
		time.Sleep(time.Second - 1)
		g.Expect(r.slots.running()).To(BeZero())
		r.other.Close()
		g.Expect(<-done).To(Succeed())

		err := <-r.start("team", "host", time.Second, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		g.Expect(errors.Is(err, context.DeadlineExceeded)).To(BeTrue(), "%v", err)
		g.Expect(errors.Is(err, ErrUnreachable)).To(BeTrue(), "%v", err)
	})
}

// TestOperationThatFindsNoRoom ends, whoever takes it up.
func TestOperationThatFindsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := newRoomRig(t)
		before := r.taken.Used()
		began := time.Now()
		err := <-r.start("team", "host", time.Second, func(ctx context.Context) error { return budget.Take(ctx, r.bytes) })
		g.Expect(time.Since(began)).To(Equal(budget.Patience), "more than its time limit, so that a turn of another one ends before")
		g.Expect(err).To(MatchError(And(ContainSubstring("waited for room in the memory of this process"), ContainSubstring("--artifact-cache-bytes"))))
		g.Expect(errors.Is(err, ErrUnreachable)).To(BeTrue(), "%v", err)
		g.Expect(r.taken.Used()).To(Equal(before))
		g.Expect(r.slots.hosts).To(BeEmpty())
	})
}

// TestOperationThatReadsAheadWhileItWaitsForRoom holds no slot meanwhile that others need.
func TestOperationThatReadsAheadWhileItWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := newRoomRig(t)
		take := func(ctx context.Context) error { return budget.Take(ctx, r.bytes) }
		first := r.start("team", "first", time.Minute, take)
		synctest.Wait()
		second := r.start("team", "second", time.Minute, func(ctx context.Context) error {
			connection, server := net.Pipe()
			go func() { _, _ = server.Write(make([]byte, 32<<10)) }()
			reading := access.WatchedConn(ctx, connection)
			go func() {
				time.Sleep(time.Second)
				_, _ = io.ReadFull(reading, make([]byte, 32<<10))
			}()
			return take(ctx)
		})
		time.Sleep(2 * time.Second)
		g.Expect(r.slots.running()).To(BeZero())
		r.other.Close()
		g.Expect(<-first).To(Succeed())
		g.Expect(<-second).To(Succeed())
	})
}

// TestOperationThatWaitsForASlotAgain has a server that takes a while to begin, and answers in time then,
// while another operation has the slot that was given back meanwhile.
func TestOperationThatWaitsForASlotAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := &roomRig{Coordinator: New(Options{CacheBytes: 1 << 20, MaxConcurrent: 1})}
		first := r.start("team", "first", time.Second, func(ctx context.Context) error {
			connection, server := net.Pipe()
			go func() {
				time.Sleep(patience + 50*time.Millisecond)
				_, _ = server.Write(make([]byte, 32<<10))
			}()
			reading := access.WatchedConn(ctx, connection)
			ended := access.Waits(ctx)
			_, err := io.ReadFull(reading, make([]byte, light+1))
			ended()
			_ = connection.Close()
			return errors.Join(ctx.Err(), err)
		})
		time.Sleep(patience + 10*time.Millisecond)
		second := r.start("team", "second", time.Minute, func(context.Context) error {
			time.Sleep(5 * time.Second)
			return nil
		})
		g.Expect(<-first).To(Succeed())
		g.Expect(<-second).To(Succeed())
	})
}

// roomRig is a Coordinator with one slot, whose room somebody takes up.
type roomRig struct {
	*Coordinator
	bytes int64 // more than there is room for
	other *budget.Hold
}

func newRoomRig(t *testing.T) *roomRig {
	r := &roomRig{bytes: 4 << 20}
	r.Coordinator = New(Options{CacheBytes: 1 << 20, MaxConcurrent: 1})
	ctx, other := r.taken.Open(t.Context(), "", "other", time.Hour)
	NewWithT(t).Expect(budget.Take(ctx, r.bytes)).To(Succeed())
	t.Cleanup(other.Close)
	r.other = other
	return r
}

// start runs an operation, and gives what it came to.
func (r *roomRig) start(tenant, host string, timeout time.Duration, do func(ctx context.Context) error) <-chan error {
	o := r.operation(&target{tenant: tenant, host: host, timeout: timeout, counts: r.counts["HelmRegistry"]}, demand{})
	done := make(chan error)
	go func() {
		done <- o.holding(context.Background(), func(ctx context.Context) error { return o.run(ctx, do) })
	}()
	return done
}
