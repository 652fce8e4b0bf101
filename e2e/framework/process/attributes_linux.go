// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// attributes puts the child into a process group of its own, so that an
// interrupt typed at the terminal reaches this program alone and the stop order
// stays in its hands. An attached child is killed by the kernel when this
// program dies.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
