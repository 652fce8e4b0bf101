// SPDX-License-Identifier: Apache-2.0

// Package store keeps renders in an object store, for rollbacks and for other processes.
//
// It only ever adds: a render is stored under its Release and its digest,
// <namespace>/<name>/<hex digits>.json.zst, and what is there is never written again, so
// two writers at once do no harm. Content is compressed, encrypted when there are age
// recipients, and checked against its digest when it is read. Renders that hold Secrets are
// not stored in clear unless that is asked for.
//
// It does not know which renders are still needed; nothing is deleted here.
package store
