// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/tree"
)

func TestWalk(t *testing.T) {
	tests := []struct {
		name  string
		links map[string]string // name -> target
		want  []string
		err   string
	}{
		{"files in order", nil, []string{"a.yaml", "sub/b.yaml"}, ""},
		{"link to a file", map[string]string{"z.yaml": "../shared/s.yaml"}, []string{"a.yaml", "sub/b.yaml", "z.yaml"}, ""},
		{"link to nothing", map[string]string{"z.yaml": "none"}, nil, "z.yaml"},
		{"link in a circle", map[string]string{"sub/up": ".."}, nil, "the link apps/sub/up leads to a directory that it lies in"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			for _, name := range []string{"apps/a.yaml", "apps/sub/b.yaml", "apps/skipped/c.yaml", "shared/s.yaml"} {
				g.Expect(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700)).To(Succeed())
				g.Expect(os.WriteFile(filepath.Join(dir, name), nil, 0o600)).To(Succeed())
			}
			for name, target := range test.links {
				g.Expect(os.Symlink(target, filepath.Join(dir, "apps", name))).To(Succeed())
			}
			var visited []string
			err := tree.Walk(os.DirFS(dir), "apps",
				func(name string, _ fs.DirEntry) bool { return name == "skipped" },
				func(name string, _ fs.DirEntry) error { visited = append(visited, name); return nil })
			if test.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(visited).To(Equal(test.want))
		})
	}
}

func TestInside(t *testing.T) {
	tests := []struct{ dir, name, want string }{
		{".", "a.yaml", "a.yaml"},
		{"apps/web", "prod.yaml", "apps/web/prod.yaml"},
		{"apps/web", "../../env/prod.yaml", "env/prod.yaml"},
		{"apps/web", "../../../prod.yaml", ""},
		{"apps/web", "/etc/passwd", ""},
	}
	for _, test := range tests {
		g := NewWithT(t)
		got, err := tree.Inside(test.dir, test.name)
		g.Expect(got).To(Equal(test.want))
		g.Expect(err != nil).To(Equal(test.want == ""), test.name)
	}
}
