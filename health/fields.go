// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// The readers below take a field of the wrong type for an absent one: nothing that a
// cluster holds may stop the judging of other objects.

// integer reads a whole number.
func integer(obj *unstructured.Unstructured, path ...string) (int64, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if err != nil || !found {
		return 0, false
	}
	switch n := value.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case float64:
		return int64(n), true
	}
	return 0, false
}

// number reads a whole number, or gives the fallback.
func number(obj *unstructured.Unstructured, fallback int64, path ...string) int64 {
	if n, found := integer(obj, path...); found {
		return n
	}
	return fallback
}

func text(obj *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(obj.Object, path...)
	return value
}

func flag(obj *unstructured.Unstructured, path ...string) bool {
	value, _, _ := unstructured.NestedBool(obj.Object, path...)
	return value
}

// items reads the members of a list that are objects.
func items(obj *unstructured.Unstructured, path ...string) []*unstructured.Unstructured {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	list, _ := value.([]any)
	var objects []*unstructured.Unstructured
	for _, item := range list {
		if fields, ok := item.(map[string]any); ok {
			objects = append(objects, &unstructured.Unstructured{Object: fields})
		}
	}
	return objects
}

// condition is an entry of status.conditions. A condition that is absent has no status.
type condition struct {
	Type, Status, Reason, Message string
	// severity is in conditions of Cluster API and of what follows it: Error, Warning, Info.
	severity           string
	observedGeneration int64
}

// find gives the condition of a type.
func find(obj *unstructured.Unstructured, conditionType string) condition {
	for _, item := range items(obj, "status", "conditions") {
		if text(item, "type") == conditionType {
			return condition{
				Type:               conditionType,
				Status:             text(item, "status"),
				Reason:             text(item, "reason"),
				Message:            text(item, "message"),
				severity:           text(item, "severity"),
				observedGeneration: number(item, obj.GetGeneration(), "observedGeneration"),
			}
		}
	}
	return condition{Type: conditionType}
}

func (c condition) present() bool  { return c.Status != "" }
func (c condition) isTrue() bool   { return c.Status == "True" }
func (c condition) isFalse() bool  { return c.Status == "False" }
func (c condition) why() string    { return reasoned(c.Reason, c.Message) }
func (c condition) String() string { return c.Type + " is " + c.Status + detail(c.why()) }

// isBehind says that the condition speaks of an older generation of the object.
func (c condition) isBehind(obj *unstructured.Unstructured) bool {
	return c.observedGeneration < obj.GetGeneration()
}

// reasoned joins a reason and a message, either of which may be empty. A message that says
// the reason itself says it once.
func reasoned(reason, message string) string {
	switch {
	case reason == "" || message == "":
		return reason + message
	case message == reason || strings.HasPrefix(message, reason+":"):
		return message
	}
	return reason + ": " + message
}

// detail appends a text to a sentence, if there is one.
func detail(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

func healthy(format string, args ...any) Result {
	return Result{Status: corev1alpha1.HealthHealthy, Message: fmt.Sprintf(format, args...)}
}

func progressing(format string, args ...any) Result {
	return Result{Status: corev1alpha1.HealthProgressing, Message: fmt.Sprintf(format, args...)}
}

func degraded(format string, args ...any) Result {
	return Result{Status: corev1alpha1.HealthDegraded, Message: fmt.Sprintf(format, args...)}
}

func suspended(format string, args ...any) Result {
	return Result{Status: corev1alpha1.HealthSuspended, Message: fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) Result {
	return Result{Status: corev1alpha1.HealthUnknown, Message: fmt.Sprintf(format, args...)}
}
