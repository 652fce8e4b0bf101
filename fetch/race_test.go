// SPDX-License-Identifier: Apache-2.0

//go:build race

package fetch_test

// raceDetector says that memory and time are not what they are without it.
const raceDetector = true
