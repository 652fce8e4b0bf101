// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"

	"k8s.io/client-go/tools/cache"
)

// part is what a Cache has of one scope. It is the store that the scope's reflector fills.
type part[S comparable] struct {
	cache  *Cache[S]
	cancel context.CancelFunc
	whole  chan struct{} // closed when all objects are known

	// What follows is guarded by the Cache.

	objects map[string]any // all that are known, by key
	isWhole bool
	shown   bool
	ended   bool
}

// Add is called by the reflector for an object that came into the scope.
func (p *part[S]) Add(object any) error {
	keys, kept, err := p.cache.transformed([]any{object})
	if err != nil {
		return err
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	if p.ended {
		return nil
	}
	key := keys[0]
	before := p.objects[key]
	p.objects[key] = kept[key]
	if p.shown {
		p.cache.put(key, kept[key], before, false)
	}
	return nil
}

// Update is called by the reflector for a changed object.
func (p *part[S]) Update(object any) error { return p.Add(object) }

// Delete is called by the reflector for an object that is gone, or left the scope.
func (p *part[S]) Delete(object any) error {
	key, err := cache.MetaNamespaceKeyFunc(object)
	if err != nil {
		return err
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	if _, ok := p.objects[key]; !ok || p.ended {
		return nil
	}
	delete(p.objects, key)
	if p.shown {
		p.cache.take(key, object)
	}
	return nil
}

// Replace is called by the reflector with all objects, first and whenever it may have missed
// something.
func (p *part[S]) Replace(objects []any, _ string) error {
	keys, fresh, err := p.cache.transformed(objects)
	if err != nil {
		return err
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	if p.ended {
		return nil
	}
	before, initial := p.objects, !p.isWhole
	p.objects = fresh
	if p.shown {
		for _, key := range keys {
			p.cache.put(key, fresh[key], before[key], initial)
		}
		for key, object := range before {
			if _, ok := fresh[key]; ok {
				continue
			}
			if known, _, _ := p.cache.indexer.GetByKey(key); known == object {
				if other := p.cache.shownElsewhere(key); other != nil {
					p.cache.put(key, other, known, initial) // it is back there, on a host that was restored
					continue
				}
			}
			p.cache.take(key, cache.DeletedFinalStateUnknown{Key: key, Obj: object})
		}
	}
	if initial {
		p.isWhole = true
		close(p.whole)
	}
	return nil
}

// Resync is called by the reflector when each object is to be told of again.
func (p *part[S]) Resync() error {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	for key, object := range p.objects {
		if known, _, _ := p.cache.indexer.GetByKey(key); known != object {
			continue // it is not shown, or another scope has a newer state
		}
		for _, handler := range p.cache.handlers {
			handler.OnUpdate(object, object)
		}
	}
	return nil
}

// Transformer is what the reflector applies to objects that it gathers.
func (p *part[S]) Transformer() cache.TransformFunc { return p.cache.o.Transform }
