// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

// build makes a tree of files, and of links, which are written "-> target".
func build(t testing.TB, content map[string]string) *Tree {
	t.Helper()
	b := NewBuilder(backend.DefaultLimits())
	for name, text := range content {
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = b.Link(name, target)
		} else {
			err = b.File(name, []byte(text), false)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Build()
}

func TestFSIsAFileSystem(t *testing.T) {
	tree := build(t, map[string]string{"a.yaml": "a", "empty": "", "d/b.yaml": "bb", "d/e/c.yaml": "ccc", "link.yaml": "-> d/b.yaml", "dir": "-> d/e"})
	if err := fstest.TestFS(tree.FS(), "a.yaml", "empty", "d/b.yaml", "d/e/c.yaml", "link.yaml", "dir/c.yaml"); err != nil {
		t.Fatal(err)
	}
}

func TestLinks(t *testing.T) {
	tree := build(t, map[string]string{
		"shared/a.yaml":  "shared",
		"shared/d/b":     "deep",
		"apps/a.yaml":    "-> ../shared/a.yaml",
		"apps/b.yaml":    "-> ../../../../etc/hostname",
		"apps/c.yaml":    "-> /etc/passwd",
		"apps/dir":       "-> ../shared/d",
		"apps/chain":     "-> hop",
		"apps/hop":       "-> dir/b",
		"apps/through":   "-> dir/../a.yaml",
		"docs/dangling":  "-> nowhere",
		"docs/l1":        "-> l2",
		"docs/l2":        "-> l1",
		"docs/up":        "-> ..",
		"docs/not-a-dir": "-> ../shared/a.yaml/x",
	})
	for _, tc := range []struct{ name, given, want, wantLink string }{
		{name: "inside", given: "apps/a.yaml", want: "shared"},
		{name: "through a directory link", given: "apps/dir/b", want: "deep"},
		{name: "chain", given: "apps/chain", want: "deep"},
		{name: "parent of a linked directory is the real one", given: "apps/through", want: "shared"},
		{name: "circle of directories, read by name", given: "docs/up/docs/up/apps/a.yaml", want: "shared"},
		{name: "out of the tree", given: "apps/b.yaml", wantLink: `"apps/b.yaml" -> "../../../../etc/hostname"`},
		{name: "absolute", given: "apps/c.yaml", wantLink: `"apps/c.yaml" -> "/etc/passwd"`},
		{name: "dangling", given: "docs/dangling", wantLink: `"docs/dangling" -> "nowhere"`},
		{name: "circle", given: "docs/l1", wantLink: `"docs/l1" -> "l2"`},
		{name: "through a file", given: "docs/not-a-dir", wantLink: `"docs/not-a-dir" -> "../shared/a.yaml/x"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			data, err := fs.ReadFile(tree.FS(), tc.given)
			if tc.wantLink == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(data)).To(Equal(tc.want))
				return
			}
			g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue())
			g.Expect(errors.Is(err, fs.ErrNotExist)).To(BeFalse())
			g.Expect(err.Error()).To(ContainSubstring(tc.wantLink))
		})
	}
}

func TestWalkShowsLinksAsWhatTheyLeadTo(t *testing.T) {
	g := NewWithT(t)
	tree := build(t, map[string]string{
		"base/x.yaml": "x", "app/base": "-> ../base", "app/f.yaml": "-> base/x.yaml", "app/loop": "-> ..", "app/bad": "-> /etc",
		"base/back": "-> ../app",
	})
	var seen []string
	err := fs.WalkDir(tree.FS(), "app", func(path string, d fs.DirEntry, err error) error {
		seen = append(seen, fmt.Sprintf("%s %s", path, d.Type()))
		return err
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(seen).To(Equal([]string{
		"app d---------", "app/bad L---------", "app/base d---------", "app/base/back L---------",
		"app/base/x.yaml ----------", "app/f.yaml ----------", "app/loop L---------",
	}))
}

func TestPointersOfLFSAreNotReadAsContent(t *testing.T) {
	g := NewWithT(t)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	tree := build(t, map[string]string{"values.yaml": pointer, "link": "-> values.yaml"})
	for _, name := range []string{"values.yaml", "link"} {
		_, err := fs.ReadFile(tree.FS(), name)
		g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue())
		g.Expect(err.Error()).To(And(ContainSubstring(name), ContainSubstring("Git LFS pointer")))
		f, err := tree.FS().Open(name)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = io.ReadAll(f)
		g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue())
		_, err = fs.Stat(tree.FS(), name)
		g.Expect(err).NotTo(HaveOccurred())
	}
}

func TestReadFileGivesACopy(t *testing.T) {
	g := NewWithT(t)
	tree := build(t, map[string]string{"a": "content"})
	first, err := fs.ReadFile(tree.FS(), "a")
	g.Expect(err).NotTo(HaveOccurred())
	first[0] = 'X'
	second, _ := fs.ReadFile(tree.FS(), "a")
	g.Expect(string(second)).To(Equal("content"))
}

func TestDigest(t *testing.T) {
	base := map[string]string{"app/a": "1", "app/d/b": "2", "other/c": "3", "linked/l": "-> ../other/c"}
	with := func(changes map[string]string) map[string]string {
		out := map[string]string{}
		for k, v := range base {
			out[k] = v
		}
		for k, v := range changes {
			if v == "" {
				delete(out, k)
			} else {
				out[k] = v
			}
		}
		return out
	}
	for _, tc := range []struct {
		name  string
		path  string
		given map[string]string
		same  bool
	}{
		{name: "equal content", path: ".", given: with(nil), same: true},
		{name: "change outside", path: "app", given: with(map[string]string{"other/c": "changed"}), same: true},
		{name: "change inside", path: "app", given: with(map[string]string{"app/d/b": "changed"})},
		{name: "file moved", path: "app", given: with(map[string]string{"app/d/b": "", "app/d/c": "2"})},
		{name: "boundary between name and content", path: "app", given: with(map[string]string{"app/a": "", "app/a1": ""})},
		{name: "change of what a link leads to", path: "linked", given: with(map[string]string{"other/c": "changed"})},
		{name: "change beside what a link leads to", path: "linked", given: with(map[string]string{"other/x": "new"}), same: true},
		{name: "link replaced by an equal file", path: "linked", given: with(map[string]string{"linked/l": "3"}), same: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			want, err := build(t, base).DigestAt(tc.path)
			g.Expect(err).NotTo(HaveOccurred())
			got, err := build(t, tc.given).DigestAt(tc.path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got == want).To(Equal(tc.same))
			g.Expect(got).To(MatchRegexp("^sha256:[0-9a-f]{64}$"))
		})
	}
}

func TestDigestIsStable(t *testing.T) {
	// A digest is kept in status and in stored renders: it may not change between versions.
	g := NewWithT(t)
	tree := build(t, map[string]string{"a": "1", "d/b": "2", "l": "-> d"})
	g.Expect(tree.Digest()).To(Equal("sha256:b41302ae50b21e3f1103970507b240e9b539a256739343ce2172e5f8f0b07b2c"))
}

func TestDigestAtErrors(t *testing.T) {
	tree := build(t, map[string]string{"app/a": "1", "out": "-> ../..", "to-app": "-> app"})
	for _, tc := range []struct {
		name, given string
		want        error
	}{
		{name: "directory", given: "app"},
		{name: "through a link", given: "to-app"},
		{name: "missing", given: "nope", want: fault.ErrNotFound},
		{name: "file", given: "app/a", want: fault.ErrInvalid},
		{name: "climbing", given: "../app", want: fault.ErrInvalid},
		{name: "link out", given: "out", want: fault.ErrContent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tree.DigestAt(tc.given)
			NewWithT(t).Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
		})
	}
}

func TestLinksThatUnfoldWithoutEndAreRefused(t *testing.T) {
	g := NewWithT(t)
	// Ten directories, each with a link to every other one: ten factorial ways through.
	content := map[string]string{"plain/a": "1"}
	for i := range 10 {
		for j := range 10 {
			content[fmt.Sprintf("d%d/l%d", i, j)] = fmt.Sprintf("-> ../d%d", j)
		}
	}
	tree := build(t, content)
	_, err := tree.DigestAt("d0")
	g.Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%v", err)
	_, err = tree.DigestAt("plain")
	g.Expect(err).NotTo(HaveOccurred())
}

func TestBuilderRefuses(t *testing.T) {
	limits := backend.Limits{ContentBytes: 100, FileBytes: 60, Files: 8, PathBytes: 40, PathDepth: 4}
	for _, tc := range []struct {
		name  string
		given func(*Builder) error
		want  error
	}{
		{"climbing", func(b *Builder) error { return b.File("../a", nil, false) }, fault.ErrContent},
		{"climbing inside", func(b *Builder) error { return b.File("a/../b", nil, false) }, fault.ErrContent},
		{"absolute", func(b *Builder) error { return b.File("/a", nil, false) }, fault.ErrContent},
		{"empty", func(b *Builder) error { return b.File("", nil, false) }, fault.ErrContent},
		{"root", func(b *Builder) error { return b.File(".", nil, false) }, fault.ErrContent},
		{"zero byte", func(b *Builder) error { return b.File("a\x00b", nil, false) }, fault.ErrContent},
		{"not text", func(b *Builder) error { return b.File("a\xff", nil, false) }, fault.ErrContent},
		{"twice", func(b *Builder) error { return errors.Join(b.File("a", nil, false), b.File("a", nil, false)) }, fault.ErrContent},
		{"file as directory", func(b *Builder) error { return errors.Join(b.File("a", nil, false), b.File("a/b", nil, false)) }, fault.ErrContent},
		{"through a link", func(b *Builder) error { return errors.Join(b.Link("a", "b"), b.File("a/c", nil, false)) }, fault.ErrContent},
		{"directory as file", func(b *Builder) error { return errors.Join(b.File("a/b", nil, false), b.File("a", nil, false)) }, fault.ErrContent},
		{"empty link", func(b *Builder) error { return b.Link("a", "") }, fault.ErrContent},
		{"long path", func(b *Builder) error { return b.File(strings.Repeat("x", 41), nil, false) }, fault.ErrLimit},
		{"deep path", func(b *Builder) error { return b.File("1/2/3/4/5", nil, false) }, fault.ErrLimit},
		{"large file", func(b *Builder) error { return b.File("a", make([]byte, 61), false) }, fault.ErrLimit},
		{"large content", func(b *Builder) error {
			return errors.Join(b.File("a", make([]byte, 60), false), b.File("b", make([]byte, 41), false))
		}, fault.ErrLimit},
		{"many files", func(b *Builder) error {
			var errs []error
			for i := range 9 {
				errs = append(errs, b.File(fmt.Sprint(i), nil, false))
			}
			return errors.Join(errs...)
		}, fault.ErrLimit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.given(NewBuilder(limits))
			NewWithT(t).Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
		})
	}
}
