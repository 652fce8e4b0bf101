// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// HookPoint is a point of a Release's life at which hooks run.
// +enum
type HookPoint string

const (
	// HookPreSync runs before the objects of a sync are applied.
	HookPreSync HookPoint = "preSync"
	// HookPostSync runs after the objects of a sync are applied and healthy.
	HookPostSync HookPoint = "postSync"
	// HookSyncFailed runs after a sync failed.
	HookSyncFailed HookPoint = "syncFailed"
	// HookPreDelete runs before the objects of a deleted Release are removed.
	HookPreDelete HookPoint = "preDelete"
	// HookPostDelete runs after the objects of a deleted Release are gone.
	HookPostDelete HookPoint = "postDelete"
)

// HookDeletePolicy says when the object of a hook is deleted.
// +enum
type HookDeletePolicy string

const (
	// HookDeleteBeforeCreation deletes the last run's object before the next run.
	HookDeleteBeforeCreation HookDeletePolicy = "beforeHookCreation"
	// HookDeleteSucceeded deletes the object once the hook succeeded.
	HookDeleteSucceeded HookDeletePolicy = "hookSucceeded"
	// HookDeleteFailed deletes the object once the hook failed.
	HookDeleteFailed HookDeletePolicy = "hookFailed"
)

// HookFailurePolicy says what a failed hook means.
// +enum
type HookFailurePolicy string

const (
	// HookFailureStop stops the sync.
	HookFailureStop HookFailurePolicy = "fail"
	// HookFailureIgnore goes on.
	HookFailureIgnore HookFailurePolicy = "ignore"
)

// LifecycleSpec declares hooks and gates.
type LifecycleSpec struct {
	// hooks are objects that are applied and followed to their end at a point of the
	// Release's life.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	Hooks []Hook `json:"hooks,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// gates are points at which a person must approve, through the lifecycle subresource.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	Gates []Gate `json:"gates,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

// Hook is an object that is applied and followed to its end.
type Hook struct {
	// name of the hook, unique in the Release.
	Name string `json:"name"`
	// on is the point at which the hook runs: preSync, postSync, syncFailed, preDelete,
	// postDelete. In YAML the name of this field is quoted ("on": preSync): some readers take
	// the bare word for the value true.
	On HookPoint `json:"on"`
	// template is the object, most often a Job.
	Template runtime.RawExtension `json:"template"`
	// timeout of the hook. Defaults to spec.sync.timeout.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// deletePolicy is beforeHookCreation (default), hookSucceeded or hookFailed.
	// +optional
	DeletePolicy HookDeletePolicy `json:"deletePolicy,omitempty"`
	// failurePolicy is fail (default: a failed hook stops the sync) or ignore.
	// +optional
	FailurePolicy HookFailurePolicy `json:"failurePolicy,omitempty"`
}

// Gate is a point at which a person must approve.
type Gate struct {
	// name of the gate, unique in the Release.
	Name string `json:"name"`
	// before is what waits for the approval; sync is the only value.
	Before string `json:"before"`
}

// LifecycleStatus tells of hooks and gates.
type LifecycleStatus struct {
	// hooks are the runs of hooks of the present or last sync.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	Hooks []HookStatus `json:"hooks,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// gates are what the gates of the spec hold up, and the approvals.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	Gates []GateStatus `json:"gates,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

// HookPhase is how far the run of a hook is.
// +enum
type HookPhase string

const (
	// HookRunning: applied, not ended.
	HookRunning HookPhase = "running"
	// HookSucceeded: ended well.
	HookSucceeded HookPhase = "succeeded"
	// HookFailed: ended badly, vanished before its end, or timed out.
	HookFailed HookPhase = "failed"
)

// HookStatus is one run of a hook.
type HookStatus struct {
	// name of the hook.
	Name string `json:"name"`
	// on is the point at which it runs.
	On HookPoint `json:"on"`
	// run identifies the sync that this run belongs to; a new sync runs the hook afresh.
	// +optional
	Run string `json:"run,omitempty"`
	// phase is running, succeeded or failed.
	Phase HookPhase `json:"phase"`
	// object is the hook's object in the target cluster.
	// +optional
	Object *ObjectUID `json:"object,omitempty"`
	// startedAt is when the object was applied.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// finishedAt is when the hook ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// message says why, for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// GateStatus is what a gate holds up or let through, and whether a person approved it. An
// approval holds for one render: another one that takes its place waits for its own.
type GateStatus struct {
	// name of the gate, one of spec.lifecycle.gates.
	Name string `json:"name"`
	// revision of the source that the gate holds up or let through. Set by the controller.
	// +optional
	Revision string `json:"revision,omitempty"`
	// render is the digest of the render that the gate holds up or let through. Set by the
	// controller. An approval that names it is refused when another one waits by then; one
	// that does not is for the one that waits when it arrives.
	// +optional
	Render string `json:"render,omitempty"`
	// approved by a person, through the lifecycle subresource, while something waits.
	// +optional
	Approved bool `json:"approved,omitempty"`
	// by whom. Set by the API server.
	// +optional
	By string `json:"by,omitempty"`
	// at is when. Set by the API server.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
}
