// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
)

// TestMigrationOfWhatWasApplied: what a manager that is named applied and updated becomes
// convoy's together, and what it wrote by way of a subresource stays its own.
func TestMigrationOfWhatWasApplied(t *testing.T) {
	g := NewWithT(t)
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: operation, Subresource: subresource, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	live := manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, resourceVersion: '7'}, data: {a: x, b: y}}")
	live.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry("flux", metav1.ManagedFieldsOperationApply, "", `{"f:data":{"f:a":{}}}`),
		entry("flux", metav1.ManagedFieldsOperationUpdate, "", `{"f:data":{"f:b":{}}}`),
		entry("flux", metav1.ManagedFieldsOperationUpdate, "status", `{"f:status":{}}`),
		entry("other", metav1.ManagedFieldsOperationApply, "", `{"f:data":{"f:c":{}}}`),
	})

	patch, err := migration(live, managed.Adopted(release(adoptFrom("flux"))))

	g.Expect(err).NotTo(HaveOccurred())
	var operations []struct {
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	g.Expect(json.Unmarshal(patch, &operations)).To(Succeed())
	g.Expect(operations).To(HaveLen(2))
	var entries []metav1.ManagedFieldsEntry
	g.Expect(json.Unmarshal(operations[1].Value, &entries)).To(Succeed())
	texts := map[string]string{}
	for _, e := range entries {
		texts[e.Manager+" "+string(e.Operation)+" "+e.Subresource] = string(e.FieldsV1.GetRawBytes())
	}
	g.Expect(texts).To(Equal(map[string]string{
		corev1alpha1.FieldManager + " Apply ": `{"f:data":{"f:a":{},"f:b":{}}}`,
		"flux Update status":                  `{"f:status":{}}`,
		"other Apply ":                        `{"f:data":{"f:c":{}}}`,
	}))
}
