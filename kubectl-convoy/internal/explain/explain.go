// SPDX-License-Identifier: Apache-2.0

// Package explain says why a Release is not further: what it waits for or what fails, for how
// long, and what a person can do about it. It asks nobody; all it knows is given to it.
package explain

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Facts are what is known about a Release.
type Facts struct {
	Release *corev1alpha1.Release
	// Inventory has the pages of the Release's inventory, as far as they may be read.
	Inventory []corev1alpha1.ReleaseInventory
	// Cluster that the Release names, and its source object.
	Cluster, Source Referred
	// Others are Releases of the namespace: those that may be waited for.
	Others []corev1alpha1.Release
	Now    time.Time
}

// Referred is what is known of an object that a Release refers to.
type Referred struct {
	Kind, Name string
	// Known is false when the object may not be read: then nothing is said about it.
	Known bool
	// Found is false when it does not exist.
	Found     bool
	Suspended bool
	Ready     *metav1.Condition // nil when nobody has looked at it yet
}

// Explanation is why a Release is not further.
type Explanation struct {
	Namespace string                 `json:"namespace"`
	Name      string                 `json:"name"`
	Ready     metav1.ConditionStatus `json:"ready"`
	// Reason and Message sum it up, in the words of the condition Ready.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when Ready became what it is; nil when that is not known.
	Since *metav1.Time `json:"since,omitempty"`
	// Blockers are what keeps the Release from being synced or well, the first first.
	Blockers []Finding `json:"blockers"`
	// Remarks are what does not block it and may yet surprise, such as a pin.
	Remarks []Finding `json:"remarks,omitempty"`
}

// Finding is one thing to know, and what can be done about it.
type Finding struct {
	// Subject is what it is about, such as "Cluster edge" or "gate qa".
	Subject string `json:"subject"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when it began; nil when that is not known.
	Since *metav1.Time `json:"since,omitempty"`
	// Do are ways out: commands, or what to change where.
	Do []string `json:"do,omitempty"`
	// Causes are why it is so, as far as that is known.
	Causes []Finding `json:"causes,omitempty"`
}

// Explain says why a Release is not further.
func Explain(facts Facts) Explanation {
	return explainWithout(facts, map[string]bool{})
}

// explainWithout explains a Release but for what it shares with those in seen, by name, which
// are being explained already.
func explainWithout(facts Facts, seen map[string]bool) Explanation {
	release := facts.Release
	seen[release.Name] = true
	explanation := Explanation{Namespace: release.Namespace, Name: release.Name, Ready: metav1.ConditionUnknown}
	if ready := current(release, corev1alpha1.ConditionReady); ready != nil {
		explanation.Ready, explanation.Reason, explanation.Message = ready.Status, ready.Reason, ready.Message
		explanation.Since = &ready.LastTransitionTime
	}
	explanation.Blockers = blockers(facts, seen)
	explanation.Remarks = remarks(facts)
	return explanation
}

// blockers follows the steps of a pass: what ends one is the first thing to know.
func blockers(facts Facts, seen map[string]bool) []Finding {
	release := facts.Release
	found := []Finding{}
	add := func(finding *Finding) {
		if finding != nil {
			found = append(found, *finding)
		}
	}
	add(deletion(release))
	add(suspension(release))
	add(cluster(facts))
	add(source(facts))
	if len(found) > 0 && release.DeletionTimestamp.IsZero() {
		return found // the pass does not get beyond them
	}
	add(unseen(facts))
	add(failing(release, corev1alpha1.ConditionRendered))
	add(applying(facts, seen))
	ill := unhealthy(facts)
	summary := failing(release, corev1alpha1.ConditionReady)
	if summary != nil && !slices.ContainsFunc(found, sameReason(summary)) && (ill == nil || !sameReason(summary)(*ill)) {
		found = append([]Finding{*summary}, found...) // nothing else says it
	}
	if ill != nil && (len(ill.Causes) > 0 || len(found) == 0) {
		add(ill)
	}
	return found
}

func sameReason(finding *Finding) func(Finding) bool {
	return func(other Finding) bool { return other.Reason == finding.Reason }
}

// current gives a condition that speaks of the present spec, nil when there is none.
func current(release *corev1alpha1.Release, name string) *metav1.Condition {
	condition := meta.FindStatusCondition(release.Status.Conditions, name)
	if condition == nil || condition.ObservedGeneration != release.Generation {
		return nil
	}
	return condition
}

// unseen tells that no controller has looked at the present spec.
func unseen(facts Facts) *Finding {
	release := facts.Release
	if current(release, corev1alpha1.ConditionReady) != nil {
		return nil
	}
	finding := &Finding{
		Subject: "convoy-controller-manager",
		Message: "has said nothing about the present spec yet",
		Do:      []string{"if that stays so, see whether it runs, and holds the shard of the Release: kubectl -n convoy-system get leases"},
	}
	if release.Generation == 1 {
		finding.Since = &release.CreationTimestamp
	}
	return finding
}

// failing tells of a condition that is not True.
func failing(release *corev1alpha1.Release, name string) *Finding {
	condition := current(release, name)
	if condition == nil || condition.Status == metav1.ConditionTrue {
		return nil
	}
	return &Finding{
		Subject: name, Reason: condition.Reason, Message: condition.Message, Since: &condition.LastTransitionTime,
		Do: advice(release, condition.Reason),
	}
}
