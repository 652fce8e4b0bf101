// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/budget"
)

// crowd has hosts of a tenant each take more than there is room for, and then do something until it
// ends. Each is asked again at once, until the crowd leaves.
func crowd(t *testing.T, r *roomRig, hosts int, then func(ctx, left context.Context) error) (leave func()) {
	left, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for host := range hosts {
		all.Go(func() {
			for left.Err() == nil {
				<-r.start("crowd", fmt.Sprint("crowd", host), time.Hour, func(ctx context.Context) error {
					if err := budget.Take(ctx, r.bytes); err != nil {
						return err
					}
					return then(ctx, left)
				})
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// stalls waits for what never comes.
func stalls(ctx, left context.Context) error {
	defer access.Waits(ctx)()
	select {
	case <-ctx.Done():
	case <-left.Done():
	}
	return ctx.Err()
}

// flows has 64 KiB come every second, and gives each to read, for as long as it wants that.
func flows(ctx context.Context, read func(bytes int64) error) error {
	connection, server := net.Pipe()
	var sending sync.WaitGroup
	defer sending.Wait()
	defer connection.Close()
	sending.Go(func() {
		for err := error(nil); err == nil; {
			time.Sleep(time.Second)
			_, err = server.Write(make([]byte, 64<<10))
		}
	})
	reading := access.Awaited(ctx, access.WatchedConn(ctx, connection))
	for {
		n, err := reading.Read(make([]byte, 64<<10))
		if err := errors.Join(ctx.Err(), err, read(int64(n))); err != nil {
			return err
		}
	}
}

// TestOperationThatStalls while others wait ends, which is no fault of what it is for.
func TestOperationThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := &roomRig{bytes: 4 << 20, Coordinator: New(Options{CacheBytes: 1 << 20})}
		first := r.start("team", "stalls", time.Hour, func(ctx context.Context) error {
			return errors.Join(budget.Take(ctx, r.bytes), stalls(ctx, t.Context()))
		})
		time.Sleep(time.Minute)
		second := r.start("team", "fine", time.Second, func(ctx context.Context) error { return budget.Take(ctx, r.bytes) })
		err := <-first
		g.Expect(err).To(MatchError(ContainSubstring("the server sent next to nothing for 10s while other fetches waited for the memory")))
		g.Expect(errors.Is(err, ErrUnreachable)).To(BeTrue(), "%v", err)
		g.Expect(errors.Is(err, context.DeadlineExceeded)).To(BeFalse(), "%v", err)
		g.Expect(isContent(err)).To(BeFalse())
		g.Expect(<-second).To(Succeed())
		g.Expect(r.Stats().TakingBytes).To(BeZero())
	})
}

// TestStalledHostsOfATenantKeepNobodyOut for whom there is room without them.
func TestStalledHostsOfATenantKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := &roomRig{bytes: 4 << 20, Coordinator: New(Options{CacheBytes: 1 << 20})}
		defer crowd(t, r, 50, stalls)()
		for range 10 {
			time.Sleep(time.Minute)
			g.Expect(<-r.start("team", "fine", time.Second, func(ctx context.Context) error { return budget.Take(ctx, 1<<20) })).To(Succeed())
		}
	})
}

// TestWhoWaitsHasItsTurnBeforeItGivesUp has others take as much as they may, for as long as they may.
func TestWhoWaitsHasItsTurnBeforeItGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := &roomRig{bytes: 4 << 20, Coordinator: New(Options{CacheBytes: 1 << 20})}
		defer crowd(t, r, 50, func(ctx, left context.Context) error {
			return flows(ctx, func(int64) error { return left.Err() })
		})()
		for range 5 {
			time.Sleep(time.Minute)
			g.Expect(<-r.start("team", "fine", time.Second, func(ctx context.Context) error { return budget.Take(ctx, r.bytes) })).To(Succeed())
		}
	})
}

// TestWhatIsLargeAndSlowComesThrough although it takes more than all room, and others wait for that.
func TestWhatIsLargeAndSlowComesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := &roomRig{bytes: 4 << 20, Coordinator: New(Options{CacheBytes: 1 << 20})}
		defer crowd(t, r, 50, stalls)()
		time.Sleep(time.Minute)
		done := errors.New("all came")
		err := <-r.start("team", "slow", 2*time.Minute, func(ctx context.Context) error {
			left := int64(90 * 64 << 10)
			return flows(ctx, func(bytes int64) error {
				if left -= bytes; left <= 0 {
					return done
				}
				return budget.Take(ctx, bytes)
			})
		})
		g.Expect(err).To(MatchError(done))
	})
}

// begin has an operation of several steps under way.
func (r *roomRig) begin(tenant, host string, timeout time.Duration, work func(ctx context.Context, o *operation) error) <-chan error {
	o := r.operation(&target{tenant: tenant, host: host, timeout: timeout, counts: r.counts["HelmRegistry"]}, demand{})
	done := make(chan error, 1)
	go func() {
		done <- o.holding(context.Background(), func(ctx context.Context) error { return work(ctx, o) })
	}()
	return done
}

// promptly answers a request of an operation with n bytes.
func promptly(n int) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		client, server := net.Pipe()
		defer func() { _ = client.Close() }()
		go func() {
			time.Sleep(300 * time.Millisecond)
			_, _ = server.Write(make([]byte, n))
		}()
		_, err := access.Awaited(ctx, access.WatchedConn(ctx, client)).Read(make([]byte, n))
		return errors.Join(ctx.Err(), err)
	}
}

// TestWhoIsAnsweredPromptlyGoesOn has a source of many small answers, and others who wait for what it
// holds: each answer comes at once, and brings little.
func TestWhoIsAnsweredPromptlyGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := &roomRig{bytes: 4 << 20, Coordinator: New(Options{CacheBytes: 1 << 20})}
		left, cancel := context.WithCancel(t.Context())
		answers := 0
		small := r.begin("team", "lfs", time.Minute, func(ctx context.Context, o *operation) error {
			err := o.run(ctx, func(ctx context.Context) error { return budget.Take(ctx, 300<<10) })
			for ; err == nil && answers < 100; answers++ {
				err = o.run(ctx, promptly(1<<10))
			}
			return err
		})
		time.Sleep(time.Millisecond)
		leave := crowd(t, r, 5, func(ctx, _ context.Context) error { return flows(ctx, func(int64) error { return left.Err() }) })
		g.Expect(<-small).To(Succeed())
		g.Expect(answers).To(Equal(100))
		cancel()
		leave()
	})
}
