// SPDX-License-Identifier: Apache-2.0

// Package scoped has caches of the host cluster's objects that hold some of them only.
//
// A Cache has the objects of one kind that are in certain scopes, such as shards. Each scope
// is watched on its own, from when it is begun until it is ended; all are read, and tell of
// changes, as one. A Set begins and ends the same shards in the caches of several kinds, and
// shows what is in a shard only when all of them have the whole of it. Named watches single
// objects by name.
//
// What is not in such a cache may exist all the same. Whoever concludes from an object's
// absence that it is gone has to know its shard to be held, or to read it from the host.
package scoped
