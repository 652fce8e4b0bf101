// SPDX-License-Identifier: Apache-2.0

//go:build race

package isolated

// beside is without a bound: the race detector remembers many times as much as there is.
const beside = 1 << 40
