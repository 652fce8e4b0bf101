// SPDX-License-Identifier: Apache-2.0

package compare

import "sync"

// Once has values that are made once in a pass, by key. The zero value is ready for use, by many
// goroutines.
type Once[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]func() V
}

// Get gives the value of a key. It is made by the first who asks, for whom others wait.
func (o *Once[K, V]) Get(key K, value func() V) V {
	o.mu.Lock()
	if o.known == nil {
		o.known = map[K]func() V{}
	}
	if o.known[key] == nil {
		o.known[key] = sync.OnceValue(value)
	}
	get := o.known[key]
	o.mu.Unlock()
	return get()
}
