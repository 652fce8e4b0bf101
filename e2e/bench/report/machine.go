// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"runtime"
	"strings"
)

// Machine is where the figures were measured.
type Machine struct {
	OS    string `json:"os"`
	CPUs  int    `json:"cpus"`
	Model string `json:"model,omitempty"`
	Go    string `json:"go"`
	// Load is the machine's load average (1, 5, 15 minutes) when the run began: what else
	// it had to do.
	Load string `json:"load,omitempty"`
}

// ThisMachine describes the machine that the command runs on. What the system does not tell
// is empty.
func ThisMachine() Machine {
	return Machine{
		OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Model: cpuModel(read("/proc/cpuinfo")), Load: loadAverage(read("/proc/loadavg")),
	}
}

func read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func loadAverage(loadavg string) string {
	fields := strings.Fields(loadavg)
	return strings.Join(fields[:min(3, len(fields))], " ")
}
