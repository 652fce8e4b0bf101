// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package isolated

import (
	"os"
	"syscall"
)

// program is what this process runs.
func program() (string, error) { return os.Executable() }

// attributes are those of any process: the worker ends when nobody sends orders any more.
func attributes() *syscall.SysProcAttr { return nil }

// stopped cannot be told here.
func stopped(int) bool { return false }

// confine has nothing to give up here; the watch on memory is what there is.
func confine(int64) {}
