// SPDX-License-Identifier: Apache-2.0

package errands

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kumodo.io/convoy/internal/controller/base"
)

// turn is a place in line.
type turn struct {
	key      types.NamespacedName
	priority base.Priority
	// called is true once the key was enqueued for its turn.
	called bool
}

// errUnknown says that what a heavy errand comes to is not known.
var errUnknown = errors.New("it is not known")

// knownID is the ID of the light errand that asks for what a heavy one comes to.
type knownID struct{ of any }

// wait puts the key of a pass in line, unless what it wants is known.
func (e *Errands) wait(ctx context.Context, pass *Pass, errand Errand[any]) (any, error) {
	if errand.Known != nil {
		value, err := e.do(ctx, pass, Errand[any]{
			ID: knownID{errand.ID}, Patience: errand.Patience, Pending: errand.Pending,
			Do: func(ctx context.Context) (any, error) {
				value, ok, err := errand.Known(ctx)
				if !ok && err == nil {
					err = errUnknown
				}
				return value, err
			},
		})
		if !errors.Is(err, errUnknown) && !errors.Is(err, ErrUnfinished) {
			return value, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	unfinished := &Unfinished{pending: errand.Pending}
	pass.inLine, pass.pending = true, older(pass.pending, unfinished)
	if e.place(pass.key) < 0 {
		namespace := pass.key.Namespace
		e.lines[namespace] = append(e.lines[namespace], turn{key: pass.key, priority: pass.priority})
		e.call(namespace)
	}
	return nil, unfinished
}

// The methods below are for who holds mu.

// place is where in line a key is, -1 when it is not.
func (e *Errands) place(key types.NamespacedName) int {
	return slices.IndexFunc(e.lines[key.Namespace], func(t turn) bool { return t.key == key })
}

// mayBegin tells whether there is room for a heavy errand of a key, besides for those who are in
// line before it.
func (e *Errands) mayBegin(key types.NamespacedName) bool {
	before := e.place(key)
	if before < 0 {
		before = len(e.lines[key.Namespace])
	}
	return e.heavy[key.Namespace]+before < MostHeavy
}

// call enqueues those in line that there is room for. They keep their places until their passes
// begin what they wait for, or do not want it any more.
func (e *Errands) call(namespace string) {
	line := e.lines[namespace]
	for i := range line[:min(len(line), max(0, MostHeavy-e.heavy[namespace]))] {
		if t := &line[i]; !t.called {
			t.called = true
			e.Enqueue(t.key, t.priority)
		}
	}
}

func (e *Errands) leaveLine(key types.NamespacedName) {
	line := slices.DeleteFunc(e.lines[key.Namespace], func(t turn) bool { return t.key == key })
	if len(line) == 0 {
		delete(e.lines, key.Namespace)
		return
	}
	e.lines[key.Namespace] = line
}
