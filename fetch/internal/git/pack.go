// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// object is a Git object.
type object struct {
	kind plumbing.ObjectType
	data []byte
}

// objects is where the objects of a commit are read from.
type objects interface {
	// object returns an object; ok is false when it is not there.
	object(id plumbing.Hash) (o object, ok bool, err error)
}

// packed are the objects of a pack, under the ids that their content has.
type packed map[plumbing.Hash]object

func (p packed) object(id plumbing.Hash) (object, bool, error) {
	o, ok := p[id]
	return o, ok, nil
}

// packReader reads a pack. It differs from go-git's own parser in that it bounds what it
// inflates, before it inflates it: a pack of some kilobytes can hold gigabytes.
type packReader struct {
	scanner     *packfile.Scanner
	left, limit int64
	byOffset    map[int64]*record
	byHash      packed
	// ready are records whose object is known and whose deltas are not applied yet.
	ready []*record
	// waiting are deltas whose base has been named by its id only.
	waiting map[plumbing.Hash][]*record
	deltas  int
}

// record is an entry of a pack: an object, or the delta that makes it from another one.
type record struct {
	object
	id    plumbing.Hash
	delta []byte
	// onTop are the deltas that build on this record.
	onTop []*record
}

// readPack reads the objects of a pack.
func (b *Backend) readPack(ctx context.Context, stream io.Reader) (packed, error) {
	limit := 2 * b.options.Limits.ContentBytes
	r := &packReader{
		// Without the other methods of the stream the scanner does not try to seek.
		scanner: packfile.NewScanner(struct{ io.Reader }{stream}),
		left:    limit, limit: limit,
		byOffset: map[int64]*record{}, byHash: packed{}, waiting: map[plumbing.Hash][]*record{},
	}
	err := r.read()
	switch {
	case err == nil:
		return r.byHash, nil
	case fault.Kind(err) != nil:
		return nil, fault.FromRequest(err, b.scrubber())
	}
	return nil, b.broken(ctx, "the pack that the server sent is damaged", err)
}

func (r *packReader) read() error {
	_, count, err := r.scanner.Header()
	if err != nil {
		return err
	}
	for range count {
		if err := r.next(); err != nil {
			return err
		}
	}
	if _, err := r.scanner.Checksum(); err != nil {
		return err
	}
	// Bases first, then what builds on them: no recursion, however long a chain is.
	for len(r.ready) > 0 {
		base := r.ready[len(r.ready)-1]
		r.ready = r.ready[:len(r.ready)-1]
		for _, delta := range append(base.onTop, r.waiting[base.id]...) {
			if err := r.patch(base, delta); err != nil {
				return err
			}
		}
		base.onTop = nil
		delete(r.waiting, base.id)
	}
	if r.deltas > 0 {
		return packfile.ErrReferenceDeltaNotFound
	}
	return nil
}

// take counts bytes against the limit before they are held.
func (r *packReader) take(n int64) error {
	const perObject = 100
	if n < 0 || n > r.left {
		return fault.New(fault.ErrLimit, "the pack holds more than %d bytes when unpacked. %s", r.limit, tree.WayOut(backend.FlagContentBytes))
	}
	r.left -= n + perObject
	return nil
}

func (r *packReader) next() error {
	header, err := r.scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	if err := r.take(header.Length); err != nil {
		return err
	}
	// The scanner holds the content to the length in the header.
	content := bytes.NewBuffer(make([]byte, 0, header.Length))
	if _, _, err := r.scanner.NextObject(content); err != nil {
		return err
	}
	if int64(content.Len()) != header.Length {
		return io.ErrUnexpectedEOF
	}
	rec := &record{}
	r.byOffset[header.Offset] = rec
	switch header.Type {
	case plumbing.OFSDeltaObject:
		base := r.byOffset[header.OffsetReference]
		if base == nil {
			return packfile.ErrReferenceDeltaNotFound
		}
		base.onTop = append(base.onTop, rec)
	case plumbing.REFDeltaObject:
		r.waiting[header.Reference] = append(r.waiting[header.Reference], rec)
	default:
		r.finish(rec, object{kind: header.Type, data: content.Bytes()})
		return nil
	}
	rec.delta = content.Bytes()
	r.deltas++
	return nil
}

func (r *packReader) finish(rec *record, o object) {
	rec.object, rec.id = o, plumbing.ComputeHash(o.kind, o.data)
	r.byHash[rec.id] = o
	r.ready = append(r.ready, rec)
}

// patch makes the object of a delta.
func (r *packReader) patch(base, rec *record) error {
	_, n := binary.Uvarint(rec.delta)
	if n <= 0 {
		return packfile.ErrInvalidDelta
	}
	size, m := binary.Uvarint(rec.delta[n:])
	if m <= 0 || size > uint64(r.limit) {
		return packfile.ErrInvalidDelta
	}
	if err := r.take(int64(size)); err != nil {
		return err
	}
	data, err := packfile.PatchDelta(base.data, rec.delta)
	if err != nil {
		return err
	}
	if cap(data) > len(data)+len(data)/8 {
		data = bytes.Clone(data)
	}
	rec.delta = nil
	r.deltas--
	r.finish(rec, object{kind: base.kind, data: data})
	return nil
}
