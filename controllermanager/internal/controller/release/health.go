// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
)

// severity orders states of health by how bad they are; 0 needs no waiting. An object that
// is suspended is so on purpose.
var severity = map[corev1alpha1.HealthStatus]int{
	corev1alpha1.HealthHealthy:     0,
	corev1alpha1.HealthSuspended:   0,
	corev1alpha1.HealthProgressing: 1,
	corev1alpha1.HealthUnknown:     2,
	corev1alpha1.HealthMissing:     3,
	corev1alpha1.HealthDegraded:    4,
}

// ailment is an object that is not healthy, and why.
type ailment struct {
	severity      int
	status        corev1alpha1.HealthStatus
	name, message string
}

func ailmentOf(key corev1alpha1.ObjectKey, health corev1alpha1.ObjectHealth) ailment {
	status := health.Status
	if status == "" {
		status = corev1alpha1.HealthUnknown
	}
	a := ailment{severity: severity[status], status: status, name: objectName(key)}
	if status != corev1alpha1.HealthMissing { // there is nothing to add to that
		a.message = health.Message
	}
	return a
}

// ailments names the worst, those with the same trouble together.
func ailments(ill []ailment) string {
	type trouble struct {
		severity int
		status   corev1alpha1.HealthStatus
		message  string
	}
	names := map[trouble][]string{}
	var troubles []trouble
	for _, a := range ill {
		t := trouble{a.severity, a.status, a.message}
		if names[t] == nil {
			troubles = append(troubles, t)
		}
		names[t] = append(names[t], a.name)
	}
	slices.SortStableFunc(troubles, func(a, b trouble) int { return cmp.Compare(b.severity, a.severity) })
	var texts []string
	for _, t := range troubles {
		text := fmt.Sprintf("%s %s %s", listed(names[t], ", "), are(len(names[t])), t.status)
		if t.message != "" {
			text += ": " + t.message
		}
		texts = append(texts, text)
	}
	return listed(texts, "; ")
}

// healthIsCurrent tells whether the inventory's status speaks of what is in it now.
func (s *scope) healthIsCurrent() bool {
	return s.inventory != nil && !s.unwritten && s.inventory.Status.ObservedGeneration == s.inventory.Generation
}

func (s *scope) healthByKey() map[string]corev1alpha1.ObjectHealth {
	health := make(map[string]corev1alpha1.ObjectHealth, len(s.inventory.Status.Health))
	for _, h := range s.inventory.Status.Health {
		health[inventory.KeyOf(h.ObjectKey)] = h
	}
	return health
}

// judgeHealth sets the condition Healthy from the health of the objects that are applied.
// It stops nothing: a new revision is what mends an unhealthy one.
func (c *Controller) judgeHealth(s *scope) {
	status, reason, message := s.health()
	if s.release.Status.Applied == nil && len(s.entries()) == 0 {
		status, reason, message = metav1.ConditionUnknown, corev1alpha1.ReasonProgressing, "nothing is applied yet"
	}
	told := message
	if status != metav1.ConditionTrue {
		told += s.refusal()
	}
	s.set(corev1alpha1.ConditionHealthy, status, reason, told, s.release.Generation)
	s.recordHealth(status, reason, message)
}

// health gives what the condition Healthy says.
func (s *scope) health() (metav1.ConditionStatus, string, string) {
	var applied []corev1alpha1.InventoryEntry
	others := 0
	for _, entry := range s.objectEntries() {
		if entry.Digest == "" { // not applied as desired yet, or about to be pruned
			others++
			continue
		}
		applied = append(applied, entry)
	}
	if len(applied) == 0 {
		switch {
		case others > 0 && s.applied().Render != "":
			return metav1.ConditionUnknown, corev1alpha1.ReasonProgressing, isAre(others, "object") + " not as desired yet and not judged"
		case others > 0 || s.inventory == nil && s.applied().Objects > 0:
			return metav1.ConditionUnknown, corev1alpha1.ReasonProgressing, "nothing is applied yet"
		}
		return metav1.ConditionTrue, corev1alpha1.ReasonHealthy, "there are no objects"
	}
	if !s.healthIsCurrent() {
		return metav1.ConditionUnknown, corev1alpha1.ReasonProgressing,
			fmt.Sprintf("waiting for convoy-observer to judge %s", count(len(applied), "object"))
	}
	status, reason, message := s.verdictOn(applied)
	if others > 0 {
		message += fmt.Sprintf("; %s not as desired yet and not judged", isAre(others, "object"))
	}
	return status, reason, message
}

func (s *scope) verdictOn(applied []corev1alpha1.InventoryEntry) (metav1.ConditionStatus, string, string) {
	health := s.healthByKey()
	var ill []ailment
	suspended, worst := 0, ailment{}
	for _, entry := range applied {
		a := ailmentOf(entry.ObjectKey, health[inventory.Key(entry)])
		if a.severity > 0 {
			ill = append(ill, a)
		}
		if a.severity > worst.severity {
			worst = a
		}
		if a.status == corev1alpha1.HealthSuspended {
			suspended++
		}
	}
	if len(ill) == 0 {
		message := isAre(len(applied)-suspended, "object") + " healthy"
		if suspended > 0 {
			message += fmt.Sprintf(", %d suspended", suspended)
		}
		return metav1.ConditionTrue, corev1alpha1.ReasonHealthy, message
	}
	if worst.status == corev1alpha1.HealthUnknown && !slices.ContainsFunc(ill, func(a ailment) bool { return a.status != worst.status }) {
		return metav1.ConditionUnknown, corev1alpha1.ReasonUnknown, fmt.Sprintf("the health of %d of %s is not known: %s",
			len(ill), count(len(applied), "object"), ailments(ill))
	}
	message := fmt.Sprintf("%d of %s %s not healthy: %s", len(ill), count(len(applied), "object"), are(len(ill)), ailments(ill))
	switch worst.status {
	case corev1alpha1.HealthUnknown:
		return metav1.ConditionUnknown, corev1alpha1.ReasonUnknown, message
	case corev1alpha1.HealthProgressing:
		if s.healthOverdue() {
			return metav1.ConditionFalse, corev1alpha1.ReasonHealthTimeout, fmt.Sprintf("after %s %s", timeout(s.release), message)
		}
		return metav1.ConditionFalse, corev1alpha1.ReasonProgressing, message
	}
	return metav1.ConditionFalse, corev1alpha1.ReasonDegraded, message
}

// healthOverdue tells whether the objects have had their time to become healthy. It asks
// for a pass when that will be. Time in which their health was not known does not count.
func (s *scope) healthOverdue() bool {
	since := s.applied().At.Time
	if started := s.sync().StartedAt; started != nil {
		since = s.counted(started.Time)
	}
	known := meta.FindStatusCondition(s.before.Conditions, corev1alpha1.ConditionHealthy)
	switch {
	case known == nil:
	case known.Status == metav1.ConditionUnknown:
		since = s.now
	case known.Status == metav1.ConditionFalse && known.LastTransitionTime.After(since):
		since = known.LastTransitionTime.Time
	}
	left := untilFrom(since, timeout(s.release), s.now)
	if left > 0 {
		s.wakeIn(left + time.Second)
	}
	return left == 0
}
