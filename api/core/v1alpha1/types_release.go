// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// +genclient
// +genclient:method=UpdatePin,verb=update,subresource=pin
// +genclient:method=ApplyPin,verb=apply,subresource=pin
// +genclient:method=UpdateMutations,verb=update,subresource=mutations
// +genclient:method=ApplyMutations,verb=apply,subresource=mutations
// +genclient:method=UpdateLifecycle,verb=update,subresource=lifecycle
// +genclient:method=ApplyLifecycle,verb=apply,subresource=lifecycle
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Release delivers content from a Git, Helm or OCI source to one Cluster: what, where,
// and in which order, with which gates and hooks.
type Release struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is to be delivered, where, and how.
	Spec ReleaseSpec `json:"spec,omitempty"`
	// status is how far the delivery is.
	// +optional
	Status ReleaseStatus `json:"status,omitempty"`
}

// ReleaseSpec is what is to be delivered, where, and how.
type ReleaseSpec struct {
	// clusterRef names the Cluster, in the same namespace. It cannot be changed.
	ClusterRef LocalReference `json:"clusterRef"`
	// wave orders the Releases of one cluster: a Release waits until every Release of a
	// lower wave on its cluster is Applied and Healthy at its current generation.
	// +optional
	Wave int32 `json:"wave,omitempty"`
	// targetNamespace is the namespace in the target cluster for objects that name none.
	// Defaults to the Release's own namespace.
	// +optional
	TargetNamespace string `json:"targetNamespace,omitempty"`
	// createNamespace creates targetNamespace when it does not exist. The namespace stays when
	// the Release is deleted.
	// +optional
	CreateNamespace bool `json:"createNamespace,omitempty"`
	// serviceAccountName is a service account of targetNamespace in the target cluster; all
	// requests of this Release to that cluster are made as it.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// source is where the content comes from; exactly one member is set.
	Source ReleaseSource `json:"source"`
	// render says how content becomes objects.
	// +optional
	Render *RenderSpec `json:"render,omitempty"`
	// mutations change rendered objects before they are applied, in order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	Mutations []Mutation `json:"mutations,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// dependsOn names Releases of the same namespace, on any cluster, that must be ready
	// before this one is applied.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	DependsOn []Dependency `json:"dependsOn,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// sync says when and how objects are applied and pruned.
	// +optional
	Sync SyncSpec `json:"sync,omitempty"`
	// drift says whether differences between the cluster and what was applied are looked for.
	// +optional
	Drift *DriftSpec `json:"drift,omitempty"`
	// health selects further rules of health.
	// +optional
	Health *ReleaseHealthSpec `json:"health,omitempty"`
	// lifecycle declares hooks and gates.
	// +optional
	Lifecycle *LifecycleSpec `json:"lifecycle,omitempty"`
	// pin fixes the Release to a source revision or to a stored render.
	// +optional
	Pin *Pin `json:"pin,omitempty"`
	// history says how much of the past is kept.
	// +optional
	History *HistorySpec `json:"history,omitempty"`
	// suspend stops all work on this Release while true; what is applied stays.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// deletionPolicy says what happens to the applied objects when the Release is deleted:
	// delete (default) removes them, orphan leaves them and takes convoy's marks off.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy says what happens to applied objects when their Release is deleted.
// +enum
type DeletionPolicy string

const (
	// DeletionPolicyDelete deletes the objects.
	DeletionPolicyDelete DeletionPolicy = "delete"
	// DeletionPolicyOrphan leaves the objects and removes convoy's marks from them.
	DeletionPolicyOrphan DeletionPolicy = "orphan"
)

// SyncMode says whether changes are applied by themselves.
// +enum
type SyncMode string

const (
	// SyncModeAutomatic applies every change as it is seen and corrects drift.
	SyncModeAutomatic SyncMode = "automatic"
	// SyncModeManual applies only when a sync is requested.
	SyncModeManual SyncMode = "manual"
)

// ReplacePolicy says whether an object may be deleted and created again.
// +enum
type ReplacePolicy string

const (
	// ReplaceNever reports a changed immutable field as an error.
	ReplaceNever ReplacePolicy = "never"
	// ReplaceOnImmutable recreates an object whose immutable field changed.
	ReplaceOnImmutable ReplacePolicy = "onImmutable"
)

// ConflictPolicy says what happens to fields that another manager owns.
// +enum
type ConflictPolicy string

const (
	// ConflictsOverride takes the fields over.
	ConflictsOverride ConflictPolicy = "override"
	// ConflictsFail reports each field with its manager and applies nothing of the object.
	ConflictsFail ConflictPolicy = "fail"
)

// FailurePolicy says what happens when a new revision fails.
// +enum
type FailurePolicy string

const (
	// OnFailureNone leaves the failed state and reports it.
	OnFailureNone FailurePolicy = "none"
	// OnFailureRollback applies the last render that became healthy again, until source or spec
	// give another one than the one that failed.
	OnFailureRollback FailurePolicy = "rollback"
)

// SyncSpec says when and how objects are applied and pruned.
type SyncSpec struct {
	// mode is automatic (default: changes are applied as they are seen, drift is corrected)
	// or manual (only when a sync is requested).
	// +optional
	Mode SyncMode `json:"mode,omitempty"`
	// windows limit automatic syncs to times; a person's sync passes.
	// +optional
	// +listType=atomic
	Windows []SyncWindow `json:"windows,omitempty"`
	// prune deletes objects that left the render. Defaults to true.
	// +optional
	Prune *bool `json:"prune,omitempty"`
	// pruneCRDs lets CustomResourceDefinitions be deleted that left the render, or whose Release
	// is deleted; every custom resource of their kinds goes with them. Without it, they are kept,
	// unless their annotation convoy.kumodo.io/prune is "enabled". Defaults to false.
	// +optional
	PruneCRDs bool `json:"pruneCRDs,omitempty"`
	// allowEmpty lets a render without any object prune everything. Defaults to false.
	// +optional
	AllowEmpty bool `json:"allowEmpty,omitempty"`
	// replace is never (default) or onImmutable: delete and create again an object whose
	// immutable field changed.
	// +optional
	Replace ReplacePolicy `json:"replace,omitempty"`
	// conflicts is override (default) or fail, for fields that another manager owns.
	// +optional
	Conflicts ConflictPolicy `json:"conflicts,omitempty"`
	// interval is how often the source's moving reference (a branch, a range) is looked at.
	// Defaults to 5m.
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
	// timeout is how long the applied objects may take to become healthy. Defaults to 5m.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// retry says how a failed sync is tried again.
	// +optional
	Retry *RetrySpec `json:"retry,omitempty"`
	// onFailure is none (default) or rollback: apply the last render that became healthy again,
	// until source or spec give another one than the one that failed.
	// +optional
	OnFailure FailurePolicy `json:"onFailure,omitempty"`
}

// SyncWindow allows or denies automatic syncs for a time.
type SyncWindow struct {
	// allow makes this a window in which automatic syncs may start. Exactly one of allow
	// and deny is true.
	// +optional
	Allow bool `json:"allow,omitempty"`
	// deny makes this a window in which no automatic sync starts.
	// +optional
	Deny bool `json:"deny,omitempty"`
	// schedule is when the window opens, as a cron expression of five fields.
	Schedule string `json:"schedule"`
	// duration is how long the window stays open.
	Duration metav1.Duration `json:"duration"`
	// timeZone of the schedule, an IANA name. Defaults to UTC.
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
}

// RetrySpec says how a failed sync is tried again. Any change of input starts afresh.
type RetrySpec struct {
	// limit is the number of retries; -1 (default) has no limit.
	// +optional
	Limit *int32 `json:"limit,omitempty"`
	// initialBackoff is the wait before the first retry; it doubles each time. Defaults to 5s.
	// +optional
	InitialBackoff *metav1.Duration `json:"initialBackoff,omitempty"`
	// maxBackoff is the longest wait. Defaults to 5m.
	// +optional
	MaxBackoff *metav1.Duration `json:"maxBackoff,omitempty"`
}

// DriftMode says whether drift is looked for.
// +enum
type DriftMode string

const (
	// DriftModeEnabled looks for drift.
	DriftModeEnabled DriftMode = "enabled"
	// DriftModeDisabled does not.
	DriftModeDisabled DriftMode = "disabled"
)

// DriftSpec says whether and where drift is looked for.
type DriftSpec struct {
	// mode is enabled (default) or disabled.
	// +optional
	Mode DriftMode `json:"mode,omitempty"`
	// ignore lists fields that drift and apply leave alone.
	// +optional
	// +listType=atomic
	Ignore []DriftIgnore `json:"ignore,omitempty"`
}

// DriftIgnore names fields of selected objects that drift and apply leave alone.
type DriftIgnore struct {
	// target selects the objects; an empty one selects all.
	// +optional
	Target ObjectSelector `json:"target,omitempty"`
	// paths are the fields, as JSON pointers (RFC 6901).
	// +listType=atomic
	Paths []string `json:"paths"`
}

// ReleaseHealthSpec selects further rules of health.
type ReleaseHealthSpec struct {
	// ruleSetRefs name HealthRuleSets of the namespace that are asked first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchStrategy=merge
	// +patchMergeKey=name
	RuleSetRefs []LocalReference `json:"ruleSetRefs,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

// Dependency names another Release that must be ready first.
type Dependency struct {
	// name of a Release in the same namespace.
	Name string `json:"name"`
	// readyExpr is a CEL expression over `release`. Defaults to: Applied and Healthy at its
	// current generation.
	// +optional
	ReadyExpr string `json:"readyExpr,omitempty"`
}

// Pin fixes a Release. Exactly one of revision and render is set.
type Pin struct {
	// revision of the source: as status.source.revision gives it, such as
	// main@sha1:<40 hex digits>; a whole commit id or digest; or an exact tag or version. What
	// moves, such as a branch or a range, is none.
	// +optional
	Revision string `json:"revision,omitempty"`
	// render is the digest of a stored render, or a history id.
	// +optional
	Render string `json:"render,omitempty"`
	// reason is shown to people.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// HistorySpec says how much of the past is kept.
type HistorySpec struct {
	// limit is the number of past renders kept in status.history. Defaults to 10.
	// +optional
	Limit *int32 `json:"limit,omitempty"`
}

// ReleaseStatus is how far a delivery is.
type ReleaseStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready is the summary; SourceReady, Rendered, Applied, Healthy and InSync
	// are its parts.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// source is the content that was found.
	// +optional
	Source *SourceStatus `json:"source,omitempty"`
	// render is the last successful render.
	// +optional
	Render *RenderStatus `json:"render,omitempty"`
	// applied is what was last applied as a whole.
	// +optional
	Applied *AppliedStatus `json:"applied,omitempty"`
	// sync tells of requests, attempts and what is waited for.
	// +optional
	Sync *SyncStatus `json:"sync,omitempty"`
	// rollback is there while the Release is held at an earlier render, because a newer one
	// failed and spec.sync.onFailure is rollback.
	// +optional
	Rollback *RollbackStatus `json:"rollback,omitempty"`
	// lifecycle tells of hooks and gates.
	// +optional
	Lifecycle *LifecycleStatus `json:"lifecycle,omitempty"`
	// history lists past renders, newest first, at most spec.history.limit.
	// +optional
	// +listType=atomic
	History []HistoryEntry `json:"history,omitempty"`
}

// SourceStatus is the content that was found.
type SourceStatus struct {
	// revision, for example main@sha1:<40 hex digits> or 1.2.3@sha256:<64 hex digits>.
	Revision string `json:"revision"`
	// digest of the content at the Release's path, sha256:<64 hex digits>.
	// +optional
	Digest string `json:"digest,omitempty"`
	// checkedAt is when the moving reference was last looked at.
	// +optional
	CheckedAt *metav1.Time `json:"checkedAt,omitempty"`
}

// RenderStatus is a successful render.
type RenderStatus struct {
	// digest of the rendered objects, sha256:<64 hex digits>.
	Digest string `json:"digest"`
	// inputs is the digest of all that went into the render.
	// +optional
	Inputs string `json:"inputs,omitempty"`
	// objects is the number of rendered objects.
	Objects int32 `json:"objects"`
}

// AppliedStatus is what was last applied as a whole.
type AppliedStatus struct {
	// revision of the source.
	Revision string `json:"revision"`
	// render is the digest of the render.
	Render string `json:"render"`
	// generation of the Release whose spec was applied.
	Generation int64 `json:"generation"`
	// at is when the last object of it was applied.
	At metav1.Time `json:"at"`
	// objects is the number of applied objects.
	Objects int32 `json:"objects"`
	// deleteHooks is the number of hooks of the render that run around the deletion of the
	// Release. Where there are none, a deletion needs no source.
	// +optional
	DeleteHooks int32 `json:"deleteHooks,omitempty"`
}

// SyncStatus tells of requests, attempts and what is waited for.
type SyncStatus struct {
	// lastHandledAt is the value of the sync-requested-at annotation that was last handled.
	// +optional
	LastHandledAt string `json:"lastHandledAt,omitempty"`
	// lastHandledForceAt is the value of the sync-force-requested-at annotation that was
	// last handled.
	// +optional
	LastHandledForceAt string `json:"lastHandledForceAt,omitempty"`
	// requested is the request for a sync that is not handled yet, and what it is for.
	// +optional
	Requested *RequestedSync `json:"requested,omitempty"`
	// attempts is the number of failed attempts at the present desired state.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// startedAt is when the sync that is under way began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// nextRetryAt is when a failed sync is tried again.
	// +optional
	NextRetryAt *metav1.Time `json:"nextRetryAt,omitempty"`
	// lastError of the last failed attempt.
	// +optional
	LastError string `json:"lastError,omitempty"`
	// blockedBy names what is waited for, for example "Release a (wave 0)".
	// +optional
	// +listType=atomic
	BlockedBy []string `json:"blockedBy,omitempty"`
	// unreachableSince is since when the target of a Release that is being deleted cannot be
	// reached. The annotation convoy.kumodo.io/orphan-after counts from it.
	// +optional
	UnreachableSince *metav1.Time `json:"unreachableSince,omitempty"`
}

// RequestedSync is a request for a sync, and what was desired when it was first looked at: what
// comes after that needs another request where syncs are requested.
type RequestedSync struct {
	// at is the value of the sync-requested-at annotation, unless that is handled.
	// +optional
	At string `json:"at,omitempty"`
	// forceAt is the value of the sync-force-requested-at annotation, unless that is handled.
	// +optional
	ForceAt string `json:"forceAt,omitempty"`
	// render is the digest of what is to be synced.
	Render string `json:"render"`
}

// RollbackStatus tells of a rollback. It ends when source or spec give another render than
// the one that failed, or with a forced sync.
type RollbackStatus struct {
	// revision that is applied again; empty when nothing could be rolled back to.
	// +optional
	Revision string `json:"revision,omitempty"`
	// render is its digest.
	// +optional
	Render string `json:"render,omitempty"`
	// failedRevision is the revision that failed.
	FailedRevision string `json:"failedRevision"`
	// failed is the digest of the render that failed.
	Failed string `json:"failed"`
	// failedInputs is the digest of all that went into it.
	// +optional
	FailedInputs string `json:"failedInputs,omitempty"`
	// at is when the rollback began.
	At metav1.Time `json:"at"`
	// message says why, for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// HistoryOutcome is how a past render ended.
// +enum
type HistoryOutcome string

const (
	// OutcomeApplied: applied, health not decided yet.
	OutcomeApplied HistoryOutcome = "applied"
	// OutcomeHealthy: every object became healthy.
	OutcomeHealthy HistoryOutcome = "healthy"
	// OutcomeFailed: it could not be applied or did not become healthy.
	OutcomeFailed HistoryOutcome = "failed"
	// OutcomeSuperseded: a newer state replaced it before it was decided.
	OutcomeSuperseded HistoryOutcome = "superseded"
)

// HistoryEntry is one past render.
type HistoryEntry struct {
	// id numbers the entries of a Release, rising.
	ID int64 `json:"id"`
	// revision of the source.
	Revision string `json:"revision"`
	// render is the digest of the render.
	Render string `json:"render"`
	// outcome is applied, healthy, failed or superseded.
	Outcome HistoryOutcome `json:"outcome"`
	// at is when the outcome was reached.
	At metav1.Time `json:"at"`
	// reason is what made it another render than the one before.
	// +optional
	Reason HistoryReason `json:"reason,omitempty"`
	// requestedBy is the user who asked for the sync that brought it, if anybody did.
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
	// startedAt is when that sync began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// duration is how long it took from then until all objects were applied, or the attempt
	// that came furthest failed.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
	// objects is how many objects the render has.
	// +optional
	Objects int32 `json:"objects,omitempty"`
	// approvals are those that let it through its gates.
	// +optional
	// +listType=atomic
	Approvals []Approval `json:"approvals,omitempty"`
	// kept names objects that left the Release with this render and stay in the target all the
	// same, without its marks, each with the reason; the first few, if there are many.
	// +optional
	// +listType=atomic
	Kept []string `json:"kept,omitempty"`
	// message says why, for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// HistoryReason is why there was something new to apply.
// +enum
type HistoryReason string

const (
	// HistoryReasonSource: another revision of the source.
	HistoryReasonSource HistoryReason = "Source"
	// HistoryReasonSpec: a change of the spec.
	HistoryReasonSpec HistoryReason = "Spec"
	// HistoryReasonPin: spec.pin.
	HistoryReasonPin HistoryReason = "Pin"
	// HistoryReasonValues: other values, or something else of what a render depends on beside
	// source and spec, as the capabilities of the target.
	HistoryReasonValues HistoryReason = "Values"
	// HistoryReasonRollback: spec.sync.onFailure.
	HistoryReasonRollback HistoryReason = "Rollback"
)

// Approval is a person's consent to a render at a gate.
type Approval struct {
	// gate that was approved.
	Gate string `json:"gate"`
	// by whom.
	By string `json:"by"`
	// at is when.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
}

// ObjectKey identifies an object of a target cluster. The version is not part of the
// identity; it says how the object was last written.
type ObjectKey struct {
	// group of the object's API; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// version of the object's API.
	Version string `json:"version"`
	// kind of the object.
	Kind string `json:"kind"`
	// namespace of the object; empty for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	Name string `json:"name"`
}

// ObjectUID is an object of a target cluster together with its UID.
type ObjectUID struct {
	ObjectKey `json:",inline"`
	// uid of the object in the target cluster.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseList is a list of Releases.
type ReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the Releases.
	Items []Release `json:"items"`
}
