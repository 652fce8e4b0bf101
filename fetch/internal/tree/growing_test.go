// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

// parted has one folder here and one at the source still; whole has both.
func parted(t *testing.T) (here, whole *Tree) {
	t.Helper()
	g := NewWithT(t)
	limits := backend.DefaultLimits()
	a, b := NewBuilder(limits), NewBuilder(limits)
	g.Expect(a.File("here/a.yaml", []byte("a"), false)).To(Succeed())
	g.Expect(a.Beyond("there", fs.ModeDir, "id", errors.New("it lies beyond"))).To(Succeed())
	g.Expect(b.File("here/a.yaml", []byte("a"), false)).To(Succeed())
	g.Expect(b.File("there/b.yaml", []byte("b"), false)).To(Succeed())
	return a.Build(), b.Build()
}

// TestReadingOfAGrowingFSEndsWithItsContext while another one goes on.
func TestReadingOfAGrowingFSEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	here, whole := parted(t)
	asked, come := make(chan struct{}, 10), make(chan struct{})
	patient := here.GrowingFS(t.Context(), backend.DefaultLimits(), func(ctx context.Context, _ string) (*Tree, error) {
		asked <- struct{}{}
		select {
		case <-come:
			return whole, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	type reading struct {
		text []byte
		err  error
	}
	read := func(root fs.FS) <-chan reading {
		done := make(chan reading, 1)
		go func() {
			text, err := fs.ReadFile(root, "there/b.yaml")
			done <- reading{text, err}
		}()
		return done
	}
	first := read(patient)
	g.Eventually(asked).Should(Receive())
	ctx, cancel := context.WithCancel(t.Context())
	second := read(patient.(interface {
		WithContext(ctx context.Context) fs.FS
	}).WithContext(ctx))
	g.Eventually(asked).Should(Receive(), "it does not wait for the other one")
	cancel()
	var got reading
	g.Eventually(second).Should(Receive(&got))
	g.Expect(errors.Is(got.err, context.Canceled)).To(BeTrue(), "%v", got.err)

	close(come)
	g.Eventually(first).Should(Receive(&got))
	g.Expect(string(got.text), got.err).To(Equal("b"))
	for range len(asked) {
		<-asked
	}
	g.Expect(fs.ReadFile(patient, "there/b.yaml")).To(BeEquivalentTo("b"))
	g.Expect(asked).To(BeEmpty(), "it is here now")
}

// source gives what is at one path of files, and nothing else.
type source struct {
	t     *testing.T
	files map[string]string
	asked []string
}

func (s *source) at(at string) *Tree {
	s.t.Helper()
	g := NewWithT(s.t)
	b := NewBuilder(backend.DefaultLimits())
	beyond := map[string]bool{}
	for name, text := range s.files {
		if name == at || strings.HasPrefix(name, at+"/") {
			g.Expect(b.File(name, []byte(text), false)).To(Succeed())
			continue
		}
		// The first place on the way that does not lead to at.
		mode := fs.ModeDir
		for end := range len(name) + 1 {
			if end < len(name) && name[end] != '/' {
				continue
			}
			place := name[:end]
			if end == len(name) {
				mode = 0
			}
			if !strings.HasPrefix(at, place+"/") {
				if !beyond[place] {
					g.Expect(b.Beyond(place, mode, place, errors.New("it lies beyond"))).To(Succeed())
				}
				beyond[place] = true
				break
			}
		}
	}
	return b.Build()
}

func (s *source) more(_ context.Context, at string) (*Tree, error) {
	s.asked = append(s.asked, at)
	return s.at(at), nil
}

// held is what a growing file system holds.
func held(root fs.FS) (trees int, bytes int64) {
	g := root.(growing)
	for _, b := range g.rest {
		bytes += b.tree.Bytes() + b.tree.Overhead()
	}
	return len(g.rest), bytes + g.view.tree.Bytes() + g.view.tree.Overhead()
}

// TestWhatATreeGrowsByHasALimit all together, and a file has room where its directory has not.
func TestWhatATreeGrowsByHasALimit(t *testing.T) {
	g := NewWithT(t)
	s := &source{t: t, files: map[string]string{"app/a.yaml": "a"}}
	const dirs, each = 5, 100_000
	for i := range dirs {
		s.files[fmt.Sprintf("d%d/small.yaml", i)] = fmt.Sprint(i)
		s.files[fmt.Sprintf("d%d/large", i)] = strings.Repeat("x", each)
	}
	limits := backend.DefaultLimits()
	limits.ContentBytes = 5 * each / 2
	root := s.at("app").GrowingFS(t.Context(), limits, s.more)
	for range 2 {
		for i := range dirs {
			g.Expect(fs.ReadFile(root, fmt.Sprintf("d%d/small.yaml", i))).To(BeEquivalentTo(fmt.Sprint(i)))
		}
		for i := range dirs {
			text, err := fs.ReadFile(root, fmt.Sprintf("d%d/large", i))
			if i < 2 {
				g.Expect(text, err).To(HaveLen(each))
				continue
			}
			g.Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(And(ContainSubstring("more than 250000 bytes together"), ContainSubstring("--artifact-max-bytes"))))
		}
	}
	_, bytes := held(root)
	g.Expect(bytes).To(BeNumerically("<=", limits.ContentBytes))
	g.Expect(s.asked).To(ConsistOf("d0", "d1", "d2", "d2/small.yaml", "d3", "d3/small.yaml", "d4", "d4/small.yaml",
		"d2/large", "d3/large", "d4/large"), "what has no room is asked for once")
}

// TestWhatATreeGrowsByCountsOnce when what lies above is read later.
func TestWhatATreeGrowsByCountsOnce(t *testing.T) {
	g := NewWithT(t)
	const each = 100_000
	s := &source{t: t, files: map[string]string{"app/a.yaml": "a", "b/c/d/e.yaml": strings.Repeat("x", each), "b/c/e.yaml": "c", "b/e.yaml": "b", "bc/e.yaml": "bc"}}
	limits := backend.DefaultLimits()
	limits.ContentBytes = 3 * each / 2
	root := s.at("app").GrowingFS(t.Context(), limits, s.more)
	for _, name := range []string{"bc/e.yaml", "b/c/d/e.yaml", "b/c/e.yaml", "b/e.yaml", "bc/e.yaml", "b/c/d/e.yaml"} {
		g.Expect(fs.ReadFile(root, name)).To(BeEquivalentTo(s.files[name]), name)
	}
	trees, _ := held(root)
	g.Expect(trees).To(Equal(2))
	g.Expect(s.asked).To(Equal([]string{"bc", "b/c/d", "b/c", "b"}))
}

// TestPlacesBeyondHaveALimit of their own.
func TestPlacesBeyondHaveALimit(t *testing.T) {
	g := NewWithT(t)
	limits := backend.DefaultLimits()
	limits.Files = 2
	b := NewBuilder(limits)
	reason := errors.New("it lies beyond")
	for i := range 20 {
		g.Expect(b.Beyond(fmt.Sprint("d/", i), 0, "id", reason)).To(Succeed())
	}
	g.Expect(b.File("a", nil, false)).To(Succeed(), "they are no files")
	err := b.Beyond("d/20", 0, "id", reason)
	g.Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(And(ContainSubstring("more than 20 other files"), ContainSubstring("--artifact-max-files"))))
}
