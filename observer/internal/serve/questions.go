// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// question is all that an answer depends on but the time.
type question struct {
	kind    string
	release types.NamespacedName
	query   string
	format  format
	// reader is who the target is read as; empty where that is the Release's identity.
	reader string
}

// questions has equal questions answered together. An answer never begins before the question
// was asked, so that who has just changed something sees it: those who ask while an answer is
// being made share the one that begins when it is done. However many ask, two answers are
// made in the time of one, one after the other.
type questions struct {
	mu   sync.Mutex
	last map[question]*making
}

// making is an answer that is waited for, being made, or being read.
type making struct {
	// done is closed when the answer is there, or the error.
	done chan struct{}
	body []byte
	err  error

	cancel context.CancelFunc
	// begun is set when nobody may join any more.
	begun bool
	// askers wait for the answer or read it.
	askers int
	// drop gives back the room that the answer takes; nil while there is none.
	drop func()
}

// work makes an answer. It calls begin as soon as it does anything that questions which come
// later must not share, and gives the room that the body takes back with drop.
type work func(ctx context.Context, begin func()) (body []byte, drop func(), err error)

// ask gives the answer to a question that begins from now on. admit is asked before another
// one is made. Whoever has an answer calls leave when he has read it.
func (qs *questions) ask(ctx context.Context, q question, admit func() error, do work) (body []byte, leave func(), err error) {
	m, err := qs.join(ctx, q, admit, do)
	if err != nil {
		return nil, nil, err
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		return nil, nil, qs.giveUp(ctx, m)
	}
	if m.err != nil {
		qs.leave(m)
		return nil, nil, m.err
	}
	return m.body, func() { qs.leave(m) }, nil
}

// giveUp is why there is no answer for who asks no longer.
func (qs *questions) giveUp(ctx context.Context, m *making) error {
	qs.mu.Lock()
	begun := m.begun
	qs.mu.Unlock()
	others := qs.leave(m)
	switch {
	case begun:
		return ctx.Err()
	case others > 0:
		return fmt.Errorf("%w; ask again later", errBusy)
	}
	<-m.done // what waits ends with its last asker, and says for what it waited
	return cmp.Or(m.err, ctx.Err())
}

// join finds the answer that is yet to begin, or has another one made.
func (qs *questions) join(ctx context.Context, q question, admit func() error, do work) (*making, error) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	before := qs.last[q]
	if before != nil && !before.begun {
		before.askers++
		return before, nil
	}
	if err := admit(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &making{done: make(chan struct{}), cancel: cancel, askers: 1}
	if qs.last == nil {
		qs.last = map[question]*making{}
	}
	qs.last[q] = m
	go qs.make(ctx, q, m, before, do)
	return m, nil
}

// make has an answer made when the one before is done.
func (qs *questions) make(ctx context.Context, q question, m, before *making, do work) {
	var body []byte
	var drop func()
	err := ctx.Err()
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			err = fmt.Errorf("%w: the same is being answered; ask again later", errBusy)
		}
	}
	if err == nil {
		body, drop, err = guarded(ctx, do, func() { qs.begin(m) })
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	m.begun, m.body, m.err, m.drop = true, body, err, drop
	if qs.last[q] == m {
		delete(qs.last, q)
	}
	if m.askers == 0 && drop != nil {
		m.drop()
	}
	close(m.done)
}

func (qs *questions) begin(m *making) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	m.begun = true
}

// leave counts an asker out; nobody works or keeps anything for the last one.
func (qs *questions) leave(m *making) (others int) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
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
func guarded(ctx context.Context, do work, begin func()) (body []byte, drop func(), err error) {
	defer func() {
		if cause := recover(); cause != nil {
			klog.FromContext(ctx).Error(nil, "An answer panicked", "cause", cause, "stack", string(debug.Stack()))
			body, drop, err = nil, nil, errPanic
		}
	}()
	return do(ctx, begin)
}

var errPanic = errors.New("the answer could not be made; the log of convoy-observer says why")
