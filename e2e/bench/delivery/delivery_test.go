// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestManifests(t *testing.T) {
	g := NewWithT(t)
	list := manifests(releaseName(3), "0")
	g.Expect(list).To(HaveLen(objectsOfOne))
	objects, err := decoded("ns", list)
	g.Expect(err).NotTo(HaveOccurred())
	seen := map[string]bool{}
	for _, object := range objects {
		g.Expect(object.GetNamespace()).To(Equal("ns"))
		seen[object.GetKind()+"/"+object.GetName()] = true
	}
	g.Expect(seen).To(HaveLen(objectsOfOne), "each is another object")
	g.Expect(manifests(releaseName(3), "1")[5]).NotTo(Equal(list[5]), "the value is in the object that a change changes")
}

func TestLargeFiles(t *testing.T) {
	g := NewWithT(t)
	files := largeFiles(250)
	g.Expect(files).To(HaveLen(3))
	g.Expect(files[2]).To(HaveLen(50))
}

func TestIsApplied(t *testing.T) {
	g := NewWithT(t)
	r := release("a")
	r.Generation = 2
	g.Expect(isApplied(r)).To(BeFalse())
	r.Status = corev1alpha1.ReleaseStatus{
		ObservedGeneration: 2, Applied: &corev1alpha1.AppliedStatus{Revision: "main@sha1:abc"},
		Conditions: []metav1.Condition{{Type: corev1alpha1.ConditionApplied, Status: metav1.ConditionTrue}},
	}
	g.Expect(isApplied(r)).To(BeTrue())
	g.Expect(has("abc")(r)).To(BeTrue())
	g.Expect(has("abd")(r)).To(BeFalse())
	r.Annotations = map[string]string{corev1alpha1.AnnotationSyncRequestedAt: "later"}
	g.Expect(isApplied(r)).To(BeFalse(), "a request is not handled yet")
	r.Status.Sync = &corev1alpha1.SyncStatus{LastHandledAt: "later"}
	g.Expect(isApplied(r)).To(BeTrue())
	r.Generation = 3
	g.Expect(isApplied(r)).To(BeFalse(), "the status is of an older spec")
}
