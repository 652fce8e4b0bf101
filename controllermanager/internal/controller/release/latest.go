// SPDX-License-Identifier: Apache-2.0

package release

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// latest remembers what this process wrote until its informer has caught up: a pass that
// begins in between would otherwise repeat, from an outdated copy, what the one before did.
type latest[T written] struct {
	mu      sync.Mutex
	written map[types.NamespacedName]T
}

// written is a pointer to an object.
type written interface {
	comparable
	metav1.Object
}

// wrote remembers the answer to a write, without its managed fields: they are half of it, and
// the informer's objects have none either.
func (l *latest[T]) wrote(object T) {
	object.SetManagedFields(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written == nil {
		l.written = map[types.NamespacedName]T{}
	}
	l.written[nameOf(object)] = object
}

// newest gives the newer of the cached object and what was written of it, nil when there is
// neither. Both are shared. cached reads the cache, with what was written locked: what the
// informer has dropped of it is in the cache.
func (l *latest[T]) newest(name types.NamespacedName, cached func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, none := cached(), *new(T)
	written, ok := l.written[name]
	switch {
	case !ok:
		return known
	case known == none, written.GetUID() == known.GetUID() && older(known.GetResourceVersion(), written.GetResourceVersion()):
		return written
	}
	delete(l.written, name)
	return known
}

// caughtUp drops what was written of an object that the informer has in this state, unless that
// is older.
func (l *latest[T]) caughtUp(informed T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if written, ok := l.written[nameOf(informed)]; ok && !older(informed.GetResourceVersion(), written.GetResourceVersion()) {
		delete(l.written, nameOf(informed))
	}
}

// onInformed drops what need not be remembered any more.
func (l *latest[T]) onInformed() cache.ResourceEventHandler {
	informed := func(object any) {
		if object, ok := object.(T); ok {
			l.caughtUp(object)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: informed, UpdateFunc: func(_, object any) { informed(object) }}
}

// forget drops what is remembered of an object.
func (l *latest[T]) forget(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.written, name)
}

// older compares resource versions, which an API server issues in rising order. Those that
// are no numbers are not comparable, and the cache is trusted.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}
