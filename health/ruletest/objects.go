// SPDX-License-Identifier: Apache-2.0

package ruletest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health"
)

// ReadObjects reads objects of any kind as a cluster gives them; a List counts as its
// items. Errors are joined; each names file and line.
func ReadObjects(files ...File) ([]*unstructured.Unstructured, error) {
	documents, err := read(files)
	objects := make([]*unstructured.Unstructured, len(documents))
	for i := range documents {
		objects[i] = &documents[i].meta
	}
	return objects, err
}

// Judge judges each object, in their order. The answer has the form in which convoy tells
// the health of a Release, without a name and without times.
func Judge(assessor *health.Assessor, objects []*unstructured.Unstructured) *corev1alpha1.ReleaseHealth {
	report := &corev1alpha1.ReleaseHealth{Objects: []corev1alpha1.ObjectHealthDetail{}}
	statuses := make([]corev1alpha1.HealthStatus, 0, len(objects))
	for _, object := range objects {
		result := assessor.Assess(object)
		gvk := object.GroupVersionKind()
		statuses = append(statuses, result.Status)
		health.Count(&report.Summary, result.Status)
		report.Objects = append(report.Objects, corev1alpha1.ObjectHealthDetail{
			ObjectHealth: corev1alpha1.ObjectHealth{
				ObjectKey: corev1alpha1.ObjectKey{
					Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: object.GetNamespace(), Name: object.GetName(),
				},
				Status: result.Status, Message: result.Message,
			},
			Rule: result.Rule,
		})
	}
	report.Status = health.Worst(statuses...)
	return report
}
