// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"kumodo.io/convoy/fetch/internal/fault"
)

// maxLinks is the number of links that one path may lead through, as in Linux.
const maxLinks = 40

// LinkError says why a symbolic link cannot be followed. It is fault.ErrContent.
type LinkError struct {
	// Link is the link's path in the tree, Target what it points to.
	Link, Target string
	// Reason completes the sentence "the symbolic link … -> …".
	Reason string
}

// Error names the link and its target.
func (e *LinkError) Error() string {
	return fmt.Sprintf("the symbolic link %q -> %q %s", e.Link, e.Target, e.Reason)
}

// Unwrap returns the kind.
func (e *LinkError) Unwrap() error { return fault.ErrContent }

// place is a node with the way to it from the root, along real directories.
type place struct {
	up   *place
	name string
	node *node
}

func (p *place) path() string {
	if p.up == nil {
		return "."
	}
	if p.up.up == nil {
		return p.name
	}
	return p.up.path() + "/" + p.name
}

// enter returns the place below a directory. The error is fs.ErrNotExist, or the reason why
// the content of the directory is missing.
func (p *place) enter(name string) (*place, error) {
	if p.node.missing != nil {
		return nil, p.node.missing
	}
	if p.node.absent != nil {
		return nil, p.node.absent
	}
	if n := p.node.child(name); n != nil {
		return &place{up: p, name: name, node: n}, nil
	}
	return nil, fs.ErrNotExist
}

// lookup follows name from the root, through links, and returns the place together with
// the nodes that were passed on the way, one for each element of the name. The error for a
// name that does not exist is fs.ErrNotExist; a link that cannot be followed is LinkError.
// What lies in a missing submodule has the error of that.
func (t *Tree) lookup(name string) (*place, []*node, error) {
	at := &place{node: t.root}
	passed := []*node{t.root}
	if name == "." {
		return at, passed, nil
	}
	hops := 0
	for element := range strings.SplitSeq(name, "/") {
		next, err := at.enter(element)
		if err == nil {
			next, err = next.follow(&hops)
		}
		if err != nil {
			return nil, nil, err
		}
		at = next
		passed = append(passed, at.node)
	}
	return at, passed, nil
}

// follow returns the place that p leads to: p itself when it is no link.
func (p *place) follow(hops *int) (*place, error) {
	if p.node.kind != kindLink {
		return p, nil
	}
	if p.node.absent != nil {
		return nil, p.node.absent
	}
	target := string(p.node.data)
	failed := func(reason string) error { return &LinkError{Link: p.path(), Target: target, Reason: reason} }
	if *hops++; *hops > maxLinks {
		return nil, failed("is part of a circle or of too long a chain")
	}
	if strings.HasPrefix(target, "/") {
		return nil, failed("is absolute; only links that stay inside are followed")
	}
	at := p.up
	for element := range strings.SplitSeq(target, "/") {
		switch element {
		case "", ".":
			continue
		case "..":
			if at = at.up; at == nil {
				return nil, failed("leads out of the content; only links that stay inside are followed")
			}
			continue
		}
		next, err := at.enter(element)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, failed("leads to nothing")
		}
		if err != nil {
			return nil, err
		}
		if at, err = next.follow(hops); err != nil {
			return nil, err
		}
	}
	return at, nil
}
