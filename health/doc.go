// SPDX-License-Identifier: Apache-2.0

// Package health judges objects: given an object as it was read from a cluster, it says
// whether it does what it is there for. It is pure: it reads no cluster, keeps no state
// and asks no clock, so the same object always gets the same answer. How long an object
// may stay progressing is therefore for the caller to say.
//
// Who decides, in this order:
//
//  1. an object that is absent is missing, and one that is being deleted is progressing;
//  2. the first CEL rule that matches the object, of the sets given to NewAssessor;
//  3. an object whose controller has not seen its newest generation is progressing;
//  4. what is built in for the object's kind (one file per family of kinds);
//  5. the generic reading of status.conditions.
//
// The built-in and the generic reading follow the semantics of kstatus
// (sigs.k8s.io/cli-utils/pkg/kstatus) where it has any, except that a Job is healthy only
// when it is complete, and that update strategies which wait for a person (OnDelete, a
// partition) do not keep an object progressing.
//
// What cannot be known from one object alone is asked of Surroundings, if the reader has them:
//
//   - A PersistentVolumeClaim that is Pending may wait for its first consumer, which is
//     well, or for a provisioner that never comes, which is not; only its StorageClass
//     tells. Where it is not known, such a claim is progressing.
//   - Why a Job, a StatefulSet or a DaemonSet gets no pods is in its events alone. It is part
//     of the message, and changes no judgement.
//
// Whether a custom resource without conditions has a controller that will write some is told by
// nothing. Such an object is healthy.
package health
