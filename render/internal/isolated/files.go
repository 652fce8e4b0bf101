// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"bytes"
	"io/fs"
	"path"
	"time"

	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/limit"
)

// parent is the process that has the content.
type parent interface {
	// ask asks it.
	ask(q question) (*answer, error)
	// tell tells it that a file is read which it was not asked for, or which mutation begins.
	tell(place string) error
}

// files are content that lies with the parent, which is asked for what is read of it. They are
// for one goroutine.
type files struct {
	parent  parent
	content int
	// ahead are texts that came with their directory.
	ahead map[string][]byte
}

func newFiles(p parent, content int) *files {
	return &files{parent: p, content: content, ahead: map[string][]byte{}}
}

var (
	_ fs.StatFS     = (*files)(nil)
	_ fs.ReadDirFS  = (*files)(nil)
	_ fs.ReadFileFS = (*files)(nil)
)

// Stat tells of a file.
func (f *files) Stat(name string) (fs.FileInfo, error) {
	a, err := f.parent.ask(question{Content: f.content, Stat: name})
	if err != nil {
		return nil, err
	}
	return a.Entries[0], nil
}

// ReadDir lists a directory.
func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	a, err := f.parent.ask(question{Content: f.content, Dir: name})
	if err != nil {
		return nil, err
	}
	return each(a.Entries, func(e entry) fs.DirEntry {
		if e.Ahead {
			f.ahead[path.Join(name, e.File)] = e.Text
			e.Text = nil
		}
		return listed{e}
	}), nil
}

// ReadFile gives the text of a file.
func (f *files) ReadFile(name string) ([]byte, error) {
	if text, ok := f.ahead[name]; ok {
		delete(f.ahead, name) // who reads it may change it
		return text, f.parent.tell(name)
	}
	a, err := f.parent.ask(question{Content: f.content, File: name})
	if err != nil {
		return nil, err
	}
	return a.Text, nil
}

// Open opens a file, which is read at once. A directory opened can only be asked for itself.
func (f *files) Open(name string) (fs.File, error) {
	info, err := f.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &opened{info: info, Reader: bytes.NewReader(nil)}, nil
	}
	text, err := f.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &opened{info: info, Reader: bytes.NewReader(text)}, nil
}

type opened struct {
	*bytes.Reader
	info fs.FileInfo
}

func (o *opened) Stat() (fs.FileInfo, error) { return o.info, nil }

func (o *opened) Close() error { return nil }

// Name, Size, Mode, ModTime, IsDir and Sys make an entry a fs.FileInfo.
func (e entry) Name() string { return e.File }

// Size in bytes.
func (e entry) Size() int64 { return e.Bytes }

// Mode as Stat says.
func (e entry) Mode() fs.FileMode { return e.Bits }

// ModTime of the file.
func (e entry) ModTime() time.Time { return e.Time }

// IsDir tells directories.
func (e entry) IsDir() bool { return e.Bits.IsDir() }

// Sys is nothing.
func (e entry) Sys() any { return nil }

// listed is an entry of a directory.
type listed struct{ entry }

func (l listed) Type() fs.FileMode { return l.Kind }

func (l listed) IsDir() bool { return l.Kind.IsDir() }

func (l listed) Info() (fs.FileInfo, error) {
	if l.Fault != nil {
		return nil, l.Fault.err()
	}
	return l.entry, nil
}

// maxAhead is how much is sent with a directory: each question costs more than a small text.
const maxAhead = 1 << 20

// host answers what the worker of one job asks for: files of the job's content, lookups if there
// are any, and whether the render is wanted. There is nothing else that it would answer.
type host struct {
	content []fs.FS
	lookup  func(apiVersion, kind, namespace, name string) (map[string]any, error)
	ready   func(engine.Prepared) bool
	// most is how many bytes a file may have that is read: engines find out how large one is by
	// reading it, and nothing bounds what this process holds meanwhile.
	most int64
	// last is the file that was read last.
	last string
}

func (h *host) answer(q *question) *answer {
	var a answer
	var err error
	switch {
	case q.Lookup != nil && h.lookup != nil:
		var found map[string]any
		found, err = h.lookup(q.Lookup.APIVersion, q.Lookup.Kind, q.Lookup.Namespace, q.Lookup.Name)
		a.Object = value{found}
	case q.Ready != nil && h.ready != nil:
		a.Wanted = h.ready(*q.Ready)
	case q.Content < 0 || q.Content >= len(h.content):
		err = fs.ErrInvalid
	default:
		a, err = h.read(h.content[q.Content], q)
	}
	a.Fault = faultOf(err)
	return &a
}

func (h *host) read(root fs.FS, q *question) (a answer, err error) {
	switch {
	case q.Stat != "":
		var info fs.FileInfo
		if info, err = fs.Stat(root, q.Stat); err == nil {
			a.Entries = []entry{entryOf(info, info.Mode().Type())}
		}
	case q.Dir != "":
		var list []fs.DirEntry
		list, err = fs.ReadDir(root, q.Dir)
		ahead := int64(maxAhead)
		for _, e := range list {
			info, fault := e.Info()
			if fault != nil {
				a.Entries = append(a.Entries, entry{File: e.Name(), Kind: e.Type(), Fault: faultOf(fault)})
				continue
			}
			listed := entryOf(info, e.Type())
			if listed.Kind.IsRegular() && listed.Bytes <= ahead {
				ahead -= listed.Bytes
				listed.Text, fault = fs.ReadFile(root, path.Join(q.Dir, e.Name()))
				listed.Ahead = fault == nil // else the question for it tells
			}
			a.Entries = append(a.Entries, listed)
		}
	default:
		h.last = path.Clean(q.File)
		if info, err := fs.Stat(root, q.File); err == nil && info.Size() > h.most {
			return a, limit.Of(limit.FlagBytes, "%s has more than %s", h.last, limit.Size(h.most))
		}
		a.Text, err = fs.ReadFile(root, q.File)
	}
	return a, err
}

func entryOf(info fs.FileInfo, kind fs.FileMode) entry {
	return entry{File: info.Name(), Bits: info.Mode(), Kind: kind, Bytes: info.Size(), Time: info.ModTime()}
}
