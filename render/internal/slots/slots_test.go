// SPDX-License-Identifier: Apache-2.0

package slots_test

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/slots"
)

// office has slots, and keeps the order in which tenants got them.
type office struct {
	*WithT
	*slots.Slots
	ctx context.Context
	now time.Time

	mu   sync.Mutex
	got  []string
	done map[string][]func()
}

func newOffice(t *testing.T, size int) *office {
	o := &office{WithT: NewWithT(t), ctx: t.Context(), now: time.Unix(0, 0), done: map[string][]func(){}}
	o.Slots = slots.New(size, time.Second, func() time.Time { return o.now })
	return o
}

// wants has tenants ask for slots one after the other, who get them or wait in line.
func (o *office) wants(tenants ...string) {
	for _, tenant := range tenants {
		before := o.taken() + o.Waiting()
		go func() {
			done, err := o.Take(o.ctx, tenant)
			if err != nil {
				return
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			o.got = append(o.got, tenant)
			o.done[tenant] = append(o.done[tenant], done)
		}()
		o.EventuallyWithOffset(1, func() int { return o.taken() + o.Waiting() }).Should(Equal(before + 1))
	}
}

func (o *office) taken() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.got)
}

// ends has a tenant end its oldest use after some time, and gives who got slots by then.
func (o *office) ends(tenant string, after time.Duration, then ...string) {
	o.mu.Lock()
	done := o.done[tenant][0]
	o.done[tenant] = o.done[tenant][1:]
	known := len(o.got)
	o.now = o.now.Add(after)
	o.mu.Unlock()
	done()
	o.EventuallyWithOffset(1, o.taken).Should(Equal(known + len(then)))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ExpectWithOffset(1, o.got[known:]).To(ConsistOf(then))
}

func (o *office) order() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.got
}

const quickly, slowly = time.Millisecond, time.Minute

// shown has tenants show that they are done soon.
func (o *office) shown(tenants ...string) {
	for _, tenant := range tenants {
		o.wants(tenant)
		o.ends(tenant, quickly)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got = nil
}

func TestTenantsTakeTurns(t *testing.T) {
	o := newOffice(t, 1)
	o.wants("a", "a", "a", "b", "b", "c")
	for _, next := range []struct{ ends, gets string }{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"a", "b"}, {"b", "a"}} {
		o.ends(next.ends, slowly, next.gets)
	}
	o.Expect(o.order()).To(Equal([]string{"a", "b", "c", "a", "b", "a"}))
}

func TestWhoHoldsTheFewestIsNext(t *testing.T) {
	o := newOffice(t, 3)
	o.shown("a", "b")
	o.wants("a", "a", "b", "a", "b", "c")
	o.Expect(o.order()).To(ConsistOf("a", "a", "b"))
	o.ends("b", quickly, "c") // as few as b holds, which got one before
	o.ends("c", quickly, "b")
	o.ends("b", quickly, "a")
}

func TestTheLastSlot(t *testing.T) {
	t.Run("is for a tenant alone that is done soon", func(t *testing.T) {
		o := newOffice(t, 2)
		o.shown("a")
		o.wants("a", "a")
		o.Expect(o.order()).To(HaveLen(2))
	})
	t.Run("is not for a tenant that nothing is known of", func(t *testing.T) {
		o := newOffice(t, 2)
		o.wants("evil", "evil", "nice")
		o.Expect(o.order()).To(ConsistOf("evil", "nice"))
		o.ends("nice", quickly)
		o.ends("evil", quickly, "evil")
	})
	t.Run("is not for tenants that lately took long", func(t *testing.T) {
		o := newOffice(t, 2)
		o.shown("evil", "bad")
		o.wants("evil", "bad") // nobody can know yet
		o.ends("evil", slowly)
		o.wants("evil") // bad holds the other one for as long
		o.ends("bad", quickly, "evil")
		o.wants("bad", "nice")
		o.Expect(o.order()).To(Equal([]string{"evil", "bad", "evil", "nice"}))
		o.ends("nice", quickly)
		o.ends("evil", slowly, "bad")
	})
	t.Run("is for them again after a while", func(t *testing.T) {
		o := newOffice(t, 2)
		o.wants("evil")
		o.ends("evil", slowly)
		o.shown("evil")
		o.now = o.now.Add(101 * time.Second)
		o.wants("evil", "evil")
		o.Expect(o.order()).To(Equal([]string{"evil", "evil"}))
	})
	t.Run("is for anybody when there is one", func(t *testing.T) {
		o := newOffice(t, 1)
		o.wants("evil")
		o.ends("evil", slowly)
		o.wants("evil")
		o.Expect(o.order()).To(Equal([]string{"evil", "evil"}))
	})
}

func TestWhoLeavesTheLineGetsNothing(t *testing.T) {
	o := newOffice(t, 1)
	o.wants("a")
	all := o.ctx
	var leave context.CancelFunc
	o.ctx, leave = context.WithCancel(all)
	o.wants("a", "b", "b")
	o.ctx = all
	o.wants("c")
	leave()
	o.Eventually(o.Waiting).Should(Equal(1))
	o.ends("a", quickly, "c")
	o.ends("c", quickly)
}

func TestTakeFails(t *testing.T) {
	o := newOffice(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := o.Take(ctx, "a")
	o.Expect(err).To(MatchError(context.Canceled))
	o.wants("a")
	o.Expect(o.order()).To(Equal([]string{"a"}))
}

// shares has tenants share one claim, which gets a slot or waits.
func (o *office) shares(claim *slots.Claim, tenants ...string) (leave []func()) {
	for _, tenant := range tenants {
		leave = append(leave, claim.Join(tenant))
	}
	return leave
}

func (o *office) takes(claim *slots.Claim, ctx context.Context, name string) chan error {
	taken := make(chan error, 1)
	go func() {
		done, err := claim.Take(ctx)
		if err == nil {
			o.mu.Lock()
			o.got = append(o.got, name)
			o.done[name] = append(o.done[name], done)
			o.mu.Unlock()
		}
		taken <- err
	}()
	return taken
}

func TestAClaimIsAsFarAsTheBestOfItsPlaces(t *testing.T) {
	o := newOffice(t, 1)
	o.wants("evil", "evil", "evil", "evil", "nice")
	shared := o.Claim()
	o.shares(shared, "evil", "nice")
	taken := o.takes(shared, t.Context(), "shared")
	o.Expect(o.Waiting()).To(Equal(6))
	o.ends("evil", slowly, "nice")
	o.ends("nice", slowly, "evil")
	o.ends("evil", slowly, "shared") // by the place of nice
	o.Expect(<-taken).To(Succeed())
	o.Expect(o.Waiting()).To(Equal(2), "the place in the line of evil is gone")
	o.shares(shared, "late")
	o.Expect(o.Waiting()).To(Equal(2), "who comes when there is a slot has no place")
	o.ends("shared", quickly, "evil")
	o.ends("evil", quickly, "evil")
	o.ends("evil", quickly)
}

func TestWhoLeavesAClaimTakesItsPlaceOnly(t *testing.T) {
	o := newOffice(t, 1)
	o.wants("a", "b")
	shared := o.Claim()
	leave := o.shares(shared, "b", "c")
	taken := o.takes(shared, t.Context(), "shared")
	leave[1]()
	leave[1]()
	o.Expect(o.Waiting()).To(Equal(2))
	o.ends("a", quickly, "b")
	leave = o.shares(shared, "d")
	o.ends("b", quickly, "shared") // by the place of d, who has had no slot yet
	o.Expect(<-taken).To(Succeed())
	leave[0]()
	o.ends("shared", quickly)
	o.Expect(o.Waiting()).To(BeZero())
	o.wants("a")
}

func TestAClaimThatIsGivenUp(t *testing.T) {
	o := newOffice(t, 1)
	o.wants("a")
	shared := o.Claim()
	leave := o.shares(shared, "b", "c")
	ctx, cancel := context.WithCancel(t.Context())
	taken := o.takes(shared, ctx, "shared")
	cancel()
	o.Expect(<-taken).To(MatchError(context.Canceled))
	o.Expect(o.Waiting()).To(BeZero())
	leave[0]()
	o.shares(shared, "d")
	o.Expect(o.Waiting()).To(BeZero())
	o.wants("e")
	o.ends("a", quickly, "e")
}

func TestAClaimThatIsClosed(t *testing.T) {
	o := newOffice(t, 1)
	shared := o.Claim()
	o.shares(shared, "a")
	o.wants("b")
	o.Expect(o.order()).To(BeEmpty())
	shared.Close() // it had the slot
	o.Eventually(o.order).Should(Equal([]string{"b"}))
	shared.Close()
	o.shares(shared, "c")
	o.Expect(o.Waiting()).To(BeZero())
	o.wants("d")
	o.ends("b", quickly, "d")
}
