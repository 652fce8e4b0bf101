// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"crypto/sha256"
	"errors"
	"io/fs"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

// absentError is why the content of a place was left at the source.
type absentError struct {
	path string
	// beyond says that it lies outside of what was wanted, and not that it is unusable.
	beyond bool
	error
}

func (e *absentError) Unwrap() error { return e.error }

// Omit adds a place whose content cannot be used, because it is too large for example. Who
// comes by it gets the reason; nobody else is concerned. mode tells a file, an executable one,
// a directory and a link apart; id stands for the content in digests.
func (b *Builder) Omit(path string, mode fs.FileMode, id string, reason error) error {
	if err := b.checkName(path); err != nil {
		return err
	}
	if err := b.put(path, absentNode(mode, id, &absentError{path: path, error: reason})); err != nil {
		return err
	}
	return b.count()
}

// beyondFactor times as many places may lie beyond as there may be files.
const beyondFactor = 10

// Beyond adds a place that nobody has wanted so far. It does not count as a file does; there is
// fault.ErrLimit for ten times as many. Who comes by it gets the reason.
func (b *Builder) Beyond(path string, mode fs.FileMode, id string, reason error) error {
	if err := b.checkName(path); err != nil {
		return err
	}
	if b.beyond++; (b.beyond-1)/beyondFactor >= b.limits.Files {
		return fault.New(fault.ErrLimit, "the directories on the way to what is read hold more than %d other files and directories. %s", beyondFactor*b.limits.Files, WayOut(backend.FlagFiles))
	}
	return b.put(path, absentNode(mode, id, &absentError{path: path, beyond: true, error: reason}))
}

func absentNode(mode fs.FileMode, id string, absent *absentError) *node {
	n := &node{kind: kindFile, sum: sha256.Sum256([]byte("absent " + id)), absent: absent}
	switch {
	case mode.IsDir():
		n.kind = kindDir
	case mode&fs.ModeSymlink != 0:
		n.kind, n.links = kindLink, true
	case mode&0o111 != 0:
		n.kind = kindExecutable
	}
	return n
}

// Omitted returns why the content of a place is left out that a reader of the directory at
// path comes by. nil means that there is none.
func (t *Tree) Omitted(path string) error {
	var found error
	t.look(path, func(p *place, err error) {
		if absent := absentOf(p, err); absent != nil && found == nil {
			found = absent.error
		}
	})
	return found
}

// LeadsBeyond returns the places beyond what was wanted that a reader of the directory at path
// comes by, and for each whether all of it is read; of others only what the way leads through.
func (t *Tree) LeadsBeyond(path string) map[string]bool {
	places := map[string]bool{}
	t.look(path, func(p *place, err error) {
		if absent := absentOf(p, err); absent != nil && absent.beyond {
			places[absent.path] = places[absent.path] || p != nil
		}
	})
	return places
}

func absentOf(p *place, err error) *absentError {
	if p != nil {
		return p.node.absent
	}
	var absent *absentError
	if errors.As(err, &absent) {
		return absent
	}
	return nil
}

// liesBeyond says whether the way to name, or its end, lies beyond what was wanted.
func (t *Tree) liesBeyond(name string) bool {
	at, _, err := t.lookup(name)
	absent := absentOf(at, err)
	return absent != nil && absent.beyond
}
