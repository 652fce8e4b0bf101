// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kubectl returns the kubectl among the binaries or, as the script builds one
// only where there is none, the machine's own.
func Kubectl(assets string) (string, error) {
	if built, err := exec.LookPath(filepath.Join(assets, "kubectl")); err == nil {
		return built, nil
	}
	found, err := exec.LookPath("kubectl")
	if err != nil {
		return "", fmt.Errorf("find kubectl: %w", err)
	}
	return found, nil
}

// Assets runs the build script of e2e/controlplane, whose path is given, and
// returns the folder of the binaries for Options.Assets. The first run takes
// many minutes; its progress goes to log.
func Assets(ctx context.Context, script string, log io.Writer) (string, error) {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, script)
	cmd.Stdout, cmd.Stderr = &output, log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build the control plane: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	if folder := lines[len(lines)-1]; filepath.IsAbs(folder) {
		return folder, nil
	}
	return "", errors.New("build the control plane: the script named no folder")
}
