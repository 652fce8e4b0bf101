// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// errGone means that no living process has the id. A zombie counts as gone.
var errGone = errors.New("no such process")

// identity returns when the process started, as the system tells it. Together
// with the id it names a process for ever, while an id alone is given out again.
func identity(pid int) (string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		return statIdentity(string(content))
	}
	if _, missing := os.Stat("/proc/self/stat"); missing == nil {
		return "", errGone
	}
	output, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if started := strings.TrimSpace(string(output)); err == nil && started != "" {
		return started, nil
	}
	return "", errGone
}

// statIdentity reads the start time out of /proc/<pid>/stat. The second field,
// the program's name in parentheses, may hold anything. A zombie is gone once no
// other thread is left: until then the ports of the process are still taken.
func statIdentity(stat string) (string, error) {
	const state, threads, start = 0, 17, 19 // counted after the name; proc(5) fields 3, 20 and 22
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= start {
		return "", errGone
	}
	if dead := fields[state] == "Z" || fields[state] == "X"; dead && (fields[threads] == "0" || fields[threads] == "1") {
		return "", errGone
	}
	return fields[start], nil
}
