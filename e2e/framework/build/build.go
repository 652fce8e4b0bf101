// SPDX-License-Identifier: Apache-2.0

// Package build makes convoy's binaries from this tree.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// binaries are convoy's own, with their packages relative to the root.
var binaries = []string{
	"./apiserver/cmd/convoy-apiserver",
	"./controllermanager/cmd/convoy-controller-manager",
	"./observer/cmd/convoy-observer",
	"./kubectl-convoy/cmd/kubectl-convoy",
}

// Root returns the root of the tree that the working directory lies in.
func Root() (string, error) {
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
			return "", errors.New("no go.work in the working directory or above it")
		}
		dir = parent
	}
}

// Convoy builds convoy's binaries into <root>/bin, or those of them that are named, and
// returns that folder. Progress goes to log.
func Convoy(ctx context.Context, root string, log io.Writer, names ...string) (string, error) {
	bin := filepath.Join(root, "bin")
	args := []string{"build", "-o", bin + string(filepath.Separator)}
	for _, binary := range binaries {
		if len(names) == 0 || slices.Contains(names, path.Base(binary)) {
			args = append(args, binary)
		}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = log, log
	fmt.Fprintln(log, "building convoy …")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build: %w", err)
	}
	return bin, nil
}
