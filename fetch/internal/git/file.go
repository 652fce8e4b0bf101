// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/git/signing"
	"kumodo.io/convoy/fetch/internal/tree"
)

// fileObjects are the objects of a repository on disk.
type fileObjects struct {
	storage *filesystem.Storage
	backend *Backend
}

// openFile opens a repository on disk, bare or with a work tree.
func (b *Backend) openFile() (*fileObjects, error) {
	directory := filepath.FromSlash(b.url.Path)
	if info, err := os.Stat(filepath.Join(directory, ".git")); err == nil && info.IsDir() {
		directory = filepath.Join(directory, ".git")
	}
	if _, err := os.Stat(filepath.Join(directory, "HEAD")); err != nil {
		return nil, fault.New(fault.ErrNotFound, "there is no Git repository at the path")
	}
	f := &fileObjects{storage: filesystem.NewStorage(osfs.New(directory), cache.NewObjectLRUDefault()), backend: b}
	config, err := f.storage.Config()
	switch {
	case err != nil:
		return nil, f.failed(err)
	case strings.EqualFold(config.Raw.Section("extensions").Option("objectformat"), "sha256"):
		return nil, errSHA256("the repository")
	}
	return f, nil
}

// fileObjects opens a repository on disk for a revision.
func (b *Backend) fileObjects(r backend.Revision) (found objects, tag plumbing.Hash, err error) {
	f, err := b.openFile()
	if err != nil || !b.policy.byTag() {
		return f, tag, err
	}
	refs, err := b.listFile()
	if err != nil {
		return nil, tag, err
	}
	tag, err = b.policy.signedTag(refs, r)
	return f, tag, err
}

func (f *fileObjects) object(id plumbing.Hash) (object, bool, error) {
	encoded, err := f.storage.EncodedObject(plumbing.AnyObject, id)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return object{}, false, nil
	}
	if err != nil {
		return object{}, false, f.failed(err)
	}
	limits := f.backend.options.Limits
	if encoded.Type() == plumbing.BlobObject && encoded.Size() > limits.FileBytes {
		return object{kind: plumbing.BlobObject, left: encoded.Size()}, true, nil
	}
	if err := fitsStructure(encoded.Type(), encoded.Size()); err != nil {
		return object{}, false, err
	}
	if encoded.Size() > limits.ContentBytes {
		return object{}, false, fault.New(fault.ErrLimit, "the object %s has more than %s. %s", id, fault.Size(limits.ContentBytes), tree.WayOut(backend.FlagContentBytes))
	}
	r, err := encoded.Reader()
	if err != nil {
		return object{}, false, f.failed(err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, encoded.Size()))
	if err != nil {
		return object{}, false, f.failed(err)
	}
	// On a disk, an object is found by its name only; what it holds is another question.
	if plumbing.ComputeHash(encoded.Type(), data) != id {
		return object{}, false, fault.New(fault.ErrContent, "the object %s is damaged", id)
	}
	return object{kind: encoded.Type(), data: data}, true, nil
}

func (f *fileObjects) failed(err error) error {
	return fault.New(fault.ErrUnreachable, "the repository cannot be read: %s", f.backend.scrubber().Clean(err.Error()))
}

// listFile lists the references as a server would.
func (b *Backend) listFile() (*packp.AdvRefs, error) {
	f, err := b.openFile()
	if err != nil {
		return nil, err
	}
	adv := packp.NewAdvRefs()
	iterator, err := f.storage.IterReferences()
	if err != nil {
		return nil, f.failed(err)
	}
	err = iterator.ForEach(func(ref *plumbing.Reference) error {
		name := ref.Name().String()
		switch {
		case name == head && ref.Type() == plumbing.SymbolicReference:
			return adv.Capabilities.Add(capability.SymRef, head+":"+ref.Target().String())
		case name == head:
			id := ref.Hash()
			adv.Head = &id
		case ref.Type() == plumbing.HashReference:
			adv.References[name] = ref.Hash()
			return f.peel(adv, name, ref.Hash())
		}
		return nil
	})
	if err != nil {
		return nil, fault.FromRequest(err, b.scrubber())
	}
	return adv, nil
}

// nestedTags is how many annotated tags are followed that are tags of each other.
const nestedTags = 16

// peel follows annotated tags to what they are about.
func (f *fileObjects) peel(adv *packp.AdvRefs, name string, id plumbing.Hash) error {
	for range nestedTags {
		o, ok, err := f.object(id)
		if err != nil || !ok || o.kind != plumbing.TagObject {
			return err
		}
		header, ok := signing.ParseTag(o.data)
		if !ok || !backend.IsHex(header.Object, 40) {
			return nil
		}
		id = plumbing.NewHash(header.Object)
		adv.Peeled[name] = id
	}
	return nil
}
