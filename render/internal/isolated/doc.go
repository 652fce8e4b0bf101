// SPDX-License-Identifier: Apache-2.0

// Package isolated runs engines in processes of their own, the workers: the same program,
// started again. What content makes of an engine then ends a worker and not the process that
// asked: Go has no other means against a stack that overflows, a loop that heeds no context,
// and memory that is gone.
//
// A worker is sent one job at a time, and asks for the files that it reads and the objects
// that it looks up. It has no environment, no descriptor but its three pipes, and writes no
// file; of the user it runs as, the network and the file system, it is not confined.
package isolated
