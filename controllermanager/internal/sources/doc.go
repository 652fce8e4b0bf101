// SPDX-License-Identifier: Apache-2.0

// Package sources finds the source objects that Releases refer to, says in the words of
// conditions what went wrong with them, and reads single files out of them. It fetches
// nothing itself: content comes from the fetch coordinator.
package sources
