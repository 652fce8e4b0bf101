// SPDX-License-Identifier: Apache-2.0

// Package apply brings rendered objects into a target cluster, and out of it again. It
// decides nothing about when or in which order: its caller hands it one batch at a time,
// and every call observes, acts once and returns. Nothing here waits for the cluster to
// change; what is not finished says so with a *WaitingError or a PruneResult that is not
// Done, and is called again later.
//
// # Applying
//
// Objects are sent by server-side apply with the field manager "convoy". How an object is
// sent depends on what the inventory knows of it; each case is safe against a writer that
// comes between, because the server checks a precondition with the write:
//
//   - Never applied (no UID in the inventory): one request, which only creates. It carries
//     the resourceVersion "1", which no stored object has, so that the server refuses it
//     with a conflict when the object exists, whoever made it in the meantime. Only then is
//     the object read; if it is free, or marked as this Release's already, it is applied
//     under the UID and resourceVersion that were read.
//   - Applied before, and its digest changed from another that is known: one request under the
//     UID of the inventory, and no read. The server refuses it when the object was deleted or replaced, and what
//     follows is the read of the first case.
//   - Applied before with the same digest, so sent only because a sync was requested, or with
//     none, left by an apply or a removal that did not come to its end: read first. The request is most likely to change nothing, and the read both tells that
//     (the resourceVersion stays) and notices that another Release owns the object now.
//
// An object belongs to the Release that its annotation convoy.kumodo.io/release names. No
// Release takes one that is marked as another's and that the other means to keep: that is an
// *OwnershipError, and the object is claimed (handover.go). One that the other is about to have
// no more is taken over. An apply of the other that had begun before, in the second form above,
// which does not look, may then take it back once; so may one after a change by hand or an old
// state of convoy that was restored. When the other removes it, the object goes to the Release in
// whose inventory it is by its UID; otherwise the next requested sync reports the conflict
// instead of fighting.
//
// On adoption, the fields that kubectl wrote, and those of managers that the Release names, are
// handed to convoy (see managed.Adopted), so that those that the source does not have really go.
//
// # Immutable fields
//
// The API has no class of error for "this change is not allowed, though the object is":
// it answers 422 Invalid, with texts that differ by kind, or come from a rule in a CRD.
// Therefore the server itself is asked, with a dry run of the creation of the same object:
// if it answers that the object already exists, it accepts the object, and what it refused
// was the change. Paths come from the causes of the first answer; where a cause names only
// a whole ("spec" of a StatefulSet), the fields that differ from the live object are named.
// One text is looked at, and only when the dry run was answered by neither: the constant
// of apimachinery for immutable fields, which then makes the message better but never
// allows a replacement.
//
// # Removing
//
// An object is deleted only when its live metadata, read just before, has the UID of the
// inventory and the mark of this Release, and the deletion carries UID and resourceVersion
// as preconditions. It counts as gone only when a read says so. One that another Release
// claims gets that one's marks instead. What would take more along than the Release has is kept
// (heldback.go).
package apply
