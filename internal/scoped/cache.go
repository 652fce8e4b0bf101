// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Options are the settings of a Cache.
type Options[S comparable] struct {
	// Name of the kind, in logs and metrics. Required.
	Name string
	// Example is an object of the kind. Required.
	Example runtime.Object
	// ListWatch gives what lists and watches the objects of a scope. Required.
	ListWatch func(scope S) cache.ListerWatcher
	// Transform is applied to each object before it is kept, perhaps twice; nil: none is.
	Transform cache.TransformFunc
	// Resync is how often each object is told of although it did not change; 0: never.
	Resync time.Duration
}

// Cache has the objects of one kind that are in the scopes that were begun and are shown. To
// its readers it is what an informer is. Handlers are called one after the other while nothing
// else changes in the Cache: they must be quick, and must not begin, show or end a scope.
type Cache[S comparable] struct {
	o       Options[S]
	indexer cache.Indexer
	running sync.WaitGroup

	// mu orders what changes and the events of it. No reader needs it, so that handlers, and who
	// holds a lock that they need, may read.
	mu       sync.Mutex
	handlers []cache.ResourceEventHandler
	parts    map[S]*part[S]
}

// New makes a Cache without scopes.
func New[S comparable](o Options[S]) *Cache[S] {
	if o.Transform == nil {
		o.Transform = func(object any) (any, error) { return object, nil }
	}
	return &Cache[S]{
		o: o, parts: map[S]*part[S]{},
		indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
	}
}

// GetIndexer gives the objects of all scopes that are shown. Who writes into it is a test.
func (c *Cache[S]) GetIndexer() cache.Indexer { return c.indexer }

// AddIndexers adds indexes.
func (c *Cache[S]) AddIndexers(indexers cache.Indexers) error { return c.indexer.AddIndexers(indexers) }

// AddEventHandler has the handler told of changes, and first of what is there. A scope that is
// shown comes as additions of an initial list; one that is ended goes without a word, because
// its objects are not gone.
func (c *Cache[S]) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers = append(c.handlers, handler)
	for _, object := range c.indexer.List() {
		handler.OnAdd(object, true)
	}
	return registration[S]{c}, nil
}

// Len is how many objects there are.
func (c *Cache[S]) Len() int { return len(c.indexer.ListKeys()) }

// Name of the kind.
func (c *Cache[S]) Name() string { return c.o.Name }

// Begin watches the objects of a scope until ctx ends or the scope is ended, which is to come
// in any case. The channel is closed when all of them are known; until then, and until Show
// unless shown is true, they are not in the Cache. A scope that was begun before is left as it
// is.
func (c *Cache[S]) Begin(ctx context.Context, scope S, shown bool) (whole <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.parts[scope]; p != nil {
		return p.whole
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &part[S]{cache: c, cancel: cancel, whole: make(chan struct{}), objects: map[string]any{}, shown: shown}
	c.parts[scope] = p
	logger := klog.FromContext(ctx)
	reflector := cache.NewReflectorWithOptions(c.o.ListWatch(scope), c.o.Example, p, cache.ReflectorOptions{
		Logger: &logger, Name: fmt.Sprintf("%s of %v", c.o.Name, scope), ResyncPeriod: c.o.Resync,
	})
	c.running.Go(func() { reflector.RunWithContext(ctx) })
	return p.whole
}

// Show lets what is known of a scope, and is to be known, be seen.
func (c *Cache[S]) Show(scope S) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.parts[scope]
	if p == nil || p.shown {
		return
	}
	p.shown = true
	for key, object := range p.objects {
		c.put(key, object, nil, true)
	}
}

// End ends the watch of a scope and forgets its objects. Nobody is told of that.
func (c *Cache[S]) End(scope S) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.parts[scope]
	if p == nil {
		return
	}
	p.cancel()
	p.ended = true
	delete(c.parts, scope)
	if !p.shown {
		return
	}
	for key, object := range p.objects {
		if other := c.shownElsewhere(key); other != nil {
			_ = c.indexer.Update(other) // the key function never fails for what has a key
			continue
		}
		_ = c.indexer.Delete(object)
	}
}

// Whole tells whether all objects of a scope are known and seen.
func (c *Cache[S]) Whole(scope S) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.parts[scope]
	return p != nil && p.shown && p.isWhole
}

// Wait returns when all watches have ended.
func (c *Cache[S]) Wait() { c.running.Wait() }

// The methods below are called with the lock held.

// put brings a state of an object that a scope tells of in, in place of before, which the same scope
// told of last, or nil. Of an object that two scopes tell of, because it moves between them, the newer
// state stands. Of one it is the last that was told: a host that was restored has older ones.
func (c *Cache[S]) put(key string, object, before any, initial bool) {
	known, exists, _ := c.indexer.GetByKey(key)
	if exists && known != before && older(object, known) {
		return
	}
	_ = c.indexer.Update(object)
	for _, handler := range c.handlers {
		if exists {
			handler.OnUpdate(known, object)
		} else {
			handler.OnAdd(object, initial)
		}
	}
}

// take takes an object out that a scope has no more; gone is what handlers are told. One that
// another scope has stays as it is, until that tells of it.
func (c *Cache[S]) take(key string, gone any) {
	known, exists, _ := c.indexer.GetByKey(key)
	if !exists || c.shownElsewhere(key) != nil {
		return
	}
	_ = c.indexer.Delete(known)
	for _, handler := range c.handlers {
		handler.OnDelete(gone)
	}
}

// shownElsewhere gives the newest state that shown scopes have of an object, nil when none has.
func (c *Cache[S]) shownElsewhere(key string) any {
	var newest any
	for _, p := range c.parts {
		if object, ok := p.objects[key]; ok && p.shown && (newest == nil || older(newest, object)) {
			newest = object
		}
	}
	return newest
}

// older compares resource versions, which an API server issues in rising order. Those that are
// no numbers are not comparable, and who comes later is believed.
func older(a, b any) bool {
	one, err := meta.Accessor(a)
	if err != nil {
		return false
	}
	other, err := meta.Accessor(b)
	if err != nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(one.GetResourceVersion(), other.GetResourceVersion())
	return err == nil && order < 0
}

// registration tells of the scopes that were begun.
type registration[S comparable] struct{ cache *Cache[S] }

// HasSynced tells whether all objects of all scopes are known. Handlers have been told of them
// then, if the scopes are shown.
func (r registration[S]) HasSynced() bool { return cache.IsDone(r.HasSyncedChecker()) }

// HasSyncedChecker gives a channel that is closed when the scopes that have been begun are
// known: of the first that is not, or one that is closed.
func (r registration[S]) HasSyncedChecker() cache.DoneChecker {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	for _, p := range r.cache.parts {
		if !p.isWhole {
			return known{r.cache.o.Name, p.whole}
		}
	}
	closed := make(chan struct{})
	close(closed)
	return known{r.cache.o.Name, closed}
}

type known struct {
	name string
	done <-chan struct{}
}

func (k known) Name() string          { return k.name }
func (k known) Done() <-chan struct{} { return k.done }

// transformed gives objects as they are kept, by key.
func (c *Cache[S]) transformed(objects []any) (keys []string, byKey map[string]any, err error) {
	keys, byKey = make([]string, 0, len(objects)), make(map[string]any, len(objects))
	for _, object := range objects {
		kept, err := c.o.Transform(object)
		if err != nil {
			return nil, nil, err
		}
		key, err := cache.MetaNamespaceKeyFunc(kept)
		if err != nil {
			return nil, nil, err
		}
		keys, byKey[key] = append(keys, key), kept
	}
	return slices.Clip(keys), byKey, nil
}
