// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render"
)

// flaky is content of which one file cannot be read until it heals.
type flaky struct {
	fs.FS
	file string
	err  error

	mu   sync.Mutex
	well bool
}

func (f *flaky) Open(name string) (fs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == f.file && !f.well {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return f.FS.Open(name)
}

func (f *flaky) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.well = true
}

func TestContentThatFailsToBeReadIsReadAnotherTime(t *testing.T) {
	for name, files := range engines {
		for _, file := range slices.Sorted(maps.Keys(files)) {
			for _, workers := range []bool{false, true} {
				t.Run(name+"/"+file, func(t *testing.T) {
					g := NewWithT(t)
					in := input(t, richSpec, files)
					root := &flaky{FS: in.Artifact.Root, file: file, err: syscall.EAGAIN}
					in.Artifact.Root = root
					r := render.New(render.Options{Workers: workers})
					_, err := r.Render(t.Context(), in)
					g.Expect(err).To(MatchError(syscall.EAGAIN))
					g.Expect(err.Error()).To(ContainSubstring(file))

					root.heal()
					_, err = r.Render(t.Context(), in)
					g.Expect(err).NotTo(HaveOccurred())
				})
			}
		}
	}
}

func TestContentThatCannotBeReadForGoodIsAFailedRender(t *testing.T) {
	for name, files := range engines {
		for _, file := range slices.Sorted(maps.Keys(files)) {
			t.Run(name+"/"+file, func(t *testing.T) {
				g := NewWithT(t)
				in := input(t, richSpec, files)
				in.Artifact.Root = &flaky{FS: in.Artifact.Root, file: file, err: syscall.EIO}
				var failed *render.Error
				_, err := render.New(render.Options{}).Render(t.Context(), in)
				g.Expect(errors.As(err, &failed)).To(BeTrue(), "%v", err)
			})
		}
	}
}
