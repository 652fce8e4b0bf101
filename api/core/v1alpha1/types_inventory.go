// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseInventory lists the objects that a Release has, or is about to have, in its
// target cluster. It has the Release's name and is owned by it. The spec is written by
// convoy-controller-manager before the objects it names are applied, and an entry is
// dropped only after its object is confirmed gone; the status is written by
// convoy-observer.
type ReleaseInventory struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec lists the objects.
	// +optional
	Spec ReleaseInventorySpec `json:"spec,omitempty"`
	// status is the objects' health.
	// +optional
	Status ReleaseInventoryStatus `json:"status,omitempty"`
}

// ReleaseInventorySpec lists the objects of a Release.
type ReleaseInventorySpec struct {
	// releaseRef is the Release.
	ReleaseRef ReleaseReference `json:"releaseRef"`
	// releaseGeneration is the generation of the Release for which the resourceVersions of the
	// entries count: by another spec, other fields may be applied of the same object.
	// +optional
	ReleaseGeneration int64 `json:"releaseGeneration,omitempty"`
	// entries are the objects.
	// +optional
	// +listType=atomic
	Entries []InventoryEntry `json:"entries,omitempty"`
}

// ReleaseReference names a Release of the same namespace.
type ReleaseReference struct {
	// name of the Release.
	Name string `json:"name"`
	// uid of the Release.
	UID types.UID `json:"uid"`
}

// InventoryEntry is one object of a Release.
type InventoryEntry struct {
	ObjectKey `json:",inline"`
	// uid of the object in the target cluster, once it is applied.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// digest of the object as it was last applied; empty until then.
	// +optional
	Digest string `json:"digest,omitempty"`
	// resourceVersion of the object in the target cluster when it was last applied, for the
	// generation in releaseGeneration: an object that still has it is as it was applied. It is
	// there only together with the digest.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// stage in which the object is applied; pruning goes in reverse.
	// +optional
	Stage int32 `json:"stage,omitempty"`
	// hook is the name of the hook whose object this is.
	// +optional
	Hook string `json:"hook,omitempty"`
	// keep is true for an object that convoy never deletes.
	// +optional
	Keep bool `json:"keep,omitempty"`
	// adopted is true for an object that was in the target cluster before the Release applied it
	// first, or may have been. A rollback, or a pin, does not delete it.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
}

// HealthStatus is the health of an object.
// +enum
type HealthStatus string

const (
	// HealthHealthy: does what it is there for.
	HealthHealthy HealthStatus = "healthy"
	// HealthProgressing: on its way.
	HealthProgressing HealthStatus = "progressing"
	// HealthDegraded: failed, or given up by its controller.
	HealthDegraded HealthStatus = "degraded"
	// HealthSuspended: paused on purpose.
	HealthSuspended HealthStatus = "suspended"
	// HealthMissing: not in the cluster.
	HealthMissing HealthStatus = "missing"
	// HealthUnknown: could not be judged.
	HealthUnknown HealthStatus = "unknown"
)

// ReleaseInventoryStatus is the health of a Release's objects.
type ReleaseInventoryStatus struct {
	// observedGeneration is the generation of the spec whose every entry that has a digest was
	// judged on an object at least as new as the one applied.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// summary counts the objects by health.
	// +optional
	Summary *HealthSummary `json:"summary,omitempty"`
	// health of each object.
	// +optional
	// +listType=atomic
	Health []ObjectHealth `json:"health,omitempty"`
}

// HealthSummary counts objects by health.
type HealthSummary struct {
	// healthy objects.
	Healthy int32 `json:"healthy"`
	// progressing objects.
	Progressing int32 `json:"progressing"`
	// degraded objects.
	Degraded int32 `json:"degraded"`
	// suspended objects.
	Suspended int32 `json:"suspended"`
	// missing objects.
	Missing int32 `json:"missing"`
	// unknown objects.
	Unknown int32 `json:"unknown"`
}

// ObjectHealth is the health of one object.
type ObjectHealth struct {
	ObjectKey `json:",inline"`
	// status is healthy, progressing, degraded, suspended, missing or unknown.
	Status HealthStatus `json:"status"`
	// message says why, for people.
	// +optional
	Message string `json:"message,omitempty"`
	// since is when the object came into this status.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseInventoryList is a list of ReleaseInventories.
type ReleaseInventoryList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the ReleaseInventories.
	Items []ReleaseInventory `json:"items"`
}
