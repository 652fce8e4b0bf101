// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
)

func TestAssessHook(t *testing.T) {
	type want struct {
		phase   corev1alpha1.HookPhase
		message string
	}
	for _, test := range []struct {
		name  string
		given string
		want  want
	}{{
		name: "nothing there",
		want: want{corev1alpha1.HookFailed, "vanished before it finished"},
	}, {
		name:  "Job that the controller has not seen",
		given: `{apiVersion: batch/v1, kind: Job}`,
		want:  want{corev1alpha1.HookRunning, "0 pods run, 0 succeeded, 0 failed"},
	}, {
		name:  "complete Job",
		given: `{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: "True"}]}}`,
		want:  want{corev1alpha1.HookSucceeded, "completed"},
	}, {
		name: "complete Job that its TTL removes",
		given: `{apiVersion: batch/v1, kind: Job, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"},
		         status: {conditions: [{type: Complete, status: "True"}]}}`,
		want: want{corev1alpha1.HookSucceeded, "completed"},
	}, {
		name: "failed Job",
		given: `{apiVersion: batch/v1, kind: Job, status: {conditions: [
		         {type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]}}`,
		want: want{corev1alpha1.HookFailed, "failed: BackoffLimitExceeded: Job has reached the specified backoff limit"},
	}, {
		name:  "suspended Job",
		given: `{apiVersion: batch/v1, kind: Job, spec: {suspend: true}}`,
		want:  want{corev1alpha1.HookRunning, "suspended"},
	}, {
		name:  "running Job that somebody deletes",
		given: `{apiVersion: batch/v1, kind: Job, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {active: 1}}`,
		want:  want{corev1alpha1.HookRunning, "being deleted"},
	}, {
		name:  "Pod that is ready has not ended",
		given: `{apiVersion: v1, kind: Pod, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
		want:  want{corev1alpha1.HookRunning, ""},
	}, {
		name:  "Pod that has succeeded",
		given: `{apiVersion: v1, kind: Pod, status: {phase: Succeeded}}`,
		want:  want{corev1alpha1.HookSucceeded, "completed"},
	}, {
		name:  "Pod that has failed",
		given: `{apiVersion: v1, kind: Pod, status: {phase: Failed, reason: DeadlineExceeded}}`,
		want:  want{corev1alpha1.HookFailed, "failed: DeadlineExceeded"},
	}, {
		name:  "what does not run",
		given: `{apiVersion: v1, kind: ConfigMap}`,
		want:  want{corev1alpha1.HookSucceeded, ""},
	}, {
		name:  "custom resource on its way",
		given: `{apiVersion: example.com/v1, kind: Backup, status: {conditions: [{type: Ready, status: "False", reason: Creating}]}}`,
		want:  want{corev1alpha1.HookRunning, "Ready is False: Creating"},
	}, {
		name:  "custom resource that failed",
		given: `{apiVersion: example.com/v1, kind: Backup, status: {conditions: [{type: Failed, status: "True", reason: NoSpace}]}}`,
		want:  want{corev1alpha1.HookFailed, "Failed is True: NoSpace"},
	}} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var obj *unstructured.Unstructured
			if test.given != "" {
				obj = objectFromYAML(t, test.given)
			}
			phase, message := NewAssessor(nil).AssessHook(obj, Surroundings{})
			g.Expect(phase).To(Equal(test.want.phase))
			g.Expect(message).To(Equal(test.want.message))
		})
	}
}

func TestRulesDecideOnHooks(t *testing.T) {
	rules := func(g *WithT, kinds ...extv1alpha1.HealthRuleTarget) *Assessor {
		var rules []extv1alpha1.HealthRule
		for _, target := range kinds {
			rules = append(rules, extv1alpha1.HealthRule{
				Name: "phase", Target: target,
				Degraded: "object.status.phase in ['Failed', 'Error']", Suspended: "object.status.phase == 'Paused'",
				Healthy: "object.status.phase == 'Succeeded'", Message: "'phase ' + object.status.phase",
			})
		}
		set, errs := Compile(rules, "test/rules", nil)
		g.Expect(errs).To(BeEmpty())
		return NewAssessor(set)
	}
	for _, test := range []struct {
		name    string
		given   string
		phase   corev1alpha1.HookPhase
		message string
	}{
		{"on its way", "{apiVersion: argoproj.io/v1alpha1, kind: Workflow, status: {phase: Running}}", corev1alpha1.HookRunning, "phase Running"},
		{"paused", "{apiVersion: argoproj.io/v1alpha1, kind: Workflow, status: {phase: Paused}}", corev1alpha1.HookRunning, "phase Paused"},
		{"failed", "{apiVersion: argoproj.io/v1alpha1, kind: Workflow, status: {phase: Failed}}", corev1alpha1.HookFailed, "phase Failed"},
		{"succeeded", "{apiVersion: argoproj.io/v1alpha1, kind: Workflow, status: {phase: Succeeded}}", corev1alpha1.HookSucceeded, "phase Succeeded"},
		{"of which the rule cannot tell", "{apiVersion: argoproj.io/v1alpha1, kind: Workflow}", corev1alpha1.HookRunning, "no such key: status"},
		{"a Job says itself when it has ended", "{apiVersion: batch/v1, kind: Job, status: {phase: Succeeded}}", corev1alpha1.HookRunning, "0 pods run"},
		{"a Pod, too", "{apiVersion: v1, kind: Pod, status: {phase: Error}}", corev1alpha1.HookRunning, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			assessor := rules(g, extv1alpha1.HealthRuleTarget{Group: "argoproj.io", Kind: "Workflow"},
				extv1alpha1.HealthRuleTarget{Group: "batch", Kind: "Job"}, extv1alpha1.HealthRuleTarget{Kind: "Pod"})
			phase, message := assessor.AssessHook(objectFromYAML(t, test.given), Surroundings{})
			g.Expect(phase).To(Equal(test.phase))
			g.Expect(message).To(ContainSubstring(test.message))
		})
	}
}
