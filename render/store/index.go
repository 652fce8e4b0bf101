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
	"k8s.io/klog/v2"
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
	// Stored is the digest of the render as it is stored, encrypted or not. Older entries have
	// none.
	Stored string `json:"stored,omitempty"`
}

func encodeEntry(r held) ([]byte, error) {
	return json.Marshal(entry{
		Schema: entrySchema, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
		Digest: r.Result.Digest, Revision: r.Revision, Objects: len(r.Result.Objects), Stored: r.sum,
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
// that is not there, or damaged, leaves the fields that are its own empty.
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
			switch {
			case errors.Is(err, errMissing):
			case errors.Is(err, ErrCorrupt), errors.Is(err, ErrTooLarge):
				// The render may be good, and so are the others. Put writes the entry anew.
				klog.FromContext(ctx).Info("An entry of the render store's index cannot be read", "err", err)
			case err != nil:
				return nil, err
			}
			entries = append(entries, Entry{Stored: stored, UID: found.UID, Revision: found.Revision, Objects: found.Objects})
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Digest, b.Digest)) })
	return entries, nil
}

// entry reads an entry of the index. Errors: errMissing, ErrCorrupt, ErrTooLarge, and those of
// requests.
func (s *Store) entry(ctx context.Context, key string) (entry, error) {
	content, err := s.look(ctx, key)
	if err != nil {
		return entry{}, err
	}
	var found entry
	if err := json.Unmarshal(content, &found); err != nil || found.Schema != entrySchema {
		return entry{}, fmt.Errorf("index entry %s in %s: %w", key, s.place.Name, ErrCorrupt)
	}
	return found, nil
}
