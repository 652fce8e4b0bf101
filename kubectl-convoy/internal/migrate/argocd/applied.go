// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Applied gives the objects that Argo CD has for an Application, hooks left out. known is false
// when its status does not tell.
func Applied(old *unstructured.Unstructured) (keys []corev1alpha1.ObjectKey, known bool) {
	resources, known, _ := unstructured.NestedSlice(old.Object, "status", "resources")
	for _, item := range resources {
		resource, _ := item.(map[string]any)
		text := func(name string) string {
			value, _ := resource[name].(string)
			return value
		}
		if hook, _ := resource["hook"].(bool); hook {
			continue
		}
		keys = append(keys, corev1alpha1.ObjectKey{
			Group: text("group"), Version: text("version"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name"),
		})
	}
	return keys, known
}
