// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"

	"filippo.io/age"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/internal/digest"
)

var (
	// ErrNotFound says that a render is not in the store.
	ErrNotFound = errors.New("not in the render store")
	// ErrCorrupt says that what is stored is not what was stored.
	ErrCorrupt = errors.New("corrupt in the render store")
	// ErrNoIdentity says that a stored render is encrypted, and not for any of the identities.
	ErrNoIdentity = errors.New("encrypted for another identity")
	// ErrPlaintextSecrets says that a render holds Secrets and there is no recipient to
	// encrypt it for.
	ErrPlaintextSecrets = errors.New("the render holds Secrets and the render store has no age recipients to encrypt it for")
	// ErrReadOnly says that the store was opened for reading.
	ErrReadOnly = errors.New("the render store is opened for reading only")
)

// Options configure a Store.
type Options struct {
	// Recipients are whom new renders are encrypted for; without any they are stored in clear.
	Recipients []age.Recipient
	// Identities decrypt stored renders.
	Identities []age.Identity
	// AllowPlaintextSecrets stores renders with Secrets although there are no Recipients.
	AllowPlaintextSecrets bool
	// ReadOnly refuses to store.
	ReadOnly bool
}

// Record is a stored render.
type Record struct {
	// Namespace and Name of the Release, and its UID.
	Namespace, Name string
	UID             types.UID
	// Revision of the source that was rendered first with this result.
	Revision string
	// Result is the render.
	Result *render.Result
}

// Store is an open store, for use by many goroutines.
type Store struct {
	bucket  *blob.Bucket
	options Options
}

// Close lets go of the store.
func (s *Store) Close() error { return s.bucket.Close() }

// Put stores a render. When it is stored already, nothing is written. Errors:
// ErrPlaintextSecrets, ErrReadOnly, and those of the object store.
func (s *Store) Put(ctx context.Context, record Record) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	key, err := keyOf(record.Namespace, record.Name, record.Result.Digest)
	if err != nil {
		return err
	}
	if len(s.options.Recipients) == 0 && !s.options.AllowPlaintextSecrets && holdsSecrets(record.Result) {
		return ErrPlaintextSecrets
	}
	there, err := s.bucket.Exists(ctx, key)
	if err != nil {
		return fmt.Errorf("looking for render %s: %w", key, err)
	}
	if there {
		return nil
	}
	content, err := encode(record, s.options.Recipients)
	if err != nil {
		return fmt.Errorf("encoding render %s: %w", key, err)
	}
	if err := s.bucket.WriteAll(ctx, key, content, nil); err != nil {
		return fmt.Errorf("storing render %s: %w", key, err)
	}
	return nil
}

// Get gives a stored render by its digest. Errors: ErrNotFound, ErrCorrupt, ErrNoIdentity,
// and those of the object store.
func (s *Store) Get(ctx context.Context, namespace, name, digest string) (Record, error) {
	key, err := keyOf(namespace, name, digest)
	if err != nil {
		return Record{}, err
	}
	content, err := s.bucket.ReadAll(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return Record{}, fmt.Errorf("render %s of Release %s/%s: %w", digest, namespace, name, ErrNotFound)
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading render %s: %w", key, err)
	}
	record, err := decode(content, s.options.Identities)
	if err == nil {
		err = verify(record, namespace, name, digest)
	}
	if err != nil {
		return Record{}, fmt.Errorf("render %s: %w", key, err)
	}
	return record, nil
}

// keyOf gives the place of a render in the store.
func keyOf(namespace, name, renderDigest string) (string, error) {
	for _, part := range []string{namespace, name} {
		if problems := validation.IsDNS1123Subdomain(part); len(problems) > 0 {
			return "", fmt.Errorf("%q is not the name of a Release or namespace", part)
		}
	}
	digits, ok := digest.Hex(renderDigest)
	if !ok {
		return "", fmt.Errorf("render %q of Release %s/%s: the digest is not sha256 and 64 hex digits: %w", renderDigest, namespace, name, ErrNotFound)
	}
	return namespace + "/" + name + "/" + digits + ".json.zst", nil
}

// verify compares a record with what it was asked for as.
func verify(r Record, namespace, name, wanted string) error {
	if r.Namespace != namespace || r.Name != name {
		return fmt.Errorf("it belongs to Release %s/%s: %w", r.Namespace, r.Name, ErrCorrupt)
	}
	computed, err := r.Result.ComputeDigest()
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	if computed != wanted {
		return fmt.Errorf("its content has the digest %s: %w", computed, ErrCorrupt)
	}
	return nil
}

func holdsSecrets(r *render.Result) bool {
	for _, o := range objectsOf(r) {
		if gvk := o.Object.GroupVersionKind(); gvk.Group == "" && gvk.Kind == "Secret" {
			return true
		}
	}
	return false
}

// objectsOf gives all objects of a render, those of hooks included.
func objectsOf(r *render.Result) []render.Object {
	objects := append([]render.Object{}, r.Objects...)
	for _, h := range r.Hooks {
		objects = append(objects, h.Object)
	}
	for _, h := range r.OtherHooks {
		objects = append(objects, h.Object)
	}
	return objects
}
