// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 1\n"

// withParts has a submodule, a link to it, and pointers.
func withParts(t *testing.T) *Tree {
	t.Helper()
	b := NewBuilder(backend.DefaultLimits())
	for _, err := range []error{
		b.File("app/a.yaml", []byte("a"), false), b.File("app/p.yaml", []byte(pointer), false), b.File("media/p.bin", []byte(pointer), false),
		b.Submodule("lib", strings.Repeat("1", 40)), b.Link("linked/lib", "../lib"), b.Link("linked/p.bin", "../media/p.bin"), b.Link("linked/self", "."),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Build()
}

func keys(set map[string]bool) []string {
	var list []string
	for key := range set {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

func TestParts(t *testing.T) {
	g := NewWithT(t)
	base := withParts(t)
	submodules, pointers := base.Parts()
	g.Expect(submodules).To(Equal([]Submodule{{Path: "lib", Commit: strings.Repeat("1", 40)}}))
	g.Expect(pointers).To(Equal([]Pointer{{"app/p.yaml", []byte(pointer)}, {"media/p.bin", []byte(pointer)}}))
	g.Expect(base.HasParts()).To(BeTrue())
	for path, want := range map[string][]string{"app": {"app/p.yaml"}, "linked": {"media/p.bin"}, ".": {"app/p.yaml", "media/p.bin"}, "lib": nil, "nope": nil} {
		g.Expect(keys(base.PointersAt(path))).To(Equal(want), path)
	}
	g.Expect(base.Incomplete()).To(Succeed(), "nobody has looked for anything")
	entries, err := fs.ReadDir(base.FS(), "lib")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(BeEmpty())
}

func TestWith(t *testing.T) {
	g := NewWithT(t)
	base := withParts(t)
	inner := NewBuilder(backend.DefaultLimits())
	g.Expect(inner.File("x/lib.yaml", []byte("lib"), true)).To(Succeed())
	g.Expect(inner.Link("up", "../app/a.yaml")).To(Succeed())
	lib := inner.Build()
	file := func(content string) Filling {
		return Filling{File: []byte(content), Sum: sha256.Sum256([]byte(content))}
	}
	whole, err := base.With(backend.DefaultLimits(), map[string]Filling{"lib": {Tree: lib}, "app/p.yaml": file("p"), "media/p.bin": file("m")})
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(fstest.TestFS(whole.FS(), "lib/x/lib.yaml", "app/p.yaml", "linked/lib/x/lib.yaml")).To(Succeed())
	for name, want := range map[string]string{"lib/x/lib.yaml": "lib", "app/p.yaml": "p", "linked/p.bin": "m", "lib/up": "a"} {
		got, err := fs.ReadFile(whole.FS(), name)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(string(got)).To(Equal(want))
	}
	g.Expect(whole.Incomplete()).To(Succeed())
	g.Expect(whole.Unavailable(".")).To(Succeed())
	g.Expect(whole.HasParts()).To(BeFalse())
	g.Expect(whole.Bytes()).To(Equal(int64(len("a") + len("lib") + len("p") + len("m"))))

	// A tree that had all of it from the start is the same.
	same := NewBuilder(backend.DefaultLimits())
	for _, err := range []error{
		same.File("app/a.yaml", []byte("a"), false), same.File("app/p.yaml", []byte("p"), false), same.File("media/p.bin", []byte("m"), false),
		same.File("lib/x/lib.yaml", []byte("lib"), true), same.Link("lib/up", "../app/a.yaml"),
		same.Link("linked/lib", "../lib"), same.Link("linked/p.bin", "../media/p.bin"), same.Link("linked/self", "."),
	} {
		g.Expect(err).NotTo(HaveOccurred())
	}
	built := same.Build()
	g.Expect(whole.Digest()).To(Equal(built.Digest()))
	g.Expect(whole.Files()).To(Equal(built.Files()))
	one, err := whole.DigestAt("linked")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(built.DigestAt("linked")).To(Equal(one))

	// No node is shared: a store changes those of a tree that it takes in.
	whole.Share(func([sha256.Size]byte, []byte) []byte { return []byte("changed") })
	got, err := fs.ReadFile(lib.FS(), "x/lib.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal("lib"))
	got, err = fs.ReadFile(base.FS(), "app/a.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal("a"))
}

func TestWithWhatIsMissing(t *testing.T) {
	g := NewWithT(t)
	base := withParts(t)
	gone, passing := fault.New(fault.ErrContent, "gone"), fault.New(fault.ErrUnreachable, "down")
	lacking, err := base.With(backend.DefaultLimits(), map[string]Filling{"lib": {Err: passing}, "app/p.yaml": {Err: gone}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lacking.Incomplete()).To(MatchError("down"), "what can pass by itself is what counts")
	g.Expect(lacking.Digest()).NotTo(Equal(base.Digest()))
	for path, want := range map[string]string{"app": "", "media": "", "nope": "", "lib": "down", "lib/below": "down", "linked": "down", "linked/lib/below": "down", ".": "down"} {
		err := lacking.Unavailable(path)
		if want == "" {
			g.Expect(err).NotTo(HaveOccurred(), path)
			continue
		}
		g.Expect(err).To(MatchError(want), path)
		g.Expect(errors.Is(err, fault.ErrUnreachable)).To(BeTrue())
	}
	for path, want := range map[string]bool{"app": true, "media": false, "nope": false, "lib": true, "lib/below": true, "linked": true} {
		g.Expect(lacking.Lacks(path)).To(Equal(want), path)
	}
	for name, want := range map[string]string{"lib/x": "down", "linked/lib/x": "down", "app/p.yaml": "the file is a Git LFS pointer, whose content is missing: gone", "media/p.bin": "not fetched here"} {
		_, err := fs.ReadFile(lacking.FS(), name)
		g.Expect(err).To(MatchError(ContainSubstring(want)), name)
	}
	f, err := lacking.FS().Open("lib")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = f.(fs.ReadDirFile).ReadDir(-1)
	g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue(), "%v", err)
	_, err = f.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred())
	g.Expect(fs.WalkDir(lacking.FS(), ".", func(_ string, _ fs.DirEntry, err error) error { return err })).To(MatchError(ContainSubstring("down")))

	// An empty submodule that arrived is not a missing one.
	empty, err := base.With(backend.DefaultLimits(), map[string]Filling{"lib": {Tree: NewBuilder(backend.DefaultLimits()).Build()}, "app/p.yaml": {Err: gone}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(empty.Digest()).NotTo(Equal(lacking.Digest()))
	g.Expect(empty.Incomplete()).To(MatchError("gone"))
}

func TestWithLimits(t *testing.T) {
	inner := NewBuilder(backend.DefaultLimits())
	g := NewWithT(t)
	g.Expect(inner.File("some/deep/path/x", make([]byte, 100), false)).To(Succeed())
	lib := inner.Build()
	for name, change := range map[string]func(*backend.Limits){
		"bytes": func(l *backend.Limits) { l.ContentBytes = 300 }, "files": func(l *backend.Limits) { l.Files = 11 },
		"length": func(l *backend.Limits) { l.PathBytes = 19 }, "depth": func(l *backend.Limits) { l.PathDepth = 4 },
	} {
		limits := backend.DefaultLimits()
		change(&limits)
		lacking, err := withParts(t).With(limits, map[string]Filling{"lib": {Tree: lib, Name: "the library"}})
		g.Expect(err).NotTo(HaveOccurred(), name)
		err = lacking.Unavailable("lib")
		g.Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%s: %v", name, err)
		g.Expect(err).To(MatchError(HavePrefix("the library: ")))
		g.Expect(lacking.Unavailable("app")).To(Succeed(), "nobody else is concerned")
		g.Expect(lacking.Files()).To(Equal(withParts(t).Files()))
	}
	limits := backend.DefaultLimits()
	limits.ContentBytes, limits.Files, limits.PathBytes, limits.PathDepth = int64(1+2*len(pointer)+100), 14, 20, 5
	whole, err := withParts(t).With(limits, map[string]Filling{"lib": {Tree: lib}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(whole.Unavailable("lib")).To(Succeed())
}
