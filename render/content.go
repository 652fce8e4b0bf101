// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"io/fs"
	"sync"
)

// content is the content of an artifact. It notes what fails to be read for the time being:
// engines pass over what they cannot read, or make an error of the content of it, and neither
// is what the content gives.
type content struct {
	// root is the content, FS the same for as long as a context lasts.
	root fs.FS
	fs.FS

	mu     sync.Mutex
	failed error
	last   string // the file that was read last
}

var (
	_ fs.StatFS     = (*content)(nil)
	_ fs.ReadDirFS  = (*content)(nil)
	_ fs.ReadFileFS = (*content)(nil)
)

// within has reading end with ctx from now on, if the content can take long to be read. Nobody
// reads meanwhile.
func (c *content) within(ctx context.Context) { c.FS = within(ctx, c.root) }

// within gives content whose reading ends with ctx, if it can.
func within(ctx context.Context, root fs.FS) fs.FS {
	if slow, ok := root.(interface {
		WithContext(ctx context.Context) fs.FS
	}); ok {
		return slow.WithContext(ctx)
	}
	return root
}

// passes tells the errors of files that may be gone another time.
func passes(err error) bool {
	var temporary interface{ Temporary() bool }
	return errors.Is(err, context.Canceled) || errors.As(err, &temporary) && temporary.Temporary()
}

func (c *content) note(err error) error {
	if err == nil || !passes(err) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
	return err
}

// failure gives the first that failed, nil when all was read.
func (c *content) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// lastRead gives the file that was read last.
func (c *content) lastRead() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *content) reads(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = name
}

// Open opens a file.
func (c *content) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	return f, c.note(err)
}

// Stat describes a file.
func (c *content) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(c.FS, name)
	return info, c.note(err)
}

// ReadDir lists a directory.
func (c *content) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(c.FS, name)
	return entries, c.note(err)
}

// ReadFile gives what a file holds.
func (c *content) ReadFile(name string) ([]byte, error) {
	c.reads(name)
	text, err := fs.ReadFile(c.FS, name)
	return text, c.note(err)
}
