// SPDX-License-Identifier: Apache-2.0

// Package gitserver serves bare git repositories of a folder over smart HTTP
// with git's own backend, and authors their content: commits from maps of
// files, tags, rewritten branches.
//
// Authoring works on the folder and needs no server; a server reads all it has
// to know from the folder. So one process may serve what another one writes.
// The configuration of the user who runs it plays no part.
package gitserver
