// SPDX-License-Identifier: Apache-2.0

// Package archive unpacks tar archives into memory.
//
// Nothing of an archive is trusted: neither names, which may climb out or be absolute, nor
// links, nor sizes, nor the compression, which may inflate without end. Nothing is ever
// written to a disk.
package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"path"
	"strings"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// Options say what kind of archive it is.
type Options struct {
	Compression Compression
	// StripTop takes the one folder off that everything in the archive lies in.
	StripTop bool
	Limits   backend.Limits
}

// Unpack reads an archive, until ctx ends. What it holds is taken from the budget of ctx. The
// errors are fault.ErrContent, fault.ErrLimit and that of ctx.
func Unpack(ctx context.Context, data []byte, o Options) (*tree.Tree, error) {
	r, err := decompress(data, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	u := unpacker{options: o, builder: tree.NewBuilder(o.Limits), tar: tar.NewReader(r)}
	u.content = budget.Reader(ctx, u.tar, math.MaxInt64)
	for {
		header, err := u.tar.Next()
		if errors.Is(err, io.EOF) {
			return u.builder.Build(), nil
		}
		if err == nil {
			err = budget.Take(ctx, perEntry)
		}
		if err != nil {
			return nil, damaged(err)
		}
		if err := u.entry(header); err != nil {
			return nil, err
		}
	}
}

// perEntry is about what an entry takes besides its content.
const perEntry = 200

func damaged(err error) error {
	if kind := fault.Kind(err); kind != nil {
		return err
	}
	return fault.New(fault.ErrContent, "the archive is damaged: %s", (*fault.Scrubber)(nil).Clean(err.Error()))
}

type unpacker struct {
	options Options
	builder *tree.Builder
	tar     *tar.Reader
	content io.Reader // of the entry
	top     string
	entries int
}

func (u *unpacker) entry(header *tar.Header) error {
	// Counted here too: entries for "." or of the top folder leave no trace in the tree.
	if u.entries++; u.entries > 2*u.options.Limits.Files {
		return fault.New(fault.ErrLimit, "the archive has more than %d entries. %s", u.entries-1, tree.WayOut(backend.FlagFiles))
	}
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := u.name(header)
	if err != nil || name == "." {
		return err
	}
	if isSparse(header) {
		return fault.New(fault.ErrContent, "the archive's entry %q is a sparse file, which is refused; pack it without holes (tar without --sparse)", header.Name)
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return u.builder.Dir(name)
	case tar.TypeReg:
		return u.file(name, header)
	case tar.TypeSymlink:
		return u.link(name, header.Linkname)
	case tar.TypeLink:
		return fault.New(fault.ErrContent, "the archive's entry %q is a hard link, which is refused", header.Name)
	}
	return fault.New(fault.ErrContent, "the archive's entry %q is neither file, directory nor symbolic link", header.Name)
}

// isSparse recognises files with holes. These are content that nothing in the archive stands
// for, so that no bound of what is unpacked from how much holds for them.
func isSparse(header *tar.Header) bool {
	if header.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// name returns the path of an entry, "." when there is nothing to make of it.
func (u *unpacker) name(header *tar.Header) (string, error) {
	name := header.Name
	if len(name) > u.options.Limits.PathBytes {
		return "", fault.New(fault.ErrLimit, "the archive's entry %q… has a path of %d bytes; %d are accepted. Shorten it, or take it out of the source", name[:40], len(name), u.options.Limits.PathBytes)
	}
	if path.IsAbs(name) || strings.ContainsAny(name, "\x00\\") || strings.Contains("/"+name+"/", "/../") || hasDrive(name) {
		return "", fault.New(fault.ErrContent, "the archive's entry %q has a forbidden path", name)
	}
	name = path.Clean(name)
	if !u.options.StripTop || name == "." {
		return name, nil
	}
	top, rest, below := strings.Cut(name, "/")
	switch {
	case !below && header.Typeflag != tar.TypeDir:
		return "", fault.New(fault.ErrContent, "the archive's entry %q lies outside of the archive's top folder", header.Name)
	case u.top != "" && top != u.top:
		return "", fault.New(fault.ErrContent, "the archive has more than one top folder: %q and %q", u.top, top)
	}
	u.top = top
	if !below {
		return ".", nil
	}
	return rest, nil
}

// hasDrive recognises C:\ and C:x, absolute paths elsewhere.
func hasDrive(name string) bool {
	return len(name) >= 2 && name[1] == ':' && ('a' <= name[0]|0x20 && name[0]|0x20 <= 'z')
}

func (u *unpacker) file(name string, header *tar.Header) error {
	room, flag := u.builder.Room()
	if header.Size > room {
		return fault.New(fault.ErrLimit, "the archive's entry %q has %s; %s are accepted. %s", header.Name, fault.Size(header.Size), fault.Size(room), tree.WayOut(flag))
	}
	var content bytes.Buffer
	// The header's size is a claim: memory follows what really comes.
	content.Grow(int(min(header.Size, 1<<20)) + bytes.MinRead)
	n, err := content.ReadFrom(io.LimitReader(u.content, room+1))
	if err != nil {
		return damaged(err)
	}
	if n > room {
		return fault.New(fault.ErrLimit, "the archive's entry %q has more than the %s that are accepted. %s", header.Name, fault.Size(room), tree.WayOut(flag))
	}
	return u.builder.File(name, bytes.Clone(content.Bytes()), header.Mode&0o111 != 0)
}

// link adds a symbolic link that stays inside. Links are not followed while unpacking, so
// none can redirect a later entry.
func (u *unpacker) link(name, target string) error {
	inside := path.Join(path.Dir(name), target)
	if path.IsAbs(target) || strings.Contains(target, `\`) || inside == ".." || strings.HasPrefix(inside, "../") || hasDrive(target) {
		return fault.New(fault.ErrContent, "the archive's entry %q is a symbolic link out of the archive: %q", name, target)
	}
	return u.builder.Link(name, target)
}
