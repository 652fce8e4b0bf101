// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// claim is a wish for some of a room, which several may have: it is as far in line as any of
// them is, and what it was given counts for one who is still there.
type claim struct {
	room *room
	n    int64

	joined []joined
	waits  map[asker]int // the lanes that it waits in, and for how many
	taken  bool          // somebody waits for it
	got    chan struct{} // closed when it is given what it claims
	holder *asker        // for whom
	over   bool          // it does not wait any more
}

// joined is somebody who has joined a claim, and how often.
type joined struct {
	asker
	times int
	came  int64
}

// claim makes a claim that nobody has joined yet. One for nothing never waits.
func (r *room) claim(n int64) *claim {
	return &claim{room: r, n: n, waits: map[asker]int{}, got: make(chan struct{})}
}

// like makes a claim of another room for the users who have joined this one.
func (c *claim) like(r *room, n int64) *claim {
	c.room.mu.Lock()
	all := slices.Clone(c.joined)
	c.room.mu.Unlock()
	other := r.claim(n)
	for _, one := range all {
		for range one.times {
			_ = other.join(asker{user: one.user}) // there may wait any number
		}
	}
	return other
}

// join puts a claim in the line of somebody, too. The error is one of too many requests, when
// too many wait already.
func (c *claim) join(who asker) error {
	r := c.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := c.index(who); i >= 0 {
		c.joined[i].times++
		return nil
	}
	if c.n > 0 && !c.over {
		if err := r.admit(c, who); err != nil {
			return err
		}
		for _, of := range who.lanes() {
			if c.waits[of]++; c.waits[of] == 1 {
				r.change(of, 1, 0)
			}
		}
	}
	r.came++
	c.joined = append(c.joined, joined{asker: who, times: 1, came: r.came})
	r.give()
	return nil
}

// leave takes somebody out of a claim.
func (c *claim) leave(who asker) {
	r := c.room
	r.mu.Lock()
	defer r.mu.Unlock()
	i := c.index(who)
	if i < 0 {
		return
	}
	if c.joined[i].times--; c.joined[i].times > 0 {
		return
	}
	c.joined = slices.Delete(c.joined, i, i+1)
	if c.n > 0 && !c.over {
		for _, of := range who.lanes() {
			if c.waits[of]--; c.waits[of] == 0 {
				r.change(of, -1, 0)
			}
		}
	}
	// Who is gone does not pay for those who are there.
	if c.holder != nil && *c.holder == who && len(c.joined) > 0 {
		c.release()
		c.hold(c.joined[0].asker)
	}
	r.give()
}

// take waits for what is claimed, which free gives back. When ctx ends before, the error is
// errBusy.
func (c *claim) take(ctx context.Context) (free func(), err error) {
	if c.n == 0 {
		return func() {}, nil
	}
	r := c.room
	r.mu.Lock()
	c.taken = true
	r.line = append(r.line, c)
	r.give()
	r.mu.Unlock()
	select {
	case <-c.got:
		return sync.OnceFunc(c.close), nil
	case <-ctx.Done():
		c.close()
		return nil, fmt.Errorf("%w; ask again later", errBusy)
	}
}

// close gives back what a claim was given; it does not wait any more.
func (c *claim) close() {
	r := c.room
	r.mu.Lock()
	defer r.mu.Unlock()
	c.settle()
	c.release()
	r.give()
}

// why says what somebody waits for.
func (c *claim) why(who asker) error {
	r := c.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if !c.taken {
		return fmt.Errorf("%w: the same is being answered; ask again later", errBusy)
	}
	of, whose := r.full(c, who), ""
	switch {
	case of.user != "" && of.cluster.Name != "":
		whose = " for one user about Cluster " + of.cluster.Name
	case of.user != "":
		whose = " for one user"
	case of.cluster.Name != "":
		whose = " of Cluster " + of.cluster.Name
	}
	return fmt.Errorf("%w: %d%s are worked on at a time; ask again later", errBusy, r.bound(of), whose)
}

// The methods below are for who holds the mu of the room.

func (c *claim) index(who asker) int {
	return slices.IndexFunc(c.joined, func(one joined) bool { return one.asker == who })
}

// settle takes a claim out of the line.
func (c *claim) settle() {
	if c.over {
		return
	}
	c.over = true
	c.room.line = slices.DeleteFunc(c.room.line, func(other *claim) bool { return other == c })
	for of := range c.waits {
		c.room.change(of, -1, 0)
	}
	clear(c.waits)
}

// hold counts what a claim was given for somebody.
func (c *claim) hold(who asker) {
	c.holder = &who
	for _, of := range who.lanes() {
		c.room.change(of, 0, c.n)
	}
}

// release counts what a claim was given for nobody.
func (c *claim) release() {
	if c.holder == nil {
		return
	}
	for _, of := range c.holder.lanes() {
		c.room.change(of, 0, -c.n)
	}
	c.holder = nil
}
