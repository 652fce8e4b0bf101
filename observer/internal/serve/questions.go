// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// question is all that an answer depends on but the time and the format.
type question struct {
	kind    string
	release types.NamespacedName
	query   string
	// reader is who the target is read as; empty where that is the Release's identity.
	reader string
}

// asking is how somebody asks a question.
type asking struct {
	who    asker
	format format
	// gate of the answer, and how many places in it an answer in work takes: one, or none.
	gate   *gate
	places int64
	// admit is asked before another answer is made.
	admit func() error
	work  work
}

// work makes an answer, and writes it in some formats.
type work func(ctx context.Context, formats []format) (map[format]written, error)

// written is an answer in a format, or why it cannot be given in that one.
type written struct {
	body []byte
	err  error
}

// questions has equal questions answered together. An answer never begins before the question
// was asked, so that who has just changed something sees it: those who ask while an answer is
// being made share the one that begins when it is done. However many ask, two answers are
// made in the time of one, one after the other. It is the turn of what several ask when it is
// that of any of them, and none of them is refused or kept waiting for what another one asks.
type questions struct {
	mu   sync.Mutex
	last map[question]*making
}

// making is an answer that is waited for, being made, or being read.
type making struct {
	// done is closed when the answer is there, or the error.
	done    chan struct{}
	answers map[format]written
	err     error

	cancel context.CancelFunc
	// turn is the claim for a place to work on it.
	turn *claim
	// begun is set when nobody may join any more.
	begun bool
	// askers wait for the answer or read it, in any of the formats.
	askers  int
	formats []format
	// kept is the claim for the room that the answer takes, and drop gives that back; nil while
	// there is none.
	kept *claim
	drop func()
}

// ask gives the answer to a question that begins from now on. Whoever has an answer calls leave
// when he has read it.
func (qs *questions) ask(ctx context.Context, q question, a asking) (body []byte, leave func(), err error) {
	m, err := qs.join(ctx, q, a)
	if err != nil {
		return nil, nil, err
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		return nil, nil, qs.giveUp(ctx, m, a.who)
	}
	given := m.answers[a.format]
	if err := cmp.Or(m.err, given.err); err != nil {
		qs.leave(m, a.who)
		return nil, nil, err
	}
	return given.body, func() { qs.leave(m, a.who) }, nil
}

// giveUp is why there is no answer for who asks no longer.
func (qs *questions) giveUp(ctx context.Context, m *making, who asker) error {
	why := m.turn.why(who)
	qs.mu.Lock()
	begun := m.begun
	qs.mu.Unlock()
	others := qs.leave(m, who)
	if begun {
		return ctx.Err()
	}
	if others == 0 {
		<-m.done // what waits ends with its last asker
	}
	return why
}

// join finds the answer that is yet to begin, or has another one made.
func (qs *questions) join(ctx context.Context, q question, a asking) (*making, error) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	before := qs.last[q]
	if before != nil && !before.begun {
		if err := before.turn.join(a.who); err != nil {
			return nil, err
		}
		before.askers++
		if !slices.Contains(before.formats, a.format) {
			before.formats = append(before.formats, a.format)
		}
		return before, nil
	}
	if err := a.admit(); err != nil {
		return nil, err
	}
	turn := a.gate.places.claim(a.places)
	if err := turn.join(a.who); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &making{done: make(chan struct{}), cancel: cancel, turn: turn, askers: 1, formats: []format{a.format}}
	if qs.last == nil {
		qs.last = map[question]*making{}
	}
	qs.last[q] = m
	go qs.make(ctx, q, m, before, a)
	return m, nil
}

// make has an answer made when the one before is done.
func (qs *questions) make(ctx context.Context, q question, m, before *making, a asking) {
	answers, err := qs.answer(ctx, m, before, a)
	qs.mu.Lock()
	defer qs.mu.Unlock()
	m.begun, m.answers, m.err = true, answers, err
	if qs.last[q] == m {
		delete(qs.last, q)
	}
	close(m.done)
}

// answer makes an answer when it is its turn. Its place is given back when there is room for
// what was made.
func (qs *questions) answer(ctx context.Context, m, before *making, a asking) (map[format]written, error) {
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	free, err := m.turn.take(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	answers, err := guarded(ctx, a.work, qs.begin(m))
	if err != nil {
		return nil, err
	}
	return answers, qs.keep(ctx, m, a.gate, answers)
}

// begin gives the formats that those want who have joined; nobody does any more.
func (qs *questions) begin(m *making) []format {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	m.begun = true
	return m.formats
}

// keep waits for room for an answer that was made.
func (qs *questions) keep(ctx context.Context, m *making, g *gate, answers map[format]written) error {
	size := 0
	for _, given := range answers {
		size += len(given.body)
	}
	qs.mu.Lock()
	m.kept = g.keep(m.turn, size)
	qs.mu.Unlock()
	if m.kept == nil {
		return nil
	}
	drop, err := m.kept.take(ctx)
	if err != nil {
		return err
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if m.drop = drop; m.askers == 0 {
		drop()
	}
	return nil
}

// leave counts an asker out; nobody works or keeps anything for the last one.
func (qs *questions) leave(m *making, who asker) (others int) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	m.turn.leave(who)
	if m.kept != nil {
		m.kept.leave(asker{user: who.user}) // as which it was joined
	}
	if m.askers--; m.askers > 0 {
		return m.askers
	}
	m.begun = true
	m.cancel()
	if m.drop != nil {
		m.drop()
	}
	return 0
}

// guarded turns a panic into an error: no content may end the process.
func guarded(ctx context.Context, do work, formats []format) (answers map[format]written, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			klog.FromContext(ctx).Error(nil, "An answer panicked", "cause", cause, "stack", string(debug.Stack()))
			answers, err = nil, errPanic
		}
	}()
	return do(ctx, formats)
}

var errPanic = errors.New("the answer could not be made; the log of convoy-observer says why")
