// SPDX-License-Identifier: Apache-2.0

// Package errands has what takes long done without holding up who wants it. A pass of a controller
// over a key waits a moment for an errand, which most are done in; what is not goes on for the key,
// which is enqueued at its end, and a later pass is given the outcome. An errand ends when the
// passes of its key do not want it any more. What is lost with the process is begun again.
package errands
