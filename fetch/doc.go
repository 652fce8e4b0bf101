// SPDX-License-Identifier: Apache-2.0

// Package fetch brings the content that Releases are made of into memory: from Git
// repositories, Helm repositories and OCI registries.
//
// A Coordinator is the one place in a process through which all content comes. However
// many ask, one revision of one source is fetched once; a moving reference is looked up no
// more often than the most impatient asks; what was fetched is shared, immutable, until it
// is the least recently used and room is needed. Sources are told apart by how they are
// reached and with which credentials, not by their names: two that are equal in that share
// everything, and two that differ in a credential share nothing.
//
// The package knows the kinds of source.convoy.kumodo.io and the source block of a
// Release. It renders nothing, applies nothing and writes nothing to a disk. What it takes
// in is hostile until shown otherwise: names, links, sizes and compression are checked and
// bounded. No error holds a secret.
package fetch
