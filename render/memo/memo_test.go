// SPDX-License-Identifier: Apache-2.0

package memo_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/memo"
)

var (
	errLasting = errors.New("lasting")
	errPassing = errors.New("passing")
)

func newMemo(limit int) *memo.Memo[string, int] {
	return memo.New[string, int](limit, func(err error) bool { return errors.Is(err, errLasting) })
}

func TestDoWorksOncePerKey(t *testing.T) {
	g := NewWithT(t)
	m := newMemo(2)
	var worked atomic.Int32
	begin := make(chan struct{})
	work := func(context.Context) (int, error) {
		<-begin
		return int(worked.Add(1)), nil
	}
	var wait sync.WaitGroup
	results := make([]int, 8)
	for i := range results {
		wait.Go(func() { results[i], _, _ = m.Do(t.Context(), "a", work) })
	}
	close(begin)
	wait.Wait()
	g.Expect(results).To(HaveEach(1))
	value, known, err := m.Do(t.Context(), "a", work)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(known).To(BeTrue())
	g.Expect(value).To(Equal(1))
}

func TestDoRemembers(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"a value", nil, true},
		{"a lasting failure", errLasting, true},
		{"not a passing failure", errPassing, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			m := newMemo(2)
			work := func(context.Context) (int, error) { return 1, test.err }
			_, known, _ := m.Do(t.Context(), "a", work)
			g.Expect(known).To(BeFalse())
			_, known, err := m.Do(t.Context(), "a", work)
			g.Expect(known).To(Equal(test.want))
			if test.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(test.err))
			}
		})
	}
}

func TestJoin(t *testing.T) {
	g := NewWithT(t)
	m := newMemo(2)
	_, found, err := m.Join(t.Context(), "a", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(BeFalse(), "nobody works on it")

	begun, end := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		_, _, _ = m.Do(t.Context(), "a", func(context.Context) (int, error) {
			close(begun)
			<-end
			return 7, nil
		})
	})
	<-begun
	leaving, leave := context.WithCancel(t.Context())
	leave()
	_, found, err = m.Join(leaving, "a", "")
	g.Expect(found).To(BeTrue())
	g.Expect(err).To(MatchError(context.Canceled))
	var joined int
	wait.Go(func() { joined, _, _ = m.Join(t.Context(), "a", "") })
	close(end)
	wait.Wait()
	g.Expect(joined).To(Equal(7), "of the work, or remembered")

	_, _, _ = m.Do(t.Context(), "b", func(context.Context) (int, error) { return 0, errLasting })
	_, found, err = m.Join(t.Context(), "b", "")
	g.Expect(found).To(BeTrue())
	g.Expect(err).To(MatchError(errLasting))
}

func TestDoForgetsWhatWasNotAskedForTheLongest(t *testing.T) {
	g := NewWithT(t)
	m := newMemo(2)
	ask := func(key string) bool {
		_, known, err := m.Do(t.Context(), key, func(context.Context) (int, error) { return 0, nil })
		g.Expect(err).NotTo(HaveOccurred())
		return known
	}
	g.Expect(ask("a")).To(BeFalse())
	g.Expect(ask("b")).To(BeFalse())
	g.Expect(ask("a")).To(BeTrue())
	g.Expect(ask("c")).To(BeFalse())
	g.Expect(ask("a")).To(BeTrue())
	g.Expect(ask("b")).To(BeFalse())
}

func TestDoGoesOnWithoutACallerWhoLeft(t *testing.T) {
	g := NewWithT(t)
	m := newMemo(2)
	working, finish := make(chan struct{}), make(chan struct{})
	var worked atomic.Int32
	work := func(ctx context.Context) (int, error) {
		worked.Add(1)
		close(working)
		<-finish
		return 7, ctx.Err()
	}
	ctx, leave := context.WithCancel(t.Context())
	left, stayed := make(chan error), make(chan int)
	go func() {
		_, _, err := m.Do(ctx, "a", work)
		left <- err
	}()
	<-working
	go func() {
		value, _, _ := m.Do(t.Context(), "a", work)
		stayed <- value
	}()
	g.Eventually(func() int { return m.Callers("a") }).Should(Equal(2))
	leave()
	g.Expect(<-left).To(MatchError(context.Canceled))
	close(finish)
	g.Expect(<-stayed).To(Equal(7))
	g.Expect(worked.Load()).To(Equal(int32(1)))
}

func TestDoEndsWhatNobodyWaitsFor(t *testing.T) {
	g := NewWithT(t)
	m := newMemo(2)
	begun, ended, wound := make(chan struct{}), make(chan struct{}), make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, _, err := m.Do(ctx, "a", func(ctx context.Context) (int, error) {
			close(begun)
			<-ctx.Done()
			close(ended)
			<-wound
			return 0, errLasting // what came of being ended
		})
		left <- err
	}()
	<-begun
	leave()
	g.Expect(<-left).To(MatchError(context.Canceled))
	g.Eventually(ended).Should(BeClosed())

	// Who asks next begins anew, whenever the first is wound up.
	value, known, err := m.Do(t.Context(), "a", func(ctx context.Context) (int, error) {
		close(wound)
		return 8, ctx.Err()
	})
	g.Expect([]any{value, known, err}).To(Equal([]any{8, false, nil}))
	value, _, err = m.Do(t.Context(), "a", func(context.Context) (int, error) { return 9, nil })
	g.Expect([]any{value, err}).To(Equal([]any{8, nil}))
}

func TestDoRemembersNoFailureOfBeingLeft(t *testing.T) {
	g := NewWithT(t)
	m := newMemo(2)
	ctx, leave := context.WithCancel(t.Context())
	begun, wound := make(chan struct{}), make(chan struct{})
	go func() {
		<-begun
		leave()
	}()
	_, _, err := m.Do(ctx, "a", func(ctx context.Context) (int, error) {
		close(begun)
		<-ctx.Done()
		defer close(wound)
		return 0, errLasting
	})
	g.Expect(err).To(MatchError(context.Canceled))
	<-wound
	g.Consistently(func() error {
		_, _, err := m.Do(t.Context(), "a", func(context.Context) (int, error) { return 0, errPassing })
		return err
	}, "50ms").Should(MatchError(errPassing))
}

func TestDoMakesAnErrorOfAPanic(t *testing.T) {
	g := NewWithT(t)
	_, _, err := newMemo(2).Do(t.Context(), "a", func(context.Context) (int, error) { panic("hunter2") })
	g.Expect(err).To(MatchError("internal error: panic of type string"))
}

func TestPutAndGet(t *testing.T) {
	g := NewWithT(t)
	m := memo.New[string, int](2, func(error) bool { return false })
	_, known := m.Get("a")
	g.Expect(known).To(BeFalse())
	m.Put("a", 1)
	m.Put("a", 2)
	m.Put("b", 3)
	value, known := m.Get("a")
	g.Expect([]any{value, known}).To(Equal([]any{2, true}))
	m.Put("c", 4) // b was not asked for the longest
	_, known = m.Get("b")
	g.Expect(known).To(BeFalse())
	value, known, err := m.Do(t.Context(), "a", func(context.Context) (int, error) { return 0, nil })
	g.Expect([]any{value, known, err}).To(Equal([]any{2, true, nil}))
}

// TestWorkIsToldWhoWaits has somebody join the work of another, and leave it.
func TestWorkIsToldWhoWaits(t *testing.T) {
	g := NewWithT(t)
	m := newMemo(2)
	waiting := make(chan string, 10)
	end := make(chan struct{})
	work := memo.Work[int]{
		Do: func(context.Context) (int, error) { <-end; return 7, nil },
		Join: func(who string) func() {
			waiting <- who
			return func() { waiting <- who + " left" }
		},
	}
	other := memo.Work[int]{Do: func(context.Context) (int, error) { panic("not done") }}
	first := make(chan int)
	go func() {
		value, _, _ := m.DoFor(t.Context(), "a", work, "first")
		first <- value
	}()
	g.Eventually(waiting).Should(Receive(Equal("first")))
	ctx, leave := context.WithCancel(t.Context())
	second := make(chan error)
	go func() {
		_, _, err := m.DoFor(ctx, "a", other, "second")
		second <- err
	}()
	g.Eventually(waiting).Should(Receive(Equal("second")))
	leave()
	g.Expect(<-second).To(MatchError(context.Canceled))
	g.Expect(waiting).To(Receive(Equal("second left")))
	close(end)
	g.Expect(<-first).To(Equal(7))
	g.Expect(waiting).To(Receive(Equal("first left")))
	_, known, _ := m.DoFor(t.Context(), "a", work, "third")
	g.Expect(known).To(BeTrue())
	g.Expect(waiting).NotTo(Receive(), "nothing is to be waited for")
}

func TestRemember(t *testing.T) {
	g := NewWithT(t)
	m := newMemo(2)
	m.Remember("a", 1, nil)
	m.Remember("a", 0, errPassing)
	value, known, err := m.Known("a")
	g.Expect([]any{value, known, err}).To(Equal([]any{1, true, nil}))
	m.Remember("a", 0, errLasting)
	_, known, err = m.Known("a")
	g.Expect(known).To(BeTrue())
	g.Expect(err).To(MatchError(errLasting))
	_, known, _ = m.Known("b")
	g.Expect(known).To(BeFalse())
}
