// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Put and Retain of two processes meet at one render as follows. Each says what it is about to
// do before it looks at what the other has said, so that at least one of them sees the other:
//
//	claim:  1 take the mark off    2 look for a removal   then look at the render
//	remove: A announce a removal   B look at the mark     C delete the render, its entry, the mark
//	                                                      D end the removal
//
//   - 2 before A: then 1 was before B. The removal finds no mark, or a new one that is not old
//     enough, and ends without deleting.
//   - 2 between A and D: the claim fails, and Put is tried again by whoever wants the render
//     stored. The mark is gone by then; a removal that has passed B is done with by then.
//   - 2 after D: what was deleted is gone before the claim looks at the render, which it finds
//     missing, and writes.
//
// One removal at a time has the announcement: that of another one is left alone. A process that
// dies between A and D leaves one behind. It counts for nothing when it is staleRemoval old,
// since no removal sends anything after removalLimit.
//
// This needs a place that shows what was written to it, at once and to all, as the object stores
// do, and clocks that differ by less than the two limits. Where the place knows no conditional
// writes, two removals of one render at once could both take themselves for the only one.

const (
	// removalLimit is how long a removal may take: some requests, each with its Patience.
	removalLimit = 5 * time.Minute
	// staleRemoval is when an announced removal is none any more. It is so much longer because
	// it is the place's clock that says since when there is one, and because of requests that
	// arrive late.
	staleRemoval = 30 * time.Minute
)

// claim takes a render as needed, whether it is there or not. ErrUnavailable is among the errors
// when another process is removing it.
func (s *Store) claim(ctx context.Context, key string) error {
	// A removal by this process is waited for.
	s.removal.RLock()
	defer s.removal.RUnlock()
	marked, err := s.exists(ctx, key+suffixUnneeded)
	if err == nil && marked {
		err = s.delete(ctx, key+suffixUnneeded)
	}
	if err != nil {
		return err
	}
	since, err := s.writtenAt(ctx, key+suffixRemoving)
	switch {
	case err != nil || since.IsZero():
		return err
	case time.Since(since) < staleRemoval:
		return fmt.Errorf("render %s is being removed from %s by another process, because nothing has needed it for long; it can be stored when that is done: %w",
			key, s.place.Name, ErrUnavailable)
	}
	return s.delete(ctx, key+suffixRemoving)
}

// remove removes a render whose mark is still there, and still old enough. Errors leave the
// announcement, since a request that failed may be carried out yet, and the mark, which goes
// last: what is left behind is removed later.
func (s *Store) remove(ctx context.Context, key string, before time.Time) (removed bool, err error) {
	s.removal.Lock()
	defer s.removal.Unlock()
	ctx, cancel := context.WithTimeout(ctx, removalLimit)
	defer cancel()
	if ours, err := s.announce(ctx, key+suffixRemoving); err != nil || !ours {
		return false, err
	}
	since, err := s.writtenAt(ctx, key+suffixUnneeded)
	if err != nil {
		return false, err
	}
	var suffixes []string
	if removed = !since.IsZero() && since.Before(before); removed {
		suffixes = []string{suffixRender, suffixEntry, suffixUnneeded}
	}
	for _, suffix := range append(suffixes, suffixRemoving) {
		if err := s.delete(ctx, key+suffix); err != nil {
			return false, err
		}
	}
	return removed, nil
}

// announce says that a render is being removed, and tells whether it is this process that does
// it. What another one left behind is taken away, and the removal left to the next time: two
// that did both at once could take away each other's.
func (s *Store) announce(ctx context.Context, key string) (ours bool, err error) {
	mine := rand.Text()
	if err := s.create(ctx, key, []byte(mine)); err != nil {
		return false, err
	}
	found, err := s.look(ctx, key)
	switch {
	case errors.Is(err, errMissing):
		return false, nil // another one's, which has just ended
	case err != nil:
		return false, err
	case string(found) == mine:
		return true, nil
	}
	since, err := s.writtenAt(ctx, key)
	if err == nil && !since.IsZero() && time.Since(since) >= staleRemoval {
		err = s.delete(ctx, key)
	}
	return false, err
}
