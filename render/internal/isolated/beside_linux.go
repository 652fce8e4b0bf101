// SPDX-License-Identifier: Apache-2.0

//go:build !race

package isolated

// beside is the memory that a process has besides what the runtime counts: data of the
// program, room that is reserved and not used.
const beside = 256 << 20
