// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kumodo.io/convoy/e2e/framework/poll"
)

// recorded is what a pid file says about a process.
type recorded struct {
	path     string
	pid      int
	identity string
	written  time.Time
}

// writePIDFile writes the id and, on a second line, the identity, which keeps
// StopFolder from ending a stranger that was given the same id later.
func writePIDFile(path string, pid int) error {
	id, err := identity(pid)
	if err != nil && !errors.Is(err, errGone) {
		return err
	}
	return os.WriteFile(path, fmt.Appendf(nil, "%d\n%s\n", pid, id), 0o644)
}

// StopFolder ends every process whose pid file lies in the folder or below, the
// last started first: SIGTERM, and SIGKILL after the grace period. Pid files of
// processes that are gone, or whose id now belongs to another process, are just
// removed. It writes one line per process to log and returns how many it ended.
func StopFolder(ctx context.Context, dir string, grace time.Duration, log io.Writer) (int, error) {
	processes, err := readFolder(dir)
	if err != nil {
		return 0, fmt.Errorf("read the pid files: %w", err)
	}
	slices.SortFunc(processes, func(a, b recorded) int { return b.written.Compare(a.written) })
	stopped := 0
	var problems []error
	for _, p := range processes {
		if p.alive() {
			name := strings.TrimSuffix(filepath.Base(p.path), ".pid")
			fmt.Fprintf(log, "stopping %s (%d)\n", name, p.pid)
			if err := p.stop(ctx, grace); err != nil {
				problems = append(problems, fmt.Errorf("stop %s: %w", name, err))
				continue
			}
			stopped++
		}
		problems = append(problems, os.Remove(p.path))
	}
	return stopped, errors.Join(problems...)
}

func readFolder(dir string) ([]recorded, error) {
	var processes []recorded
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".pid" {
			return err
		}
		p, err := readPIDFile(path)
		processes = append(processes, p)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return processes, err
}

func readPIDFile(path string) (recorded, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return recorded{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return recorded{}, err
	}
	first, rest, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 {
		return recorded{}, fmt.Errorf("%s does not hold a process id", path)
	}
	return recorded{path: path, pid: pid, identity: strings.TrimSpace(rest), written: info.ModTime()}, nil
}

func (p recorded) alive() bool {
	id, err := identity(p.pid)
	return err == nil && id == p.identity
}

func (p recorded) stop(ctx context.Context, grace time.Duration) error {
	if err := syscall.Kill(p.pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	graceful, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if poll.Until(graceful, readyInterval, p.gone) == nil {
		return nil
	}
	if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return poll.Until(ctx, readyInterval, p.gone)
}

func (p recorded) gone(context.Context) error {
	if p.alive() {
		return errors.New("it still runs")
	}
	return nil
}
