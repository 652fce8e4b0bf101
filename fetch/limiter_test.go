// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhoDoesNotWaitAnyMoreTakesNoSlot(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(2)
	release, err := l.acquire(t.Context(), "a")
	g.Expect(err).NotTo(HaveOccurred())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.acquire(gone, "a")
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(l.queue).To(BeEmpty())

	other, err := l.acquire(t.Context(), "b")
	g.Expect(err).NotTo(HaveOccurred())
	release()
	other()
	g.Expect(l.busy).To(BeZero())
	g.Expect(l.hosts).To(BeEmpty())
}

// A slot may be given in the moment in which it is not wanted any more.
func TestASlotThatCameTooLateIsGivenBack(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	w := &waiter{host: "a", turn: make(chan struct{})}
	l.queue = append(l.queue, w)
	l.grant()
	g.Expect(l.busy).To(Equal(1))
	l.abandon(w)
	g.Expect(l.busy).To(BeZero())
	g.Expect(l.hosts).To(BeEmpty())
}

func TestSlotsAreGivenInTurn(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(2)
	release, err := l.acquire(t.Context(), "a")
	g.Expect(err).NotTo(HaveOccurred())
	first, second, other := &waiter{host: "a", turn: make(chan struct{})}, &waiter{host: "a", turn: make(chan struct{})}, &waiter{host: "b", turn: make(chan struct{})}
	l.queue = append(l.queue, first, second, other)
	l.grant()
	g.Expect(other.turn).To(BeClosed(), "a host with none passes those whose host has all that it may have")
	g.Expect(first.turn).NotTo(BeClosed())
	release()
	g.Expect(first.turn).To(BeClosed())
	g.Expect(second.turn).NotTo(BeClosed())
}
