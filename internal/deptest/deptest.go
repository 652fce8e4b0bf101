// SPDX-License-Identifier: Apache-2.0

// Package deptest lets a binary's tests name the packages that it must not link, each with
// the reason.
package deptest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Forbid fails the test for each package that pkg links, directly or not, at or below one
// of the forbidden paths, with the reason given for it. It also fails for a forbidden path
// that no longer exists anywhere in the workspace, so that a list cannot rot unnoticed.
func Forbid(t *testing.T, pkg string, forbidden map[string]string) {
	t.Helper()
	deps, err := list("", nil, "-deps", pkg)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range linked(deps, forbidden) {
		t.Error(fault)
	}
	root, err := workspace()
	if err != nil {
		t.Fatal(err)
	}
	for path := range forbidden {
		if err := exists(root, path); err != nil {
			t.Errorf("the forbidden path %s no longer exists: %v", path, err)
		}
	}
}

// linked returns a line for each of deps that is forbidden.
func linked(deps []string, forbidden map[string]string) []string {
	var faults []string
	for _, dep := range deps {
		for path, reason := range forbidden {
			if dep == path || strings.HasPrefix(dep, path+"/") {
				faults = append(faults, fmt.Sprintf("links %s: %s", dep, reason))
			}
		}
	}
	return faults
}

// exists tells whether any package lies at or below path in the workspace's modules.
func exists(root, path string) error {
	found, err := list(root, []string{"GOWORK=" + filepath.Join(root, "go.work")}, path+"/...")
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("go list %s/... names no package", path)
	}
	return nil
}

func list(dir string, env []string, args ...string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.Fields(string(out)), nil
}

// workspace returns the folder of go.work.
func workspace() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", fmt.Errorf("no go.work above the working directory")
	}
}
