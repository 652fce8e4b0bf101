// SPDX-License-Identifier: Apache-2.0

// Package render turns the content of a source into the objects that a Release wants in
// its target cluster: charts, kustomizations and plain manifests become one ordered,
// digested list of objects and hooks, with the Release's mutations applied.
//
// The same inputs give the same bytes, in every process and on every machine. A Renderer
// renders the same inputs once and shares the result.
//
// Rendering reads the content it is given and asks the interfaces of Input; it opens no
// connection, reads no file of the host, and starts no program but, with Options.Workers, its
// own once more, in which engines run. What it may use is bounded by Limits. It applies
// nothing: that is the business of those who use it.
package render
