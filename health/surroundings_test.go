// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
)

// classes are the storage classes of a cluster.
var classes = Surroundings{VolumeBindingMode: func(class string) (string, error) {
	if class == "hidden" {
		return "", errors.New("forbidden")
	}
	return map[string]string{"slow": "WaitForFirstConsumer", "fast": "Immediate"}[class], nil
}}

func TestClaimsInTheirCluster(t *testing.T) {
	const claim = `{apiVersion: v1, kind: PersistentVolumeClaim, `
	for _, test := range []struct {
		name   string
		object string
		status corev1alpha1.HealthStatus
		want   string
	}{
		{"one that waits for its first consumer", claim + `spec: {storageClassName: slow}, status: {phase: Pending}}`,
			corev1alpha1.HealthHealthy, "waits for first consumer"},
		{"one that nobody has looked at", claim + `spec: {storageClassName: slow}}`,
			corev1alpha1.HealthHealthy, "waits for first consumer"},
		{"one whose consumer is there", claim + `metadata: {annotations: {volume.kubernetes.io/selected-node: a}}, spec: {storageClassName: slow}, status: {phase: Pending}}`,
			corev1alpha1.HealthProgressing, `pending: waits for a volume of storage class "slow" for a pod on node "a"`},
		{"one with its volume", claim + `spec: {storageClassName: slow, volumeName: v}, status: {phase: Pending}}`,
			corev1alpha1.HealthProgressing, `pending: waits to be bound to volume "v"`},
		{"one that lost its volume", claim + `spec: {storageClassName: slow, volumeName: v}, status: {phase: Lost}}`,
			corev1alpha1.HealthDegraded, `its volume "v" is lost`},
		{"one that is to be bound at once", claim + `spec: {storageClassName: fast}, status: {phase: Pending}}`,
			corev1alpha1.HealthProgressing, `pending: waits for a volume of storage class "fast"`},
		{"one of a class that is not known", claim + `spec: {storageClassName: other}, status: {phase: Pending}}`,
			corev1alpha1.HealthProgressing, `pending: waits for a volume of storage class "other", or for its first consumer`},
		{"one whose class may not be read", claim + `spec: {storageClassName: hidden}, status: {phase: Pending}}`,
			corev1alpha1.HealthProgressing, `pending: waits for a volume of storage class "hidden", or for its first consumer; its storage class cannot be read: forbidden`},
		{"one without a class", claim + `status: {phase: Pending}}`,
			corev1alpha1.HealthProgressing, "pending: waits for a volume, or for its first consumer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(NewAssessor().AssessIn(objectFromYAML(t, test.object), classes)).To(Equal(Result{
				Status: test.status, Message: test.want, Rule: "builtin/core/PersistentVolumeClaim",
			}))
		})
	}
}

func TestWhyThereAreNoPods(t *testing.T) {
	const (
		job   = `{apiVersion: batch/v1, kind: Job, `
		set   = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}, spec: {replicas: 3}, status: {observedGeneration: 1, `
		nodes = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 2, `
	)
	for _, test := range []struct {
		name, object string
		want         string // the message; what was not asked for is not in it
	}{
		{"a Job", job + `status: {}}`, "0 pods run, 0 succeeded, 0 failed; FailedCreate: no quota"},
		{"one with a pod", job + `status: {active: 1}}`, "1 pods run, 0 succeeded, 0 failed"},
		{"one that had a pod", job + `status: {failed: 1}}`, "0 pods run, 0 succeeded, 1 failed"},
		{"one that is suspended", job + `spec: {suspend: true}}`, "suspended"},
		{"one that is complete", job + `status: {conditions: [{type: Complete, status: "True"}]}}`, "completed"},
		{"one that failed without a pod", job + `status: {conditions: [{type: Failed, status: "True", reason: DeadlineExceeded}]}}`,
			"failed: DeadlineExceeded; FailedCreate: no quota"},
		{"one that failed", job + `status: {failed: 1, conditions: [{type: Failed, status: "True", reason: DeadlineExceeded}]}}`,
			"failed: DeadlineExceeded"},
		{"a StatefulSet", set + `replicas: 1, readyReplicas: 1, updatedReplicas: 3}}`, "1 of 3 pods are ready; FailedCreate: no quota"},
		{"one that is updated", set + `replicas: 2, readyReplicas: 2, updatedReplicas: 2}}`, "2 of 3 pods are updated; FailedCreate: no quota"},
		{"one whose pods are there", set + `replicas: 3, readyReplicas: 1, updatedReplicas: 3}}`, "1 of 3 pods are ready"},
		{"one that is well", set + `replicas: 3, readyReplicas: 3, updatedReplicas: 3}}`, ""},
		{"a claim that is to be bound at once", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {annotations: {volume.kubernetes.io/storage-provisioner: p}}, status: {phase: Pending}}`,
			`pending: waits for provisioner "p" to make a volume; FailedCreate: no quota`},
		{"a claim with a consumer", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {annotations: {volume.kubernetes.io/selected-node: a}}, status: {phase: Pending}}`,
			`pending: waits for a volume for a pod on node "a"; FailedCreate: no quota`},
		{"a claim that is bound", `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}`, ""},
		{"a DaemonSet", nodes + `currentNumberScheduled: 1}}`, "1 of 2 nodes have a pod; FailedCreate: no quota"},
		{"one whose pods are there", nodes + `currentNumberScheduled: 2, updatedNumberScheduled: 2}}`, "0 of 2 pods are available"},
		{"a Deployment, which says so itself", `{apiVersion: apps/v1, kind: Deployment}`, "0 of 1 replicas are updated"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			object, around := objectFromYAML(t, test.object), Surroundings{Warning: func() string { return "FailedCreate: no quota" }}
			result := NewAssessor().AssessIn(object, around)
			g.Expect(result.Message).To(Equal(test.want))
			silent := NewAssessor().AssessIn(object, Surroundings{Warning: func() string { return "" }})
			g.Expect(silent).To(Equal(Assess(object)), "events that say nothing change nothing")
			g.Expect(silent.Status).To(Equal(result.Status), "events are no judgement")
			if object.GetKind() == "Job" {
				_, message := NewAssessor().AssessHook(object, around)
				g.Expect(message).To(Equal(test.want))
			}
		})
	}
}

// A rule decides, whatever is known beside the object, and nothing is asked for its sake.
func TestRulesAskNothing(t *testing.T) {
	g := NewWithT(t)
	assessor := NewAssessor(compile(t, "HealthRuleSet/web", widget(func(r *extv1alpha1.HealthRule) {
		r.Target = extv1alpha1.HealthRuleTarget{Group: "batch", Kind: "Job"}
	})))
	got := assessor.AssessIn(objectFromYAML(t, `{apiVersion: batch/v1, kind: Job, status: {phase: Done}}`), Surroundings{
		Warning: func() string { t.Error("asked for events"); return "" },
	})
	g.Expect(got).To(Equal(Result{Status: corev1alpha1.HealthHealthy, Rule: "HealthRuleSet/web/phase"}))
}
