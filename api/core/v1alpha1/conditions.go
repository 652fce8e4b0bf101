// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types. Ready is on every kind that has conditions and sums up the others.
const (
	ConditionReady       = "Ready"
	ConditionSourceReady = "SourceReady"
	ConditionRendered    = "Rendered"
	ConditionApplied     = "Applied"
	ConditionHealthy     = "Healthy"
	ConditionInSync      = "InSync"
)

// Reasons of conditions that are well.
const (
	ReasonReady     = "Ready"
	ReasonFetched   = "Fetched"
	ReasonRendered  = "Rendered"
	ReasonApplied   = "Applied"
	ReasonHealthy   = "Healthy"
	ReasonInSync    = "InSync"
	ReasonReachable = "Reachable"
)

// Reasons of conditions of a Release that wait for something or someone.
const (
	ReasonSuspended        = "Suspended"
	ReasonClusterSuspended = "ClusterSuspended"
	ReasonWaitingForWave   = "WaitingForWave"
	ReasonWaitingForGate   = "WaitingForGate"
	ReasonWaitingForHook   = "WaitingForHook"
	ReasonWaitingForStage  = "WaitingForStage"
	ReasonWaitingForHealth = "WaitingForHealth"
	ReasonWaitingForSync   = "WaitingForSync"
	ReasonProgressing      = "Progressing"
	ReasonDeleting         = "Deleting"
	ReasonDependency       = "WaitingForDependency"
)

// Reasons of conditions that report a failure.
const (
	ReasonClusterNotFound      = "ClusterNotFound"
	ReasonSourceNotFound       = "SourceNotFound"
	ReasonSourceSuspended      = "SourceSuspended"
	ReasonFetchFailed          = "FetchFailed"
	ReasonVerificationFailed   = "VerificationFailed"
	ReasonRevisionNotFound     = "RevisionNotFound"
	ReasonAuthenticationFailed = "AuthenticationFailed"
	ReasonSecretNotFound       = "SecretNotFound"
	ReasonSecretInvalid        = "SecretInvalid"
	ReasonInvalidConfiguration = "InvalidConfiguration"
	ReasonRenderFailed         = "RenderFailed"
	ReasonNonDeterministic     = "NonDeterministicRender"
	ReasonEmptyRender          = "EmptyRender"
	ReasonInvalidObjects       = "InvalidObjects"
	ReasonUnknownKind          = "UnknownKind"
	ReasonApplyFailed          = "ApplyFailed"
	ReasonApplyConflict        = "ApplyConflict"
	ReasonOwnershipConflict    = "OwnershipConflict"
	ReasonImmutableField       = "ImmutableField"
	ReasonForbidden            = "Forbidden"
	ReasonPruneFailed          = "PruneFailed"
	ReasonHookFailed           = "HookFailed"
	ReasonRolledBack           = "RolledBack"
	ReasonTargetUnreachable    = "TargetUnreachable"
	ReasonUnreachable          = "Unreachable"
	ReasonDegraded             = "Degraded"
	ReasonHealthTimeout        = "HealthTimeout"
	ReasonUnknown              = "Unknown"
	ReasonDrifted              = "Drifted"
	ReasonDriftContested       = "DriftContested"
	ReasonDriftDisabled        = "DriftDisabled"
	ReasonNotBuilt             = "NotBuilt"
)
