// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/age"
	"gocloud.dev/blob"
)

// Place is where a store keeps its renders.
type Place struct {
	// Bucket holds them. The Store closes it.
	Bucket *blob.Bucket
	// Name is how messages call the place, such as its URL without credentials and query.
	Name string
	// Explain gives what the service itself said, of an error of Bucket: its code, such as
	// NoSuchKey or the number of the HTTP status, and how it calls the request, if it calls it
	// anything. An empty code: it said nothing, because it was not reached. nil for places
	// without a service. The service's words are for nobody: they may quote the request, which
	// holds credentials.
	Explain func(err error) (code, request string)
}

// Options configure a Store.
type Options struct {
	// Installation is the name of the convoy installation; what others keep at the same
	// place is neither read nor touched. Without one the place must not be shared.
	Installation string
	// Recipients are whom new renders are encrypted for; without any they are stored in clear.
	Recipients []age.Recipient
	// Identities decrypt stored renders.
	Identities []age.Identity
	// AllowPlaintextSecrets stores renders with Secrets although there are no Recipients.
	AllowPlaintextSecrets bool
	// ReadOnly refuses to write.
	ReadOnly bool
	// Patience is how long one request may take that moves little, 30 seconds if it is 0. One
	// that moves much gets a second more for each MiB.
	Patience time.Duration
}

// defaultPatience is the Patience of Options that have none: longer than a service needs
// that is well, and short enough for the worker that waits.
const defaultPatience = 30 * time.Second

// Store is an open store, for use by many goroutines.
type Store struct {
	place   Place
	bucket  *blob.Bucket
	options Options
	// largest is the most that a render may take as JSON.
	largest int64

	// removal keeps Put from relying on a render that Retain is about to remove.
	removal sync.RWMutex
	// unconditional notes that the service knows no conditional writes.
	unconditional atomic.Bool
}

// New makes a store of a place.
func New(place Place, o Options) *Store {
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	return &Store{place: place, bucket: place.Bucket, options: o, largest: largest}
}

// Close lets go of the store.
func (s *Store) Close() error { return s.bucket.Close() }
