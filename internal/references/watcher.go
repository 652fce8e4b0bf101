// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
)

// patience is how long an owner waits for the first answer to a new watch.
const patience = 2 * time.Second

// Watcher tells when an object that others, its owners, refer to comes, changes or goes. It
// watches the metadata of one kind in one namespace at a time, as long as an owner refers to
// something there. K identifies owners.
//
// Where it may not watch, it tells nothing: owners have to look from time to time as well.
type Watcher[K comparable] struct {
	logger klog.Logger
	client metadata.Interface
	notify func(owners []K)

	mu      sync.Mutex
	stopped bool
	// refused is true once it was logged that something must not be watched.
	refused bool
	watches map[scope]*watched[K]
	// tracked is what each owner refers to.
	tracked map[K][]Object
}

// scope is what one watch is of.
type scope struct{ kind, namespace string }

func (o Object) scope() scope { return scope{o.Kind, o.Namespace} }

// NewWatcher makes a Watcher that works until Stop. notify is called with the owners of an
// object that changed, from the goroutine of its watch, which stands still meanwhile.
func NewWatcher[K comparable](logger klog.Logger, client metadata.Interface, notify func(owners []K)) *Watcher[K] {
	return &Watcher[K]{
		logger: logger, client: client, notify: notify,
		watches: map[scope]*watched[K]{}, tracked: map[K][]Object{},
	}
}

// Track has the owner told of changes of these objects from now on, whether they exist or
// not, and of no others. It is to be called before they are read. It gives their state: while
// that is the same they are, as far as it is known.
//
// When a watch has to be begun first, Track waits for that, two seconds at most. What changes
// before a later beginning is told then.
func (w *Watcher[K]) Track(ctx context.Context, owner K, objects []Object) (state string) {
	for _, begun := range w.register(owner, objects) {
		begun.await(ctx)
	}
	return w.state(objects)
}

// register notes what the owner refers to, and gives the watches that have no answer yet.
func (w *Watcher[K]) register(owner K, objects []Object) []*watched[K] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return nil
	}
	var begun []*watched[K]
	for _, object := range objects {
		watch := w.watches[object.scope()]
		if watch == nil {
			watch = w.begin(object.scope())
		}
		watch.add(object.Name, owner)
		if !watch.isAnswered && !slices.Contains(begun, watch) {
			begun = append(begun, watch)
		}
	}
	w.drop(owner, objects)
	return begun
}

// drop ends the owner's interest in all objects but some.
func (w *Watcher[K]) drop(owner K, but []Object) {
	before := w.tracked[owner]
	if slices.Equal(before, but) {
		return
	}
	for _, object := range before {
		if slices.Contains(but, object) {
			continue
		}
		if watch := w.watches[object.scope()]; watch.remove(object.Name, owner) {
			watch.end()
			delete(w.watches, object.scope())
		}
	}
	if len(but) == 0 {
		delete(w.tracked, owner)
		return
	}
	w.tracked[owner] = slices.Clone(but)
}

func (w *Watcher[K]) state(objects []Object) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var state strings.Builder
	for _, object := range objects {
		version := "unknown"
		if watch := w.watches[object.scope()]; watch != nil && watch.versions != nil {
			version = watch.versions[object.Name]
		}
		fmt.Fprintln(&state, object, version)
	}
	return state.String()
}

// Forget ends the interest of an owner.
func (w *Watcher[K]) Forget(owner K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(owner, nil)
}

// Retain forgets all owners but those for which it is asked to keep them.
func (w *Watcher[K]) Retain(keep func(owner K) bool) {
	w.mu.Lock()
	owners := make([]K, 0, len(w.tracked))
	for owner := range w.tracked {
		owners = append(owners, owner)
	}
	w.mu.Unlock()
	for _, owner := range owners {
		if !keep(owner) {
			w.Forget(owner)
		}
	}
}

// Stop ends all watches. No new one begins.
func (w *Watcher[K]) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for _, watch := range w.watches {
		watch.end()
	}
}
