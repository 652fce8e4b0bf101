// SPDX-License-Identifier: Apache-2.0

package release

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// latest remembers what this process wrote until its informer has caught up: a pass that
// begins in between would otherwise repeat, from an outdated copy, what the one before did.
type latest[T metav1.Object] struct {
	mu      sync.Mutex
	written map[types.NamespacedName]T
}

// wrote remembers the answer to a write.
func (l *latest[T]) wrote(object T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written == nil {
		l.written = map[types.NamespacedName]T{}
	}
	l.written[nameOf(object)] = object
}

// newest gives the newer of the cached object and what was written of it. Both are shared.
func (l *latest[T]) newest(cached T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	written, ok := l.written[nameOf(cached)]
	if !ok {
		return cached
	}
	if written.GetUID() == cached.GetUID() && older(cached.GetResourceVersion(), written.GetResourceVersion()) {
		return written
	}
	delete(l.written, nameOf(cached))
	return cached
}

// absent gives what was written of an object that the cache does not have. The caller says
// whether it can be that the cache has not seen it yet.
func (l *latest[T]) absent(name types.NamespacedName) (written T, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	written, ok = l.written[name]
	return written, ok
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
