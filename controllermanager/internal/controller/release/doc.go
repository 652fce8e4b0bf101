// SPDX-License-Identifier: Apache-2.0

// Package release is the controller of Releases: it brings the content of a source to a
// target cluster, keeps the inventory of what is there, and removes it with the Release.
//
// Every reconcile is one pass over an ordered list of steps (reconcile.go), one file for
// each. A step derives what is to be done from the Release, its inventory and the cached
// sources as they are now; nothing is carried from pass to pass but how often something
// failed (retry.go) and what this process wrote that the informers have not shown yet
// (latest.go). A step never waits: it says what is waited for, and an event or a timer
// begins the next pass. So a newer desired state supersedes an older one wherever it
// stands, and a process that dies anywhere is continued by the next one.
//
// The steps return outcomes; conditions.go alone turns outcomes into conditions, and the
// status is written once at the end of a pass, if it changed.
package release
