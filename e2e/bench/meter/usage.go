// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which Linux tells programs of processor time, whatever the kernel's
// own is.
const tick = 10 * time.Millisecond

// Usage is what a process takes of the machine.
type Usage struct {
	CPU      time.Duration // since its start, in user and system mode, in steps of 10 ms
	Resident int64         // bytes of memory now
	Peak     int64         // the most it ever was
	Own      int64         // of the resident bytes, those that are in no file: what it made itself
}

// ReadUsage asks the kernel about a process. It works on Linux only.
func ReadUsage(pid int) (Usage, error) {
	var u Usage
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, fmt.Errorf("read the use of process %d: %w", pid, err)
	}
	if u.CPU, err = cpuTime(string(stat)); err != nil {
		return u, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	u.Resident, u.Peak, u.Own = memory(string(status), "VmRSS"), memory(string(status), "VmHWM"), memory(string(status), "RssAnon")
	return u, nil
}

// cpuTime reads the 14th and 15th field; the second, the name, can hold spaces.
func cpuTime(stat string) (time.Duration, error) {
	_, rest, _ := strings.Cut(stat[strings.LastIndex(stat, ")")+1:], " ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("only %d fields", len(fields))
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// memory reads a line like "VmRSS:   123 kB"; without such a line it is 0.
func memory(status, name string) int64 {
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		if key != name {
			continue
		}
		kilobytes, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		return kilobytes << 10
	}
	return 0
}
