// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io/fs"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/tree"
)

func build(t *testing.T, files map[string]string) *tree.Tree {
	t.Helper()
	b := tree.NewBuilder(backend.DefaultLimits())
	for name, content := range files {
		if err := b.File(name, []byte(content), false); err != nil {
			t.Fatal(err)
		}
	}
	return b.Build()
}

const kib = 1024

func block(letter string) string { return strings.Repeat(letter, 10*kib) }

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	g := NewWithT(t)
	s := New(25 * kib)
	s.Put("a", build(t, map[string]string{"f": block("a")}))
	s.Put("b", build(t, map[string]string{"f": block("b")}))
	g.Expect(s.Get("a")).NotTo(BeNil())
	s.Put("c", build(t, map[string]string{"f": block("c")}))
	runtime.GC()
	g.Expect(s.Get("b")).To(BeNil())
	g.Expect(s.Get("a")).NotTo(BeNil())
	g.Expect(s.Get("c")).NotTo(BeNil())
	trees, bytes := s.Usage()
	g.Expect(trees).To(Equal(2))
	g.Expect(bytes).To(BeNumerically("<=", 25*kib))
}

func TestEqualFilesAreHeldOnce(t *testing.T) {
	g := NewWithT(t)
	s := New(100 * kib)
	s.Put("one", build(t, map[string]string{"big": block("x"), "small": "1"}))
	s.Put("two", build(t, map[string]string{"big": block("x"), "small": "2"}))
	_, bytes := s.Usage()
	g.Expect(bytes).To(BeNumerically("<", 12*kib))
	s.Put("two", build(t, map[string]string{"big": block("y")}))
	_, bytes = s.Usage()
	g.Expect(bytes).To(And(BeNumerically(">", 20*kib), BeNumerically("<", 22*kib)))
}

func TestWhatIsInUseStaysValidAndIsFound(t *testing.T) {
	g := NewWithT(t)
	s := New(15 * kib)
	s.Put("a", build(t, map[string]string{"f": block("a")}))
	used := s.Get("a")
	s.Put("b", build(t, map[string]string{"f": block("b")}))
	runtime.GC()
	g.Expect(s.Get("a")).To(BeIdenticalTo(used), "a forgotten tree in use is not fetched again")
	data, err := fs.ReadFile(used.FS(), "f")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(data)).To(Equal(block("a")))
	runtime.KeepAlive(used)
	used = nil
	runtime.GC()
	g.Expect(s.Get("a")).To(BeNil())
}

func TestTreeLargerThanTheStoreLeavesTheOthersAlone(t *testing.T) {
	g := NewWithT(t)
	s := New(15 * kib)
	s.Put("a", build(t, map[string]string{"f": block("a")}))
	huge := build(t, map[string]string{"f": block("h"), "g": block("i")})
	s.Put("huge", huge)
	g.Expect(s.Get("a")).NotTo(BeNil())
	g.Expect(s.Get("huge")).To(BeIdenticalTo(huge))
}
