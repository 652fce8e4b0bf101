// SPDX-License-Identifier: Apache-2.0

// Package base is the work-queue harness of every convoy controller: it decides which key
// is reconciled next, by which worker, and what follows from the outcome. It knows nothing
// of Kubernetes objects but for two things: that a conflict on an update is no failure, and
// how an informer's events become keys (Handler).
//
// What it promises:
//
//   - A key is never in the hands of two workers at once. A key that is enqueued while it is
//     in work is reconciled once more afterwards.
//   - A higher priority goes first, and a key that waits already is promoted. Among keys of
//     one priority the groups (Options.GroupOf) take turns, and a group is served in the
//     order of arrival.
//   - A failure is retried with a backoff of its own for each key, a Terminal error is not
//     retried before something enqueues the key, a conflict is retried quietly at once.
//   - A panic of the reconciler is an error like any other, with the stack in the log.
//   - Keys that are not owned (Options.Owned) are dropped, and DropUnowned cuts off the work
//     on a key that was owned before.
//   - Run returns when all workers have come back.
//
// A reconcile must not wait: it observes, acts once and returns; an event or
// Result.RequeueAfter brings the key back.
package base
