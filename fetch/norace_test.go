// SPDX-License-Identifier: Apache-2.0

//go:build !race

package fetch_test

const raceDetector = false
