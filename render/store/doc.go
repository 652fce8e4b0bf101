// SPDX-License-Identifier: Apache-2.0

// Package store keeps renders in an object store, for rollbacks and for other processes.
// Package location opens one by its URL.
//
// A render is stored under its installation, its Release and its digest. What is there is
// written again only if it cannot be read, or is in clear and should not be, so two writers at
// once do no harm; neither do one that stores and one that removes. Content is compressed,
// encrypted when there are age recipients, and checked against its digest when it is read.
// Renders that hold Secrets are not stored in clear unless that is asked for.
//
// The keys, below the prefix of the place:
//
//	<installation>/<namespace>/<release>/<64 hex digits>.json.zst    a render
//	<installation>/<namespace>/<release>/<64 hex digits>.index.json  what it is, in clear
//	<installation>/<namespace>/<release>/<64 hex digits>.unneeded    since when nobody names it
//	<installation>/<namespace>/<release>/<64 hex digits>.removing    that it is being removed
//
// Put and Get know the key and list nothing. Walk, Index and Retain list: they are for
// retention and for people. The store does not know by itself which renders are needed:
// Retain is told.
package store
