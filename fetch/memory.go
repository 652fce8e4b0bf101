// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"container/list"
	"sync"
	"time"
)

// answer is what a source said, or how asking it failed.
type answer struct {
	value any
	err   error
	// at is when the source was asked for a value, and when a failure was seen; where a
	// remembered answer led to the failure, the time of that.
	at time.Time
	// asked is when asking began. It is at, but for a failure that took its time.
	asked time.Time
	// until is how long it stands although it is a failure or does not suffice.
	until time.Time
	// host says that the failure is one of the host, whatever it is asked for.
	host bool
	size int64
}

// memory keeps answers, the most recently used ones, up to a number of bytes.
type memory struct {
	max int64

	mu      sync.Mutex
	used    int64
	recent  *list.List // of *remembered
	entries map[string]*list.Element
}

type remembered struct {
	key    string
	answer answer
}

func newMemory(max int64) *memory {
	return &memory{max: max, recent: list.New(), entries: map[string]*list.Element{}}
}

func (m *memory) recall(key string) (answer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok {
		return answer{}, false
	}
	m.recent.MoveToFront(e)
	return e.Value.(*remembered).answer, true
}

func (m *memory) keep(key string, a answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.entries[key]; ok {
		m.drop(e)
	}
	m.entries[key] = m.recent.PushFront(&remembered{key: key, answer: a})
	m.used += a.size
	// The newest stays, however large: its asker is about to use it.
	for m.used > m.max && m.recent.Len() > 1 {
		m.drop(m.recent.Back())
	}
}

func (m *memory) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.entries[key]; ok {
		m.drop(e)
	}
}

func (m *memory) bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

func (m *memory) drop(e *list.Element) {
	r := m.recent.Remove(e).(*remembered)
	delete(m.entries, r.key)
	m.used -= r.answer.size
}
