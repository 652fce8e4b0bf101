// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// program is what this process runs, also when another version lies at its path meanwhile.
func program() (string, error) { return "/proc/self/exe", nil }

// attributes let the worker end with this process.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// stopped tells whether a process was stopped by a signal or a debugger.
func stopped(pid int) bool {
	stat, _ := os.ReadFile(path.Join("/proc", strconv.Itoa(pid), "stat"))
	// The state follows the name, which stands in brackets and may have some in it.
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return strings.HasPrefix(state, "T") || strings.HasPrefix(state, "t")
}

// closeInherited closes the descriptors that were open when this process began: its parent opens
// none that are handed on, but may have been handed some itself. Those of the runtime are
// anonymous.
func closeInherited() {
	const open = "/proc/self/fd"
	entries, _ := os.ReadDir(open)
	for _, e := range entries {
		descriptor, err := strconv.Atoi(e.Name())
		to, _ := os.Readlink(path.Join(open, e.Name()))
		if err == nil && descriptor > syscall.Stderr && !strings.HasPrefix(to, "anon_inode:") {
			_ = syscall.Close(descriptor) // that of ReadDir is closed already
		}
	}
}

// confine gives up what a worker does not need: open files, memory beyond its limit, new files,
// core dumps, in which there would be values of Secrets. When the host lacks memory, the worker
// is the first to end. Where something is refused, the watch on memory is what is left.
func confine(memory int64) {
	closeInherited()
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	limits := map[int]uint64{syscall.RLIMIT_DATA: uint64(memory + beside), syscall.RLIMIT_FSIZE: 0, syscall.RLIMIT_CORE: 0}
	for resource, most := range limits {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most})
	}
}
