// SPDX-License-Identifier: Apache-2.0

// Package doctest lets tests hold the documentation against the code: flags, commands, fields
// and examples. Pages, and parts of pages, that are made of the code are written instead of
// compared with CONVOY_UPDATE_DOCS set.
package doctest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	// updateVariable, when set, makes Page and Part write instead of comparing.
	updateVariable = "CONVOY_UPDATE_DOCS"
	// digestVariable has a digest of all pages. go test remembers results by the environment that
	// a test asks for, and not by files outside of its module.
	digestVariable = "CONVOY_DOCS_DIGEST"
)

// Page fails the test when a page is not want. page is relative to the root of the repository.
func Page(t *testing.T, page, want string) {
	t.Helper()
	hold(t, page, func(string) (string, error) { return want, nil })
}

// Part fails the test when the part of a page that is called name is not want. A part is what
// is between the lines "<!-- made: name -->" and "<!-- end -->".
func Part(t *testing.T, page, name, want string) {
	t.Helper()
	hold(t, page, func(text string) (string, error) { return withPart(text, name, want) })
}

func withPart(text, name, want string) (string, error) {
	begin, end := "<!-- made: "+name+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("lacks a part between the lines %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + "\n" + want + "\n" + end + after, nil
}

// hold compares a page with what it should be, of what it is, or writes it.
func hold(t *testing.T, page string, should func(text string) (string, error)) {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, page)
	text, err := os.ReadFile(path)
	isUpdate := os.Getenv(updateVariable) != ""
	if err != nil && (!isUpdate || !os.IsNotExist(err)) {
		t.Fatal(err)
	}
	want, err := should(string(text))
	switch {
	case err != nil:
		t.Errorf("%s %v", page, err)
	case want == string(text):
	case isUpdate:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the code says: run this test with %s=1 and commit the page", page, updateVariable)
	}
}

// Cell makes a text fit into a field of a table.
func Cell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(strings.Join(strings.Fields(text), " "))
}

// Pages reads every page of the repository, by its path relative to the root: Markdown files
// outside of hidden folders and test data.
func Pages() (map[string]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	pages := map[string]string{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page, err := filepath.Rel(root, path)
		pages[filepath.ToSlash(page)] = string(text)
		return err
	})
	return pages, err
}

func read(page string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	return string(text), err
}

// Root finds the repository, which has the go.work, above the working directory.
func Root() (string, error) {
	_ = os.Getenv(digestVariable)
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.work above the working directory")
		}
		dir = parent
	}
}
