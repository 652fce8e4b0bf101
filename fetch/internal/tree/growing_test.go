// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/backend"
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
	patient := here.GrowingFS(t.Context(), func(ctx context.Context, _ string) (*Tree, error) {
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
