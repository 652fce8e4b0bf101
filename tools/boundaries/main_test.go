// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes a tree in which every module stands as the table says, changed by edit.
func tree(t *testing.T, edit map[string]string) string {
	t.Helper()
	root := t.TempDir()
	work := "go 1.26.0\n"
	for folder, siblings := range allowed {
		text := "module " + prefix + folder + "\n\ngo 1.26.0\n"
		for _, sibling := range siblings {
			text += "require " + prefix + sibling + " v0.9.0\nreplace " + prefix + sibling + " => ../" + sibling + "\n"
		}
		write(t, filepath.Join(root, folder, "go.mod"), text+edit[folder])
		work += "use ./" + folder + "\n"
	}
	write(t, filepath.Join(root, "go.work"), work)
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	cases := []struct {
		name string
		edit map[string]string
		want string
	}{
		{"as the table says", nil, ""},
		{"a forbidden edge", map[string]string{"observer": "require " + prefix + "controllermanager v0.9.0\n"}, "requires controllermanager, which"},
		{"another version", map[string]string{"e2e": "require " + prefix + "client v0.8.0\n"}, "requires client at v0.8.0"},
		{"no replace", map[string]string{"api": "require " + prefix + "client v0.9.0\n"}, "lacks the line replace"},
		{"an unknown module", map[string]string{"extra": ""}, "extra/go.mod: a module that the table does not know"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.edit)
			if c.name == "an unknown module" {
				write(t, filepath.Join(root, "extra", "go.mod"), "module x\n")
			}
			faults, err := check(root)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(faults, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("faults:\n%s\nwant one with %q", got, c.want)
			}
		})
	}
}
