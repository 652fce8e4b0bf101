// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestAssessIn(t *testing.T) {
	first, immediate := Surroundings{VolumeBindingMode: "WaitForFirstConsumer"}, Surroundings{VolumeBindingMode: "Immediate"}
	reports := Surroundings{ReportsConditions: true}
	const claim, widget = `{apiVersion: v1, kind: PersistentVolumeClaim, `, `{apiVersion: example.com/v1, kind: Widget, metadata: {generation: 1}`
	for _, test := range []struct {
		name   string
		object string
		around Surroundings
		want   Result
	}{
		{"a claim that waits for its first consumer", claim + `status: {phase: Pending}}`, first, Result{Status: corev1alpha1.HealthHealthy, Message: "waits for first consumer"}},
		{"one that nobody has looked at", claim + `spec: {storageClassName: slow}}`, first, Result{Status: corev1alpha1.HealthHealthy, Message: "waits for first consumer"}},
		{"one whose consumer is there", claim + `metadata: {annotations: {volume.kubernetes.io/selected-node: a}}, status: {phase: Pending}}`, first, Result{Status: corev1alpha1.HealthProgressing, Message: `pending: waits for a volume for a pod on node "a"`}},
		{"one with its volume", claim + `spec: {volumeName: v}, status: {phase: Pending}}`, first, Result{Status: corev1alpha1.HealthProgressing, Message: `pending: waits to be bound to volume "v"`}},
		{"one that lost its volume", claim + `spec: {volumeName: v}, status: {phase: Lost}}`, first, Result{Status: corev1alpha1.HealthDegraded, Message: `its volume "v" is lost`}},
		{"a claim that is to be bound at once", claim + `spec: {storageClassName: fast}, status: {phase: Pending}}`, immediate, Result{Status: corev1alpha1.HealthProgressing, Message: `pending: waits for a volume of storage class "fast"`}},
		{"a custom resource without status", widget + `}`, reports, Result{Status: corev1alpha1.HealthProgressing, Message: "its controller has not reported a condition yet", Rule: "generic/conditions"}},
		{"one with a generation only", widget + `, status: {observedGeneration: 1}}`, reports, Result{Status: corev1alpha1.HealthProgressing, Message: "its controller has not reported a condition yet", Rule: "generic/conditions"}},
		{"one with a condition of its own", widget + `, status: {conditions: [{type: Odd, status: "True"}]}}`, reports, Result{Status: corev1alpha1.HealthHealthy, Rule: "generic/conditions"}},
		{"one that is ready", widget + `, status: {conditions: [{type: Ready, status: "True"}]}}`, reports, Result{Status: corev1alpha1.HealthHealthy, Rule: "generic/conditions"}},
		{"one of which nothing is known", widget + `}`, Surroundings{}, Result{Status: corev1alpha1.HealthHealthy, Rule: "generic/conditions"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.want.Rule == "" {
				test.want.Rule = "builtin/core/PersistentVolumeClaim"
			}
			NewWithT(t).Expect(NewAssessor().AssessIn(objectFromYAML(t, test.object), test.around)).To(Equal(test.want))
		})
	}
}

// A rule decides, whatever is known beside the object.
func TestAssessInRules(t *testing.T) {
	g := NewWithT(t)
	assessor := NewAssessor(compile(t, "HealthRuleSet/web", widget()))
	got := assessor.AssessIn(objectFromYAML(t, `{apiVersion: example.com/v1, kind: Widget, status: {phase: Done}}`), Surroundings{ReportsConditions: true})
	g.Expect(got).To(Equal(Result{Status: corev1alpha1.HealthHealthy, Rule: "HealthRuleSet/web/phase"}))
}
