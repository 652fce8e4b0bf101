// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
	"kumodo.io/convoy/observer/internal/testcluster"
)

// owns gives an object a manager of some fields.
func owns(object *unstructured.Unstructured, manager string, operation metav1.ManagedFieldsOperationType, fields string) {
	object.SetManagedFields(append(object.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}))
}

func TestWhatKubectlWroteAndNobodyWants(t *testing.T) {
	const wrote = `{"f:metadata":{"f:labels":{".":{},"f:old":{}}},"f:spec":{"f:a":{},"f:b":{},"f:c":{},
		"f:ports":{".":{},"k:{\"port\":80}":{".":{},"f:port":{},"f:name":{}},"k:{\"port\":81}":{".":{},"f:port":{}}},
		"f:finalizers":{"v:\"x\"":{}}}}`
	const object = `{apiVersion: example.com/v1, kind: X, metadata: {name: x, labels: {old: "1"}},
		spec: {a: 1, b: 2, c: 3, ports: [{port: 80, name: web}, {port: 81}, {port: 82}], finalizers: [x, z]}}`
	for _, test := range []struct {
		name    string
		manager string
		applied string // of convoy, by the dry run
		others  string
		want    string
	}{
		{"what neither convoy nor others have", "kubectl-client-side-apply", `{"f:spec":{"f:a":{},"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}}`, `{"f:spec":{"f:b":{}}}`,
			`{apiVersion: example.com/v1, kind: X, metadata: {name: x}, spec: {a: 1, b: 2, ports: [{port: 80}, {port: 82}], finalizers: [z]}}`},
		{"a map in which others have something stays", "kubectl-edit", `{"f:spec":{"f:a":{}}}`, `{"f:metadata":{"f:labels":{"f:new":{}}}}`,
			`{apiVersion: example.com/v1, kind: X, metadata: {name: x, labels: {}}, spec: {a: 1, finalizers: [z]}}`},
		{"another manager's stays", "helm", `{"f:spec":{"f:a":{}}}`, `{}`, object},
		{"that of a manager that is named does not", "flux", `{"f:spec":{"f:a":{}}}`, `{}`,
			`{apiVersion: example.com/v1, kind: X, metadata: {name: x}, spec: {a: 1, finalizers: [z]}}`},
		{"that of commands for small things stays", "kubectl-scale", `{"f:spec":{"f:a":{}}}`, `{}`, object},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			live, result := testcluster.Object(object), testcluster.Object(object)
			owns(live, test.manager, metav1.ManagedFieldsOperationUpdate, wrote)
			owns(result, test.manager, metav1.ManagedFieldsOperationUpdate, wrote)
			owns(result, "convoy", metav1.ManagedFieldsOperationApply, test.applied)
			owns(result, "other", metav1.ManagedFieldsOperationUpdate, test.others)
			release := &corev1alpha1.Release{}
			release.Annotations = map[string]string{corev1alpha1.AnnotationAdoptFrom: "flux"}
			gone, err := abandoned(live, result, managed.Adopted(release))
			g.Expect(err).NotTo(HaveOccurred())
			gone.Iterate(func(path fieldpath.Path) { managed.Remove(result.Object, path) })
			result.SetManagedFields(nil)
			g.Expect(result.Object).To(Equal(testcluster.Object(test.want).Object))
		})
	}
}
