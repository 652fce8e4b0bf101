// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import "syscall"

// attributes puts the child into a process group of its own. There is no
// parent-death signal here: children of a killed program stay, and StopFolder
// ends them.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}
