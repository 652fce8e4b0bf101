// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"strings"
	"testing"
	"unsafe"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/compact"
)

func TestInventoriesAreHeldSlim(t *testing.T) {
	g := NewWithT(t)
	key := func(name string) corev1alpha1.ObjectKey {
		return corev1alpha1.ObjectKey{
			Group: strings.Clone("apps"), Version: strings.Clone("v1"), Kind: strings.Clone("Deployment"), Namespace: strings.Clone("ns"), Name: strings.Clone(name),
		}
	}
	inventory := &corev1alpha1.ReleaseInventory{
		ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec:       corev1alpha1.ReleaseInventorySpec{Entries: []corev1alpha1.InventoryEntry{{ObjectKey: key("a")}, {ObjectKey: key("b")}}},
		Status: corev1alpha1.ReleaseInventoryStatus{Health: []corev1alpha1.ObjectHealth{
			{ObjectKey: key("a"), Status: corev1alpha1.HealthHealthy}, {ObjectKey: key("gone"), Status: corev1alpha1.HealthMissing},
		}},
	}
	want := inventory.DeepCopy()
	want.ManagedFields = nil
	_, err := compact.Transform()(inventory)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(inventory).To(Equal(want), "nothing that is read is changed")
	same := func(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }
	a, b, of := inventory.Spec.Entries[0], inventory.Spec.Entries[1], inventory.Status.Health[0]
	g.Expect(same(a.Group, b.Group) && same(a.Version, b.Version) && same(a.Kind, b.Kind) && same(a.Namespace, b.Namespace)).To(BeTrue())
	g.Expect(same(a.Name, of.Name)).To(BeTrue())
}
