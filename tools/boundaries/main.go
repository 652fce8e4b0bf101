// SPDX-License-Identifier: Apache-2.0

// Command boundaries checks that the modules of this tree require each other only as
// ARCHITECTURE.md allows, in lock step: every sibling at the one version, replaced by its
// folder, and every folder with a go.mod named in go.work (but those that stand outside).
// Usage: boundaries [root]. It prints each fault and exits with 1 when there is one.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

const prefix = "kumodo.io/convoy/"

// allowed is the table of ARCHITECTURE.md: module folder -> siblings it may require.
var allowed = map[string][]string{
	"api":               {},
	"client":            {"api"},
	"clusterconn":       {"api"},
	"fetch":             {"api"},
	"render":            {"api"},
	"expressions":       {},
	"health":            {"api", "expressions"},
	"doctest":           {},
	"internal":          {"api", "client"},
	"apiserver":         {"api", "client", "expressions", "health", "internal", "doctest"},
	"controllermanager": {"api", "client", "clusterconn", "expressions", "fetch", "render", "internal", "doctest"},
	"observer":          {"api", "client", "clusterconn", "expressions", "fetch", "render", "health", "internal", "doctest"},
	"kubectl-convoy":    {"api", "client", "expressions", "health", "doctest"},
	"e2e":               {"api", "client", "doctest"},
}

// outside are the modules that are deliberately not in go.work.
var outside = []string{"e2e/controlplane", "tools", "tools/chart", "tools/monitoring"}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	faults, err := check(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "boundaries:", err)
		os.Exit(2)
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
	fmt.Printf("boundaries: %d modules keep to the table\n", len(allowed))
}

// check returns one line for each fault found under root.
func check(root string) ([]string, error) {
	var faults []string
	version := ""
	for _, folder := range sortedKeys(allowed) {
		file, err := parse(filepath.Join(root, folder, "go.mod"))
		if err != nil {
			return nil, err
		}
		faults = append(faults, checkModule(folder, file, &version)...)
	}
	workFaults, err := checkWork(root)
	return append(faults, workFaults...), err
}

func parse(path string) (*modfile.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path, data, nil)
}

func checkModule(folder string, file *modfile.File, version *string) []string {
	var faults []string
	fault := func(format string, args ...any) {
		faults = append(faults, folder+"/go.mod: "+fmt.Sprintf(format, args...))
	}
	if file.Module.Mod.Path != prefix+folder {
		fault("the module is called %s, want %s", file.Module.Mod.Path, prefix+folder)
	}
	for _, require := range file.Require {
		sibling, ok := strings.CutPrefix(require.Mod.Path, prefix)
		if !ok {
			continue
		}
		if !slices.Contains(allowed[folder], sibling) {
			fault("requires %s, which the table of ARCHITECTURE.md does not allow", sibling)
		}
		if *version == "" {
			*version = require.Mod.Version
		}
		if require.Mod.Version != *version || strings.HasPrefix(require.Mod.Version, "v0.0.0") {
			fault("requires %s at %s, the lock-step version is %s", sibling, require.Mod.Version, *version)
		}
		want, _ := filepath.Rel(folder, sibling)
		if !replacedBy(file, require.Mod.Path, want) {
			fault("lacks the line replace %s => %s", require.Mod.Path, want)
		}
	}
	return faults
}

func replacedBy(file *modfile.File, path, folder string) bool {
	for _, replace := range file.Replace {
		if replace.Old.Path == path && replace.New.Path == folder && replace.New.Version == "" {
			return true
		}
	}
	return false
}

// checkWork compares go.work and the go.mod files of the tree with the table.
func checkWork(root string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", data, nil)
	if err != nil {
		return nil, err
	}
	var used []string
	for _, use := range work.Use {
		used = append(used, strings.TrimPrefix(use.Path, "./"))
	}
	var faults []string
	for _, folder := range sortedKeys(allowed) {
		if !slices.Contains(used, folder) {
			faults = append(faults, "go.work: lacks ./"+folder)
		}
	}
	found, err := modules(root)
	for _, folder := range found {
		if _, known := allowed[folder]; !known && !slices.Contains(outside, folder) {
			faults = append(faults, folder+"/go.mod: a module that the table does not know")
		}
	}
	return faults, err
}

// modules are the folders under root with a go.mod, but hidden ones and test data.
func modules(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if name == "go.mod" {
			folder, _ := filepath.Rel(root, filepath.Dir(path))
			found = append(found, folder)
		}
		return nil
	})
	return found, err
}

func sortedKeys(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
