// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// entrySchema names the form of an index entry. Another form gets another name.
const entrySchema = "convoy.kumodo.io/render-index/1"

// entry is what the index says of a render. It is in clear, and holds nothing of its content.
type entry struct {
	Schema    string    `json:"schema"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
	Digest    string    `json:"digest"`
	Revision  string    `json:"revision,omitempty"`
	Objects   int       `json:"objects"`
}

func encodeEntry(r Record) ([]byte, error) {
	return json.Marshal(entry{
		Schema: entrySchema, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
		Digest: r.Result.Digest, Revision: r.Revision, Objects: len(r.Result.Objects),
	})
}

// Entry is a render as the index of its Release has it.
type Entry struct {
	Stored
	// UID of the Release, and Revision of the source, when it was stored.
	UID      types.UID
	Revision string
	// Objects counts them, hooks not included.
	Objects int
}

// Index gives the stored renders of a Release, newest first. It reads an entry for each; one
// that is not there leaves the fields that are its own empty.
func (s *Store) Index(ctx context.Context, namespace, name string) ([]Entry, error) {
	prefix, err := s.releaseKey(namespace, name)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for kept, err := range s.walk(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		for _, stored := range kept.Renders {
			if stored.At.IsZero() {
				continue
			}
			found, err := s.entry(ctx, prefix+stored.Digest[len("sha256:"):]+suffixEntry)
			if err != nil {
				return nil, err
			}
			entries = append(entries, Entry{Stored: stored, UID: found.UID, Revision: found.Revision, Objects: found.Objects})
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Digest, b.Digest)) })
	return entries, nil
}

func (s *Store) entry(ctx context.Context, key string) (found entry, err error) {
	content, err := s.read(ctx, key)
	if errors.Is(err, errMissing) {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, err
	}
	if err := json.Unmarshal(content, &found); err != nil || found.Schema != entrySchema {
		return entry{}, fmt.Errorf("index entry %s in %s: %w", key, s.place.Name, ErrCorrupt)
	}
	return found, nil
}
