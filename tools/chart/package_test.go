// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An archive needs nothing of the tree, and differs from it in what a release decides.
func TestPackage(t *testing.T) {
	archive, err := pack(chartFolder, t.TempDir(), "1.2.3", "registry.example.com/convoy")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(archive, "convoy-1.2.3.tgz") {
		t.Errorf("the archive is %s", archive)
	}
	packed, err := load(archive)
	if err != nil {
		t.Fatal(err)
	}
	made, err := render(packed, defaultNamespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := rendered(t, defaultNamespace, "{image: {registry: registry.example.com/convoy, tag: v1.2.3}}")
	if difference := cmp.Diff(want, parse(t, made.objects)); difference != "" {
		t.Errorf("the tree (-) and the archive (+) differ:\n%s", difference)
	}
	for _, file := range packed.Files {
		if strings.Contains(file.Name, "kustomization") {
			t.Errorf("the archive has %s, which no template reads", file.Name)
		}
	}
}

// All that is released together has one version.
func TestOneVersion(t *testing.T) {
	one, err := load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	version := one.AppVersion()
	if version != "v"+one.Metadata.Version {
		t.Errorf("version %s, appVersion %s", one.Metadata.Version, version)
	}
	for _, file := range []string{"apiserver/internal/app/app.go", "internal/process/doc.go", "kubectl-convoy/internal/command/version.go"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "var Version = \""+version+"\"") {
			t.Errorf("%s has another version than %s", file, version)
		}
	}
}
