// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"kumodo.io/convoy/kubectl-convoy/internal/sharding"
)

// Deployments judges those of an installation, with its Pods.
func Deployments(deployments []appsv1.Deployment, pods []corev1.Pod, namespace string) []Check {
	if len(deployments) == 0 {
		return []Check{{Status: Skipped, Message: fmt.Sprintf(
			"no Deployments of convoy in namespace %s: it runs elsewhere (--convoy-namespace), or not in Pods of this cluster", namespace)}}
	}
	var checks []Check
	for i := range deployments {
		checks = append(checks, deployment(&deployments[i], pods))
	}
	return checks
}

func deployment(d *appsv1.Deployment, pods []corev1.Pod) Check {
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	logs := fmt.Sprintf("kubectl -n %s logs deployment/%s --all-pods", d.Namespace, d.Name)
	switch {
	case wanted == 0:
		return failed(fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2", d.Namespace, d.Name), "Deployment %s has no replicas", d.Name)
	case d.Status.ObservedGeneration < d.Generation:
		return failed(fmt.Sprintf("kubectl -n %s rollout status deployment %s", d.Namespace, d.Name), "Deployment %s was changed, and nobody has looked at it yet", d.Name)
	case d.Status.ReadyReplicas < wanted:
		message := fmt.Sprintf("Deployment %s has %d of %d replicas ready", d.Name, d.Status.ReadyReplicas, wanted)
		if troubles := troublesOf(d, pods); len(troubles) > 0 {
			message += ": " + strings.Join(troubles, "; ")
		}
		return failed(logs, "%s", message)
	case d.Status.UpdatedReplicas < wanted:
		return failed(fmt.Sprintf("kubectl -n %s rollout status deployment %s", d.Namespace, d.Name),
			"Deployment %s has %d of %d replicas of the newest kind", d.Name, d.Status.UpdatedReplicas, wanted)
	}
	return ok("Deployment %s has %d of %d replicas ready", d.Name, d.Status.ReadyReplicas, wanted)
}

// troublesOf says what is wrong with Pods of a Deployment that are not ready.
func troublesOf(d *appsv1.Deployment, pods []corev1.Pod) []string {
	var troubles []string
	for i := range pods {
		pod := &pods[i]
		if d.Spec.Selector == nil || !labels.SelectorFromSet(d.Spec.Selector.MatchLabels).Matches(labels.Set(pod.Labels)) || isReady(pod) {
			continue
		}
		trouble := fmt.Sprintf("Pod %s is %s", pod.Name, pod.Status.Phase)
		for _, container := range pod.Status.ContainerStatuses {
			if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "" {
				trouble = fmt.Sprintf("Pod %s: %s, restarted %d times", pod.Name, waiting.Reason, container.RestartCount)
			}
		}
		troubles = append(troubles, trouble)
	}
	return troubles
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// StatefulSet judges the etcd of an installation for trials.
func StatefulSet(s *appsv1.StatefulSet) Check {
	if wanted := ptr.Deref(s.Spec.Replicas, 1); s.Status.ReadyReplicas < wanted {
		return failed(fmt.Sprintf("kubectl -n %s describe statefulset %s", s.Namespace, s.Name), "StatefulSet %s has %d of %d replicas ready", s.Name, s.Status.ReadyReplicas, wanted)
	}
	return ok("StatefulSet %s is ready", s.Name)
}

// Leases judges who works on the shards.
func Leases(report *sharding.Report, namespace string) []Check {
	var checks []Check
	for _, component := range sharding.Components {
		var wrong []string
		for _, problem := range report.Problems {
			if problem.Component == component.Name {
				wrong = append(wrong, problem.Message)
			}
		}
		if len(wrong) > 0 {
			checks = append(checks, failed(fmt.Sprintf("kubectl convoy shards --convoy-namespace %s; kubectl -n %s get leases", namespace, namespace),
				"%s: %s", component.Name, strings.Join(wrong, "; ")))
			continue
		}
		replicas := 0
		for _, replica := range report.Replicas {
			if replica.Component == component.Name {
				replicas++
			}
		}
		checks = append(checks, ok("%s: all of %d shards are worked on, by %d replicas", component.Name, len(report.Shards), replicas))
	}
	return checks
}
