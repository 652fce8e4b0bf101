// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// object is a Git object.
type object struct {
	kind plumbing.ObjectType
	data []byte
	// left is the size of a file that was passed over because no file may be so large; -1 when
	// its size is not known. Its data is nil.
	left int64
}

// objects is where the objects of a commit are read from.
type objects interface {
	// object returns an object; ok is false when it is not there.
	object(id plumbing.Hash) (o object, ok bool, err error)
}

// packed are the objects of a pack, under the ids that their content has.
type packed struct {
	objects map[plumbing.Hash]object
	// lost says that files are left out whose ids are not known: they are given as what makes
	// them from one that was passed over.
	lost bool
}

func (p packed) object(id plumbing.Hash) (object, bool, error) {
	o, ok := p.objects[id]
	if !ok && p.lost {
		return object{kind: plumbing.BlobObject, left: -1}, true, nil
	}
	return o, ok, nil
}

// maxStructure bounds an object that is no file: a directory of that size has hundreds of thousands
// of entries.
const maxStructure = 16 << 20

// fitsStructure refuses a commit, tag or directory that is larger than any that is meant.
func fitsStructure(kind plumbing.ObjectType, size int64) error {
	if kind.IsDelta() || kind == plumbing.BlobObject || size <= maxStructure {
		return nil
	}
	return fault.New(fault.ErrLimit, "the repository holds a %s of %s; one that is no file may have %s. Take it out of the source, or split the directory", kind, fault.Size(size), fault.Size(maxStructure))
}

// packReader reads a pack. It differs from go-git's own parser in that it bounds what it
// inflates, before it inflates it: a pack of some kilobytes can hold gigabytes. Files that are
// larger than a file may be are digested as they come by, and not held.
type packReader struct {
	scanner *packfile.Scanner
	// hold waits until bytes may be held beside what others hold.
	hold        func(bytes int64) error
	left, limit int64
	// file is how large a file may be.
	file     int64
	byOffset map[int64]*record
	found    packed
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
	limits := b.options.Limits
	limit := 2 * limits.ContentBytes
	r := &packReader{
		// Without the other methods of the stream the scanner does not try to seek.
		scanner: packfile.NewScanner(struct{ io.Reader }{stream}),
		hold:    func(bytes int64) error { return budget.Take(ctx, bytes) },
		left:    limit, limit: limit, file: limits.FileBytes,
		byOffset: map[int64]*record{}, found: packed{objects: map[plumbing.Hash]object{}}, waiting: map[plumbing.Hash][]*record{},
	}
	err := r.read()
	switch {
	case err == nil:
		return r.found, nil
	case fault.Kind(err) != nil:
		return packed{}, fault.FromRequest(err, b.scrubber())
	}
	if ctx.Err() == nil && corrupt(err) {
		return packed{}, fault.New(fault.ErrContent, "the server sent a damaged pack; the repository at the server may be damaged (git fsck tells): %s", b.scrubber().Clean(err.Error()))
	}
	return packed{}, b.broken(ctx, "the pack that the server sent ends too early, or is none", err)
}

// corrupt tells what a pack says from how it arrives.
func corrupt(err error) bool {
	var deflate flate.CorruptInputError
	if errors.As(err, &deflate) {
		return true
	}
	for _, other := range []error{zlib.ErrHeader, zlib.ErrChecksum, zlib.ErrDictionary, packfile.ErrInvalidDelta, packfile.ErrDeltaCmd, packfile.ErrReferenceDeltaNotFound, packfile.ErrInflatedSizeMismatch, packfile.ErrMalformedPackFile, packfile.ErrLengthOverflow} {
		if errors.Is(err, other) {
			return true
		}
	}
	return false
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
	// What builds on a file that was passed over may name it by an id that is not known.
	if r.deltas > 0 && !r.found.lost {
		return r.baseless()
	}
	return nil
}

// baseless names an object that the pack builds on and does not hold. The server answered, but
// its repository, or what it made of it, is damaged.
func (r *packReader) baseless() error {
	for _, id := range slices.SortedFunc(maps.Keys(r.waiting), func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) }) {
		return fault.New(fault.ErrContent, "the server sent a pack that lacks the object %s, on which others in it build; the repository at the server may be damaged (git fsck tells)", id)
	}
	return packfile.ErrReferenceDeltaNotFound
}

// take counts bytes against the limits before they are held.
func (r *packReader) take(n int64) error {
	const perObject = 100
	if n < 0 || n > r.left {
		return fault.New(fault.ErrLimit, "the pack holds more than %s when unpacked. %s", fault.Size(r.limit), tree.WayOut(backend.FlagContentBytes))
	}
	r.left -= n + perObject
	return r.hold(n + perObject)
}

func (r *packReader) next() error {
	header, err := r.scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	switch {
	case header.Type == plumbing.BlobObject && header.Length > r.file:
		return r.pass(header)
	case header.Type.IsDelta() && header.Length > r.file:
		return r.passDelta(header)
	}
	if err := fitsStructure(header.Type, header.Length); err != nil {
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

// pass digests a file that is too large without holding it.
func (r *packReader) pass(header *packfile.ObjectHeader) error {
	if err := r.take(0); err != nil {
		return err
	}
	hasher := plumbing.NewHasher(header.Type, header.Length)
	n, _, err := r.scanner.NextObject(hasher)
	if err != nil {
		return err
	}
	if n != header.Length {
		return io.ErrUnexpectedEOF
	}
	rec := &record{object: object{kind: header.Type, left: header.Length}, id: hasher.Sum()}
	r.byOffset[header.Offset] = rec
	r.found.objects[rec.id] = rec.object
	r.ready = append(r.ready, rec)
	return nil
}

// passDelta passes over what makes a file that is too large: one that is not does not need so much
// to be told from another one.
func (r *packReader) passDelta(header *packfile.ObjectHeader) error {
	if err := r.take(0); err != nil {
		return err
	}
	if _, _, err := r.scanner.NextObject(io.Discard); err != nil {
		return err
	}
	rec := &record{}
	r.byOffset[header.Offset] = rec
	r.deltas++
	r.lose(rec)
	return nil
}

// lose passes over a file that is made from one that was passed over, or that is itself too
// large; what builds on it goes the same way.
func (r *packReader) lose(rec *record) {
	rec.object, rec.delta = object{kind: plumbing.BlobObject, left: -1}, nil
	r.deltas--
	r.found.lost = true
	r.ready = append(r.ready, rec)
}

func (r *packReader) finish(rec *record, o object) {
	rec.object, rec.id = o, plumbing.ComputeHash(o.kind, o.data)
	r.found.objects[rec.id] = o
	r.ready = append(r.ready, rec)
}

// patch makes the object of a delta.
func (r *packReader) patch(base, rec *record) error {
	_, n := binary.Uvarint(rec.delta)
	if n <= 0 {
		return packfile.ErrInvalidDelta
	}
	size, m := binary.Uvarint(rec.delta[n:])
	if m <= 0 || size > math.MaxInt64 {
		return packfile.ErrInvalidDelta
	}
	if base.left != 0 || base.kind == plumbing.BlobObject && int64(size) > r.file {
		r.lose(rec)
		return nil
	}
	if err := fitsStructure(base.kind, int64(size)); err != nil {
		return err
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
