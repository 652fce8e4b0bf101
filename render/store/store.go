// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"kumodo.io/convoy/render"
)

var (
	// ErrNotFound says that a render is not in the store.
	ErrNotFound = errors.New("not in the render store")
	// ErrCorrupt says that what is stored is not what was stored.
	ErrCorrupt = errors.New("corrupt in the render store: restore this object, or delete it")
	// ErrNoIdentity says that a stored render is encrypted, and not for any of the identities.
	ErrNoIdentity = errors.New("encrypted for another identity")
	// ErrPlaintextSecrets says that a render holds Secrets and there is no recipient to
	// encrypt it for.
	ErrPlaintextSecrets = errors.New("the render holds Secrets and the render store has no age recipients to encrypt it for")
	// ErrReadOnly says that the store was opened for reading.
	ErrReadOnly = errors.New("the render store is opened for reading only")
	// ErrTooLarge says that a render is too large to be read again.
	ErrTooLarge = errors.New("too large for the render store")
	// ErrUnavailable says that the place of the store failed, refused or did not answer.
	ErrUnavailable = errors.New("the render store cannot be used")
)

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

// Put stores a render. When it is stored already, it stays as it is, and counts as needed
// from now on; but what does not read whole, or is not what the index says that was stored, for
// who cannot decrypt it, is written anew, and what is in clear although there are recipients is
// encrypted. Errors: ErrPlaintextSecrets, ErrReadOnly, ErrTooLarge, ErrUnavailable. After any of
// them the render may be stored or not, and Put may be repeated.
func (s *Store) Put(ctx context.Context, record Record) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	key, err := s.keyOf(record.Namespace, record.Name, record.Result.Digest)
	if err != nil {
		return err
	}
	if secret := secretOf(record.Result); secret != "" && len(s.options.Recipients) == 0 && !s.options.AllowPlaintextSecrets {
		return fmt.Errorf("%w: Secret %s", ErrPlaintextSecrets, secret)
	}
	if err := s.claim(ctx, key); err != nil {
		return err
	}
	there, err := s.hold(ctx, key, record)
	if err != nil {
		return err
	}
	return s.note(ctx, key, there)
}

// held is a render that is there, whole.
type held struct {
	// Record has the revision and the UID of who came first.
	Record
	// sum is that of what is stored, "" when nobody knows whether that is whole.
	sum string
	// added is true when nothing was there before.
	added bool
}

// hold sees to it that a render is there, whole, and encrypted if there are recipients. Writers
// that do this at once write the same, each as it should be: whichever is last.
func (s *Store) hold(ctx context.Context, key string, record Record) (held, error) {
	content, err := s.look(ctx, key+suffixRender)
	if errors.Is(err, errMissing) {
		return s.keep(ctx, key, held{Record: record, added: true})
	}
	there := held{Record: record, sum: sumOf(content)}
	var decoded Record
	if err == nil {
		decoded, err = s.decode(content, record.Namespace, record.Name, record.Result.Digest)
	}
	if errors.Is(err, ErrNoIdentity) {
		there, err = s.vouched(ctx, key, there)
		decoded = there.Record
	}
	switch {
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrTooLarge):
		klog.FromContext(ctx).Info("A stored render cannot be read, and is written anew", "key", key+suffixRender, "store", s.place.Name, "err", err)
		return s.keep(ctx, key, there)
	case err != nil:
		return held{}, err
	}
	there.Record = decoded
	if len(s.options.Recipients) == 0 || bytes.HasPrefix(content, encrypted) {
		return there, nil
	}
	return s.keep(ctx, key, there)
}

// vouched holds what cannot be decrypted to what the index says that was stored. ErrCorrupt is
// among the errors when that is something else, or nothing that can be read. An older entry does not
// say: whether it is whole is for those to find out then who can read it.
func (s *Store) vouched(ctx context.Context, key string, there held) (held, error) {
	if len(s.options.Recipients) == 0 { // what is encrypted is not written in clear
		there.sum = ""
		return there, nil
	}
	found, err := s.entry(ctx, key+suffixEntry)
	switch {
	case errors.Is(err, errMissing):
		return there, fmt.Errorf("the index does not say what was stored: %w", ErrCorrupt)
	case err != nil:
		return there, err
	}
	there.UID, there.Revision = found.UID, found.Revision
	switch found.Stored {
	case there.sum:
		return there, nil
	case "":
		there.sum = ""
		return there, nil
	}
	return there, fmt.Errorf("it is not what was stored: %w", ErrCorrupt)
}

// keep writes a render, over what is there.
func (s *Store) keep(ctx context.Context, key string, render held) (held, error) {
	content, err := encode(render.Record, s.options.Recipients, s.largest)
	if err != nil {
		return held{}, fmt.Errorf("encoding render %s: %w", key, err)
	}
	write := s.replace
	if render.added {
		write = s.create
	}
	render.sum = sumOf(content)
	return render, write(ctx, key+suffixRender, content)
}

// note sees to it that the index has a render. What was added is not looked for first.
func (s *Store) note(ctx context.Context, key string, there held) error {
	write := s.create
	if !there.added {
		found, err := s.entry(ctx, key+suffixEntry)
		switch {
		case err == nil && (found.Stored == there.sum || there.sum == ""):
			return nil
		case err == nil, errors.Is(err, ErrCorrupt), errors.Is(err, ErrTooLarge):
			write = s.replace
		case !errors.Is(err, errMissing):
			return err
		}
	}
	entry, err := encodeEntry(there)
	if err != nil {
		return fmt.Errorf("encoding the index entry of render %s: %w", key, err)
	}
	return write(ctx, key+suffixEntry, entry)
}

// Get gives a stored render by its digest. Errors: ErrNotFound, ErrCorrupt, ErrNoIdentity,
// ErrTooLarge, ErrUnavailable.
func (s *Store) Get(ctx context.Context, namespace, name, digest string) (Record, error) {
	key, err := s.keyOf(namespace, name, digest)
	if err != nil {
		return Record{}, err
	}
	content, err := s.read(ctx, key+suffixRender)
	if errors.Is(err, errMissing) {
		return Record{}, fmt.Errorf("render %s of Release %s/%s: %w %s", digest, namespace, name, ErrNotFound, s.place.Name)
	}
	if err != nil {
		return Record{}, err
	}
	record, err := s.decode(content, namespace, name, digest)
	if err != nil {
		return Record{}, fmt.Errorf("render %s in %s: %w", key+suffixRender, s.place.Name, err)
	}
	return record, nil
}

// decode reads a stored render, and compares it with what it was asked for as.
func (s *Store) decode(content []byte, namespace, name, digest string) (Record, error) {
	record, err := decode(content, s.options.Identities, s.largest)
	if err == nil {
		err = verify(record, namespace, name, digest)
	}
	return record, err
}

// verify compares a record with what it was asked for as.
func verify(r Record, namespace, name, wanted string) error {
	if r.Namespace != namespace || r.Name != name {
		return fmt.Errorf("it belongs to Release %s/%s: %w", r.Namespace, r.Name, ErrCorrupt)
	}
	if r.Result.Digest != wanted {
		return fmt.Errorf("it says that its digest is %q: %w", r.Result.Digest, ErrCorrupt)
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

func secretOf(r *render.Result) string {
	for _, o := range objectsOf(r) {
		if gvk := o.Object.GroupVersionKind(); gvk.Group == "" && gvk.Kind == "Secret" {
			return o.Object.GetName()
		}
	}
	return ""
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
