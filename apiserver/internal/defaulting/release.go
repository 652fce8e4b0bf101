// SPDX-License-Identifier: Apache-2.0

package defaulting

import (
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const (
	syncInterval   = 5 * time.Minute
	syncTimeout    = 5 * time.Minute
	initialBackoff = 5 * time.Second
	maxBackoff     = 5 * time.Minute
	noRetryLimit   = int32(-1)
	historyLimit   = int32(10)
	valuesKey      = "values.yaml"
	utc            = "UTC"

	// maxHelmReleaseName is the longest release name that Helm takes.
	maxHelmReleaseName = 53
)

// Release writes the defaults of a Release. Those that come from the Release's own
// namespace and name are written once these are known, which they are not yet while the
// body of a request is decoded.
func Release(r *corev1alpha1.Release) {
	fill(&r.Spec.TargetNamespace, r.Namespace)
	fillRender(r)
	for i := range r.Spec.Mutations {
		fill(&r.Spec.Mutations[i].Type, corev1alpha1.MutationStrategic)
	}
	fillSync(&r.Spec.Sync)
	fillPointer(&r.Spec.Drift, corev1alpha1.DriftSpec{})
	fill(&r.Spec.Drift.Mode, corev1alpha1.DriftModeEnabled)
	if r.Spec.Lifecycle != nil {
		fillHooks(r.Spec.Lifecycle.Hooks)
	}
	fillPointer(&r.Spec.History, corev1alpha1.HistorySpec{})
	fillPointer(&r.Spec.History.Limit, historyLimit)
	fill(&r.Spec.DeletionPolicy, corev1alpha1.DeletionPolicyDelete)
}

func fillRender(r *corev1alpha1.Release) {
	fillPointer(&r.Spec.Render, corev1alpha1.RenderSpec{})
	fill(&r.Spec.Render.Type, corev1alpha1.RenderAuto)
	helm := r.Spec.Render.Helm
	if helm == nil {
		return
	}
	if len(r.Name) <= maxHelmReleaseName {
		fill(&helm.ReleaseName, r.Name)
	}
	fillPointer(&helm.SkipTests, true)
	canonicalize(helm.Values)
	for i := range helm.ValuesFrom {
		from := &helm.ValuesFrom[i]
		if from.Kind == "ConfigMap" || from.Kind == "Secret" {
			fill(&from.Key, valuesKey)
		}
	}
}

func fillSync(sync *corev1alpha1.SyncSpec) {
	fill(&sync.Mode, corev1alpha1.SyncModeAutomatic)
	for i := range sync.Windows {
		fill(&sync.Windows[i].TimeZone, utc)
	}
	fillPointer(&sync.Prune, true)
	fill(&sync.Replace, corev1alpha1.ReplaceNever)
	fill(&sync.Conflicts, corev1alpha1.ConflictsOverride)
	fillDuration(&sync.Interval, syncInterval)
	fillDuration(&sync.Timeout, syncTimeout)
	fillPointer(&sync.Retry, corev1alpha1.RetrySpec{})
	fillPointer(&sync.Retry.Limit, noRetryLimit)
	fillBackoff(sync.Retry)
	fill(&sync.OnFailure, corev1alpha1.OnFailureNone)
}

// fillBackoff keeps the default of the one bound on the right side of the other one when
// only that is given.
func fillBackoff(retry *corev1alpha1.RetrySpec) {
	initial, longest := initialBackoff, maxBackoff
	if retry.MaxBackoff != nil {
		initial = min(initial, retry.MaxBackoff.Duration)
	}
	if retry.InitialBackoff != nil {
		longest = max(longest, retry.InitialBackoff.Duration)
	}
	fillDuration(&retry.InitialBackoff, initial)
	fillDuration(&retry.MaxBackoff, longest)
}

func fillHooks(hooks []corev1alpha1.Hook) {
	for i := range hooks {
		fill(&hooks[i].DeletePolicy, corev1alpha1.HookDeleteBeforeCreation)
		fill(&hooks[i].FailurePolicy, corev1alpha1.HookFailureStop)
		canonicalize(&hooks[i].Template)
	}
}
