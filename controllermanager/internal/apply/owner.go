// SPDX-License-Identifier: Apache-2.0

package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// ownerOf gives the mark of the Release that an object belongs to, "" for one that is nobody's. Its
// annotation alone says that. What has not the form of a mark is none, and neither is the label of an
// owner, by which objects are found: it is a hash, and names nobody.
func ownerOf(object metav1.Object) string {
	mark := object.GetAnnotations()[corev1alpha1.AnnotationRelease]
	if _, _, _, ok := corev1alpha1.ParseReleaseAnnotation(mark); !ok {
		return ""
	}
	return mark
}

// owns tells whether an object belongs to this Release.
func (a *Applier) owns(object metav1.Object) bool { return ownerOf(object) == a.owner }
