// SPDX-License-Identifier: Apache-2.0

// Package content reads what renders refer to besides their artifact, from the host cluster and
// from sources, and says in the words of conditions why content could not be had. It fetches
// nothing itself: content comes from the fetch coordinator.
package content
