// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"time"

	"gocloud.dev/blob"
)

// Kept is what is stored of one Release.
type Kept struct {
	Namespace, Name string
	Renders         []Stored
}

// Stored is one render in the store.
type Stored struct {
	Digest string
	// At is when it was stored, by the clock of the place; zero when only traces are left.
	At time.Time
	// Size in bytes, as it is stored.
	Size int64
	// UnneededSince is since when nothing needs it, as far as Retain was told; zero: it is
	// needed.
	UnneededSince time.Time
}

// Due tells whether the render has been unneeded since before the given time.
func (r Stored) Due(before time.Time) bool {
	return !r.UnneededSince.IsZero() && r.UnneededSince.Before(before)
}

// Walk lists everything that is stored for the installation, Release by Release. A Release
// may come in several parts. It ends with the first error.
func (s *Store) Walk(ctx context.Context) iter.Seq2[Kept, error] {
	return s.walk(ctx, root(s.options.Installation))
}

func (s *Store) walk(ctx context.Context, prefix string) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		var kept Kept
		for listed, err := range s.list(ctx, prefix) {
			if err != nil {
				yield(Kept{}, err)
				return
			}
			key, ok := s.parseKey(listed.Key)
			if !ok {
				continue
			}
			if kept.Namespace != key.namespace || kept.Name != key.name {
				if len(kept.Renders) > 0 && !yield(kept, nil) {
					return
				}
				kept = Kept{Namespace: key.namespace, Name: key.name}
			}
			kept.add(key, listed)
		}
		if len(kept.Renders) > 0 {
			yield(kept, nil)
		}
	}
}

// mostLists is how often one page is asked for, when others take away meanwhile what is on it:
// directories are listed first, and then looked at file by file.
const mostLists = 100

// list gives what is under a prefix.
func (s *Store) list(ctx context.Context, prefix string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		for token := blob.FirstPageToken; len(token) > 0; {
			page, next, err := s.page(ctx, prefix, token)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, listed := range page {
				if !yield(listed, nil) {
					return
				}
			}
			token = next
		}
	}
}

// page gives one page of a list, and the token of the next one, none for the last.
func (s *Store) page(ctx context.Context, prefix string, token []byte) (listed []*blob.ListObject, next []byte, err error) {
	for n := 1; ; n++ {
		bounded, limit := s.bounded(ctx, 0)
		listed, next, err = s.bucket.ListPage(bounded, token, pageSize, &blob.ListOptions{Prefix: prefix})
		again := n < mostLists && errors.Is(err, fs.ErrNotExist) && s.missing(err)
		if err != nil {
			err = s.failure(bounded, "listing "+prefix, err)
		}
		limit.end()
		if !again {
			return listed, next, err
		}
	}
}

// pageSize is how many keys are listed at once, as many as object stores give.
const pageSize = 1000

func (k *Kept) add(key parsedKey, listed *blob.ListObject) {
	i := slices.IndexFunc(k.Renders, func(stored Stored) bool { return stored.Digest == key.digest })
	if i < 0 {
		i = len(k.Renders)
		k.Renders = append(k.Renders, Stored{Digest: key.digest})
	}
	switch key.suffix {
	case suffixRender:
		k.Renders[i].At, k.Renders[i].Size = listed.ModTime, listed.Size
	case suffixUnneeded:
		k.Renders[i].UnneededSince = listed.ModTime
	}
}

// Retained counts what Retain did.
type Retained struct {
	// Marked is how many renders are unneeded as of now, Reclaimed how many are needed again,
	// Removed how many were removed.
	Marked, Reclaimed, Removed int
}

// Retain is told which renders of a Release are needed. Others are marked, and those removed
// that were marked before the given time and are unneeded still. Others may do the same, or put
// renders, at the same time. Errors: ErrReadOnly, ErrUnavailable; what is not done then is done
// by the next call.
func (s *Store) Retain(ctx context.Context, kept Kept, needed func(digest string) bool, before time.Time) (done Retained, err error) {
	if s.options.ReadOnly {
		return done, ErrReadOnly
	}
	for _, stored := range kept.Renders {
		key, err := s.keyOf(kept.Namespace, kept.Name, stored.Digest)
		if err != nil {
			return done, err
		}
		marked := !stored.UnneededSince.IsZero()
		switch {
		case needed(stored.Digest) && marked:
			err = s.delete(ctx, key+suffixUnneeded)
			done.Reclaimed++
		case needed(stored.Digest):
		case !marked:
			err = s.create(ctx, key+suffixUnneeded, []byte("unneeded\n"))
			done.Marked++
		case stored.Due(before):
			var removed bool
			if removed, err = s.remove(ctx, key, before); removed {
				done.Removed++
			}
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
