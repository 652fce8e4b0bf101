// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/store"
)

const month = 30 * 24 * time.Hour

// due is a place with one render that has been unneeded for long, and what Retain is told of it.
type due struct {
	memory
	record store.Record
	key    string
	before time.Time
}

func newDue(t *testing.T) *due {
	t.Helper()
	d := &due{memory: memory{objects: map[string]stored{}}, record: record(t, object("ConfigMap", "a", nil)), before: time.Now().Add(-time.Hour)}
	d.key = "team/web/" + strings.TrimPrefix(d.record.Result.Digest, "sha256:")
	s := d.process(nil)
	g := NewWithT(t)
	g.Expect(s.Put(t.Context(), d.record)).To(Succeed())
	_, err := s.Retain(t.Context(), d.listed(time.Time{}), unneeded, d.before)
	g.Expect(err).NotTo(HaveOccurred())
	d.age(d.key+".unneeded", month)
	return d
}

// again gives the same place as it was in the beginning.
func (d *due) again() *due {
	n := &due{memory: memory{objects: map[string]stored{}}, record: d.record, key: d.key, before: d.before}
	for key, o := range d.objects {
		n.objects[key] = o
	}
	return n
}

func (d *due) listed(since time.Time) store.Kept {
	return store.Kept{Namespace: "team", Name: "web", Renders: []store.Stored{{Digest: d.record.Result.Digest, At: time.Now(), UnneededSince: since}}}
}

// process opens the place as another process does.
func (d *due) process(turn func()) *store.Store {
	return d.open(store.Options{}, func() error {
		if turn != nil {
			turn()
		}
		return nil
	})
}

func unneeded(string) bool { return false }

// remover removes the render, and dies instead of its nth request when that is not negative.
func (d *due) remover(t *testing.T, dies int) func(turn func()) {
	return func(turn func()) {
		sent := 0
		s := d.open(store.Options{}, func() error {
			if dies >= 0 && sent >= dies {
				return errors.New("dead")
			}
			sent++
			turn()
			return nil
		})
		_, err := s.Retain(t.Context(), d.listed(time.Now().Add(-month)), unneeded, d.before)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Error(err)
		}
	}
}

func (d *due) putter(t *testing.T, err *error) func(turn func()) {
	return func(turn func()) { *err = d.process(turn).Put(t.Context(), d.record) }
}

// expectStored has a Put that succeeded mean that the render is there and needed, and one that
// did not be of use when it is repeated.
func (d *due) expectStored(t *testing.T, err error, removerDied bool) {
	t.Helper()
	g := NewWithT(t)
	s := d.process(nil)
	if err != nil {
		g.Expect(err).To(MatchError(store.ErrUnavailable))
		if removerDied {
			g.Expect(s.Put(t.Context(), d.record)).To(Or(Succeed(), MatchError(ContainSubstring("by another process"))))
			d.age(d.key+".removing", time.Hour)
		}
		g.Expect(s.Put(t.Context(), d.record)).To(Succeed())
		g.Expect(d.objects).NotTo(HaveKey(d.key+".removing"), "what a process left that died is taken away")
	}
	_, err = s.Get(t.Context(), "team", "web", d.record.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.objects).To(HaveKey(d.key + ".index.json"))
	g.Expect(d.objects).NotTo(HaveKey(d.key + ".unneeded"))
}

// In each order in which the requests of two processes can come, one that stores a render and one
// that removes it: what Put says is stored is there.
func TestPutWhileAnotherProcessRemoves(t *testing.T) {
	start := newDue(t)
	for dies := -1; dies < 8; dies++ {
		var stored, refused int
		everyOrder(func(choose func(int) int) {
			d := start.again()
			var err error
			take(choose, d.putter(t, &err), d.remover(t, dies))
			if err == nil {
				stored++
			} else {
				refused++
			}
			d.expectStored(t, err, dies >= 0)
			if t.Failed() {
				t.FailNow()
			}
		})
		t.Logf("dies at %d: %d orders in which it is stored, %d in which it is refused", dies, stored, refused)
		g := NewWithT(t)
		g.Expect(stored).To(BeNumerically(">", 0))
		g.Expect(refused > 0).To(Equal(dies != 0), "a removal is seen")
	}
}

// Two that remove and two that store, in some thousand orders.
func TestPutsWhileOtherProcessesRemove(t *testing.T) {
	start := newDue(t)
	order := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		d := start.again()
		var one, other error
		take(order.IntN, d.remover(t, -1), d.putter(t, &one), d.remover(t, -1), d.putter(t, &other))
		if one == nil {
			d.expectStored(t, nil, false)
		}
		d.expectStored(t, other, false)
		if t.Failed() {
			t.FailNow()
		}
	}
}

// What a removal left whose process died is removed by later ones.
func TestRemovalThatDied(t *testing.T) {
	g := NewWithT(t)
	d := newDue(t)
	take(func(int) int { return 0 }, d.remover(t, 4)) // with the render gone, its entry not
	s := d.process(nil)
	pass := func() store.Retained {
		done, err := s.Retain(t.Context(), d.listed(time.Now().Add(-month)), unneeded, d.before)
		g.Expect(err).NotTo(HaveOccurred())
		return done
	}
	g.Expect(pass().Removed).To(BeZero(), "the other one may be at work yet")
	g.Expect(d.objects).To(HaveLen(3))
	d.age(d.key+".removing", time.Hour)
	g.Expect(pass().Removed).To(BeZero(), "one step at a time")
	g.Expect(d.objects).To(HaveLen(2))
	g.Expect(pass().Removed).To(Equal(1))
	g.Expect(d.objects).To(BeEmpty())
}

// A mark that has no render says nothing of the render that comes later.
func TestPutTakesOffALoneMark(t *testing.T) {
	g := NewWithT(t)
	d := newDue(t)
	delete(d.objects, d.key+".json.zst")
	g.Expect(d.process(nil).Put(t.Context(), d.record)).To(Succeed())
	d.expectStored(t, nil, false)
}
