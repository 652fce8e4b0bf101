// SPDX-License-Identifier: Apache-2.0

// Package store keeps trees in memory, shares equal files between them, and forgets the
// least recently used when they take too much.
package store

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"weak"

	"kumodo.io/convoy/fetch/internal/tree"
)

// Store is a bounded set of trees. It is safe for concurrent use.
//
// A tree that someone still reads is never taken away from them: forgetting only drops the
// store's own reference. As long as a forgotten tree is in use it is also still found, so
// that it is not fetched a second time.
type Store struct {
	max int64

	mu      sync.Mutex
	used    int64
	evicted int64
	recent  *list.List // of *entry, most recently used first
	entries map[string]*list.Element
	blobs   map[[sha256.Size]byte]*blob
	inUse   map[string]weak.Pointer[tree.Tree]
}

type entry struct {
	key  string
	tree *tree.Tree
}

type blob struct {
	content []byte
	// users counts the files of kept trees with this content.
	users int
}

// New returns a Store that holds up to max bytes.
func New(max int64) *Store {
	return &Store{max: max, recent: list.New(), entries: map[string]*list.Element{},
		blobs: map[[sha256.Size]byte]*blob{}, inUse: map[string]weak.Pointer[tree.Tree]{}}
}

// Get returns the tree that was put under key, nil when it is not held any more.
func (s *Store) Get(key string) *tree.Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.entries[key]; ok {
		s.recent.MoveToFront(e)
		return e.Value.(*entry).tree
	}
	if pointer, ok := s.inUse[key]; ok {
		return pointer.Value()
	}
	return nil
}

// Content returns the content of a file of a kept tree by its digest, nil when there is
// none. Whoever asks has to know otherwise that it may be given to its user.
func (s *Store) Content(sum [sha256.Size]byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.blobs[sum]; ok {
		return b.content
	}
	return nil
}

// Put keeps a tree that nobody else reads yet.
func (s *Store) Put(key string, t *tree.Tree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.entries[key]; ok {
		s.drop(e)
	}
	if t.Bytes()+t.Overhead() > s.max {
		// Keeping it would drop everything else and then itself.
		s.lend(key, t)
		return
	}
	t.Share(func(sum [sha256.Size]byte, content []byte) []byte {
		b, ok := s.blobs[sum]
		if !ok {
			b = &blob{content: content}
			s.blobs[sum] = b
			s.used += int64(len(content))
		}
		b.users++
		return b.content
	})
	s.used += t.Overhead()
	s.entries[key] = s.recent.PushFront(&entry{key: key, tree: t})
	delete(s.inUse, key)
	for s.used > s.max && s.recent.Len() > 0 {
		s.evicted++
		s.drop(s.recent.Back())
	}
}

// Evicted returns how many trees were forgotten for want of room.
func (s *Store) Evicted() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evicted
}

func (s *Store) drop(e *list.Element) {
	dropped := s.recent.Remove(e).(*entry)
	delete(s.entries, dropped.key)
	s.used -= dropped.tree.Overhead()
	dropped.tree.Contents(func(sum [sha256.Size]byte, content []byte) {
		b := s.blobs[sum]
		if b.users--; b.users == 0 {
			delete(s.blobs, sum)
			s.used -= int64(len(content))
		}
	})
	s.lend(dropped.key, dropped.tree)
}

// lend remembers a tree for as long as someone else holds it.
func (s *Store) lend(key string, t *tree.Tree) {
	for key, pointer := range s.inUse {
		if pointer.Value() == nil {
			delete(s.inUse, key)
		}
	}
	s.inUse[key] = weak.Make(t)
}

// Usage returns how many trees are kept and how many bytes they take.
func (s *Store) Usage() (trees int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries), s.used
}
