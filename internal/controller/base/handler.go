// SPDX-License-Identifier: Apache-2.0

package base

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Enqueuer takes keys; a Controller is one.
type Enqueuer[K comparable] interface {
	Enqueue(key K, p Priority)
}

// Events says which keys an object of an informer stands for.
type Events[T any, K comparable] struct {
	// Keys of an object. For an update the keys of both its states are enqueued. Required.
	Keys func(object T) []K
	// Changed says whether an update is worth a reconcile; nil: every update is. It is not
	// asked about additions, deletions and resyncs (updates that change nothing).
	Changed func(old, object T) bool
	// Resync says whether a resync of an object is worth a reconcile; nil: every one is.
	Resync func(object T) bool
	// Priority of an addition (old is the zero value then) or update; nil: PriorityChange.
	// The objects that were there before the informer started and resyncs come with
	// PriorityResync, unless Priority says PriorityRequest of the former.
	Priority func(old, object T) Priority
}

// Handler enqueues what Events says of an informer's events. T is the type that the
// informer delivers, such as *Release. Deletions of which the informer learned late
// (cache.DeletedFinalStateUnknown) are deletions like any other. An object of a type other
// than T is logged and left out.
func Handler[T any, K comparable](c Enqueuer[K], e Events[T, K]) cache.ResourceEventHandler {
	return handler[T, K]{c: c, events: e}
}

// Single makes the Keys of Events from a function that gives the one key of an object.
func Single[T any, K comparable](keyOf func(object T) K) func(object T) []K {
	return func(object T) []K { return []K{keyOf(object)} }
}

type handler[T any, K comparable] struct {
	c      Enqueuer[K]
	events Events[T, K]
}

// OnAdd is called by the informer for a new object.
func (h handler[T, K]) OnAdd(obj any, isInInitialList bool) {
	object, ok := typed[T](obj)
	if !ok {
		return
	}
	var none T
	p := h.priority(none, object)
	if isInInitialList && p < PriorityRequest {
		p = PriorityResync
	}
	h.enqueue(object, p)
}

// OnUpdate is called by the informer for a changed object and for each at a resync.
func (h handler[T, K]) OnUpdate(oldObj, newObj any) {
	old, ok := typed[T](oldObj)
	object, okNew := typed[T](newObj)
	switch {
	case !ok || !okNew:
	case sameVersion(oldObj, newObj):
		if h.events.Resync == nil || h.events.Resync(object) {
			h.enqueue(object, PriorityResync)
		}
	case h.events.Changed == nil || h.events.Changed(old, object):
		p := h.priority(old, object)
		h.enqueue(old, p)
		h.enqueue(object, p)
	}
}

// OnDelete is called by the informer for an object that is gone.
func (h handler[T, K]) OnDelete(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if object, ok := typed[T](obj); ok {
		h.enqueue(object, PriorityChange)
	}
}

func (h handler[T, K]) priority(old, object T) Priority {
	if h.events.Priority == nil {
		return PriorityChange
	}
	return h.events.Priority(old, object)
}

func (h handler[T, K]) enqueue(object T, p Priority) {
	for _, key := range h.events.Keys(object) {
		h.c.Enqueue(key, p)
	}
}

func typed[T any](obj any) (T, bool) {
	object, ok := obj.(T)
	if !ok {
		var want T
		klog.Background().Error(nil, "An informer delivered an object of another type",
			"want", fmt.Sprintf("%T", want), "got", fmt.Sprintf("%T", obj))
	}
	return object, ok
}

// sameVersion says whether both are the same state of one object.
func sameVersion(a, b any) bool {
	one, err := meta.Accessor(a)
	if err != nil {
		return false
	}
	other, err := meta.Accessor(b)
	if err != nil {
		return false
	}
	return one.GetUID() == other.GetUID() && one.GetResourceVersion() != "" &&
		one.GetResourceVersion() == other.GetResourceVersion()
}
