// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Missing gives those of what another tool has applied that are not among what convoy has. What
// the tool tells without a namespace may be in any.
func Missing(was, is []corev1alpha1.ObjectKey) []corev1alpha1.ObjectKey {
	var missing []corev1alpha1.ObjectKey
	for _, old := range was {
		if !slices.ContainsFunc(is, func(key corev1alpha1.ObjectKey) bool {
			return key.Group == old.Group && key.Kind == old.Kind && key.Name == old.Name &&
				(key.Namespace == old.Namespace || key.Namespace == "" || old.Namespace == "")
		}) {
			missing = append(missing, old)
		}
	}
	return missing
}
