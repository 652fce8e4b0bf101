// SPDX-License-Identifier: Apache-2.0

// Package worker lets a program be started again as the process in which its renders run. A
// program that sets render.Options.Workers calls Main first of all.
package worker

import "kumodo.io/convoy/render/internal/isolated"

// Main does the work of a worker and does not return, if this process was started to be one:
// it ends with the process that started it. Else it does nothing. It is called before anything
// else in main, or in TestMain.
func Main() { isolated.Prepare() }
