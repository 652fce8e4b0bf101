// SPDX-License-Identifier: Apache-2.0

// Package sources says what the controllers need to know of the source objects that Releases
// refer to: which they are, in the words of conditions what went wrong with them, and what is
// in single files of them. It fetches nothing itself: content comes from the fetch
// coordinator.
package sources
