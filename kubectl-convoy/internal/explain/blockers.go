// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

func deletion(release *corev1alpha1.Release) *Finding {
	if release.DeletionTimestamp.IsZero() {
		return nil
	}
	finding := &Finding{Subject: "the deletion of the Release", Since: release.DeletionTimestamp}
	if ready := current(release, corev1alpha1.ConditionReady); ready != nil {
		finding.Reason, finding.Message = ready.Reason, ready.Message
		finding.Do = advice(release, ready.Reason)
	}
	if hooks := failedHooks(release, wayout.OfDeletion); len(hooks) > 0 {
		finding.Causes, finding.Do = hooks, nil
	}
	finding.Do = append(finding.Do, fmt.Sprintf("to give up what is left in the target: kubectl -n %s patch release %s --type=merge -p '{\"spec\":{\"deletionPolicy\":\"orphan\"}}'",
		release.Namespace, release.Name))
	return finding
}

func suspension(release *corev1alpha1.Release) *Finding {
	if !release.Spec.Suspend {
		return nil
	}
	finding := &Finding{Subject: "spec.suspend", Reason: corev1alpha1.ReasonSuspended, Message: "nothing is applied or pruned, and drift is not looked for", Do: []string{wayout.Resume(release, "Release")}}
	if ready := current(release, corev1alpha1.ConditionReady); ready != nil && ready.Reason == corev1alpha1.ReasonSuspended {
		finding.Since = &ready.LastTransitionTime
	}
	return finding
}

func cluster(facts Facts) *Finding {
	missing := "does not exist in the namespace of the Release"
	return referred(facts, facts.Cluster, missing, []string{
		"create it: kubectl convoy -n " + facts.Release.Namespace + " cluster add " + facts.Cluster.Name + " --target-context CONTEXT",
	}, []string{"kubectl convoy -n " + facts.Release.Namespace + " cluster list -o wide", "kubectl convoy -n " + facts.Release.Namespace + " events cluster/" + facts.Cluster.Name})
}

// source tells of the source object, and of what the Release asks it for.
func source(facts Facts) *Finding {
	release := facts.Release
	finding := referred(facts, facts.Source, "does not exist in the namespace of the Release", []string{"create it: kubectl convoy create source --help"}, nil)
	condition := current(release, corev1alpha1.ConditionSourceReady)
	if finding == nil && condition != nil && condition.Status != metav1.ConditionTrue {
		finding = &Finding{
			Subject: nameOf(facts.Source), Reason: condition.Reason, Message: condition.Message, Since: &condition.LastTransitionTime,
		}
	}
	if finding != nil && len(finding.Do) == 0 {
		finding.Do = advice(release, finding.Reason)
	}
	return finding
}

// referred tells of an object that the Release refers to when it is not there, suspended or
// not well.
func referred(facts Facts, object Referred, missing string, create, look []string) *Finding {
	switch ready := object.Ready; {
	case !object.Known:
		return nil
	case !object.Found:
		return &Finding{Subject: nameOf(object), Reason: "NotFound", Message: missing, Do: create}
	case object.Suspended:
		finding := &Finding{Subject: nameOf(object), Reason: corev1alpha1.ReasonSuspended, Message: "is suspended", Do: []string{
			wayout.Resume(&metav1.ObjectMeta{Namespace: facts.Release.Namespace, Name: object.Name}, object.Kind)}}
		if ready != nil && ready.Reason == corev1alpha1.ReasonSuspended {
			finding.Since = &ready.LastTransitionTime
		}
		return finding
	case ready != nil && ready.Status != metav1.ConditionTrue:
		return &Finding{Subject: nameOf(object), Reason: ready.Reason, Message: ready.Message, Since: &ready.LastTransitionTime, Do: look}
	}
	return nil
}

func nameOf(object Referred) string { return object.Kind + " " + object.Name }

// applying tells of what Applied waits for, or of why it failed. What is applied may be well
// while something newer waits: the condition is True then, and has the reason of the wait.
func applying(facts Facts, seen map[string]bool) *Finding {
	release := facts.Release
	condition := current(release, corev1alpha1.ConditionApplied)
	if condition == nil || condition.Status == metav1.ConditionTrue && (condition.Reason == corev1alpha1.ReasonApplied || condition.Reason == corev1alpha1.ReasonRolledBack) {
		return nil
	}
	finding := &Finding{Subject: corev1alpha1.ConditionApplied, Reason: condition.Reason, Message: condition.Message, Do: advice(release, condition.Reason)}
	if condition.Status != metav1.ConditionTrue {
		finding.Since = &condition.LastTransitionTime
	}
	switch condition.Reason {
	case corev1alpha1.ReasonWaitingForGate:
		finding.Causes = gates(release)
	case corev1alpha1.ReasonWaitingForWave, corev1alpha1.ReasonDependency:
		finding.Causes = otherReleases(facts, seen)
	case corev1alpha1.ReasonHookFailed:
		finding.Causes, finding.Do = failedHooks(release, inSync), nil
	case corev1alpha1.ReasonWaitingForHook:
		finding.Causes = runningHooks(release)
	case corev1alpha1.ReasonWaitingForStage, corev1alpha1.ReasonWaitingForHealth, corev1alpha1.ReasonHealthTimeout:
		finding.Causes = ailing(facts.Inventory)
	}
	if sync := release.Status.Sync; sync != nil && sync.NextRetryAt != nil && sync.Attempts > 0 {
		finding.Message = strings.TrimSuffix(finding.Message, ".") + fmt.Sprintf("; attempt %d failed, the next one is at %s",
			sync.Attempts, sync.NextRetryAt.UTC().Format("15:04:05 MST"))
	}
	return finding
}

func gates(release *corev1alpha1.Release) []Finding {
	var found []Finding
	for _, gate := range wayout.MissingApprovals(release) {
		finding := Finding{Subject: "gate " + gate.Name, Message: "nobody has approved it"}
		if gate.Revision != "" {
			finding.Message = "nobody has approved " + naming.Short(gate.Revision)
		}
		found = append(found, finding)
	}
	return found
}

func inSync(point corev1alpha1.HookPoint) bool { return !wayout.OfDeletion(point) }

func failedHooks(release *corev1alpha1.Release, at func(corev1alpha1.HookPoint) bool) []Finding {
	var found []Finding
	for _, hook := range wayout.FailedHooks(release) {
		if at(hook.On) {
			found = append(found, hookFinding(hook, "failed", hook.FinishedAt, wayout.Command(release.Namespace, "retry", release.Name, hook.Name), wayout.SkipHook(release, hook.Name)))
		}
	}
	return found
}

func runningHooks(release *corev1alpha1.Release) []Finding {
	if release.Status.Lifecycle == nil {
		return nil
	}
	var found []Finding
	for _, hook := range release.Status.Lifecycle.Hooks {
		if hook.Phase == corev1alpha1.HookRunning {
			found = append(found, hookFinding(hook, "runs", hook.StartedAt))
		}
	}
	return found
}

func hookFinding(hook corev1alpha1.HookStatus, does string, since *metav1.Time, do ...string) Finding {
	message := does
	if hook.Object != nil {
		message += " as " + naming.Object(hook.Object.ObjectKey)
	}
	if hook.Message != "" {
		message += ": " + hook.Message
	}
	return Finding{Subject: fmt.Sprintf("%s hook %s", hook.On, hook.Name), Message: message, Since: since, Do: do}
}

// unhealthy tells of objects that are applied and not well.
func unhealthy(facts Facts) *Finding {
	release := facts.Release
	condition := current(release, corev1alpha1.ConditionHealthy)
	if condition == nil || condition.Status == metav1.ConditionTrue {
		return nil
	}
	if applied := current(release, corev1alpha1.ConditionApplied); applied != nil && len(facts.Inventory) > 0 {
		switch applied.Reason { // these have said it already
		case corev1alpha1.ReasonWaitingForStage, corev1alpha1.ReasonWaitingForHealth, corev1alpha1.ReasonHealthTimeout:
			return nil
		}
	}
	finding := &Finding{
		Subject: corev1alpha1.ConditionHealthy, Reason: condition.Reason, Message: condition.Message, Since: &condition.LastTransitionTime,
		Do: advice(release, condition.Reason), Causes: ailing(facts.Inventory),
	}
	return finding
}

// ailing are the objects of an inventory that are not well.
func ailing(inventory []corev1alpha1.ReleaseInventory) []Finding {
	var found []Finding
	for _, page := range inventory {
		for _, object := range page.Status.Health {
			switch object.Status {
			case corev1alpha1.HealthHealthy, corev1alpha1.HealthSuspended:
				continue
			}
			found = append(found, Finding{Subject: naming.Object(object.ObjectKey), Reason: string(object.Status), Message: object.Message, Since: object.Since})
		}
	}
	return found
}
