// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const (
	// LabelShard carries the shard number of a Cluster, Release, ReleaseInventory or
	// source. convoy-apiserver sets it on every write; a user's own value is overwritten.
	LabelShard = "convoy.kumodo.io/shard"

	// LabelInventoryOf is on the further pages of an inventory and names the Release, unless its
	// name is too long for a label. spec.releaseRef.name, a field selector, always has it.
	LabelInventoryOf = "convoy.kumodo.io/inventory-of"

	// LabelOwner is set on every object that convoy applies. Its value is OwnerLabelValue
	// of the owning Release, so that what convoy manages in a target cluster can be
	// selected with one LIST or WATCH per kind.
	LabelOwner = "convoy.kumodo.io/owner"

	// AnnotationRelease is set on every object that convoy applies. Its value is
	// ReleaseAnnotationValue of the owning Release.
	AnnotationRelease = "convoy.kumodo.io/release"

	// AnnotationClaimedBy on an object of a target cluster names a Release, as AnnotationRelease
	// does, that declares the object too and is given it when the Release that owns it has it
	// no more. convoy sets it and takes it off.
	AnnotationClaimedBy = "convoy.kumodo.io/claimed-by"

	// AnnotationSyncRequestedAt on a Release asks for a sync; RFC3339Nano, set by POST …/sync.
	AnnotationSyncRequestedAt = "convoy.kumodo.io/sync-requested-at"

	// AnnotationSyncForceRequestedAt on a Release asks for a forced sync: every object is
	// applied again, and one whose immutable field changed is recreated. RFC3339Nano.
	AnnotationSyncForceRequestedAt = "convoy.kumodo.io/sync-force-requested-at"

	// AnnotationSyncRequestedBy on a Release names the user who asked for a sync by one of the
	// annotations above. The API server sets it, whatever a client says.
	AnnotationSyncRequestedBy = "convoy.kumodo.io/sync-requested-by"

	// AnnotationStage on an object in a source moves it to an integer stage of its own,
	// relative to 0, the stage of ordinary objects.
	AnnotationStage = "convoy.kumodo.io/stage"

	// AnnotationPrune with the value PruneDisabled on an object in a source, or on the live
	// object, keeps convoy from ever deleting it. With PruneEnabled, it lets convoy delete what
	// it otherwise keeps because more goes with it: a CustomResourceDefinition, a Namespace that
	// has PersistentVolumeClaims in it which are not the Release's, and a PersistentVolume that
	// such a claim is bound to.
	AnnotationPrune = "convoy.kumodo.io/prune"
	PruneDisabled   = "disabled"
	PruneEnabled    = "enabled"

	// AnnotationOrphanAfter on a Release is a duration, such as 1h. When the Release is being
	// deleted and its target could not be reached for so long, the Release goes, and what it
	// applied stays in the target.
	AnnotationOrphanAfter = "convoy.kumodo.io/orphan-after"

	// AnnotationDrift with the value "ignore" on an object in a source takes the object out
	// of drift detection.
	AnnotationDrift = "convoy.kumodo.io/drift"

	// AnnotationAdoptFrom on a Release names field managers, divided by commas, such as
	// kustomize-controller. When the Release takes over an object that is nobody's, what they
	// wrote of it becomes convoy's, as what kubectl wrote does, so that what the source does not
	// have really goes.
	AnnotationAdoptFrom = "convoy.kumodo.io/adopt-from"

	// FinalizerRelease is on every Release whose target objects convoy must remove, or give
	// up on purpose, before the Release may go.
	FinalizerRelease = "convoy.kumodo.io/release"

	// FieldManager is the only field manager with which convoy applies and dry-runs.
	FieldManager = "convoy"
)

// OwnerLabelValue is the value of LabelOwner on the objects of one Release: a short
// stable hash of the convoy installation's name and the Release's namespace and name.
// It is a valid label value of 26 characters.
func OwnerLabelValue(installation, namespace, name string) string {
	sum := sha256.Sum256([]byte(ReleaseAnnotationValue(installation, namespace, name)))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// ReleaseAnnotationValue is the value of AnnotationRelease on the objects of one
// Release: "<installation>/<namespace>/<name>". None of the three may contain a slash.
func ReleaseAnnotationValue(installation, namespace, name string) string {
	return installation + "/" + namespace + "/" + name
}

// ParseReleaseAnnotation splits a value of AnnotationRelease. ok is false when the
// value has not the form that ReleaseAnnotationValue gives.
func ParseReleaseAnnotation(value string) (installation, namespace, name string, ok bool) {
	parts := strings.Split(value, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}
