// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/compact"
)

var at = metav1.NewTime(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))

// digest is one of many of the same length.
func digest(of string) string { return fmt.Sprintf("sha256:%064s", of) }

// delivered is a Release with nothing to do.
func delivered(name string) *corev1alpha1.Release {
	const revision = "main@sha1:0123456789012345678901234567890123456789"
	release := &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID("uid of " + name), ResourceVersion: "123456", Generation: 1, CreationTimestamp: at,
			Finalizers: []string{corev1alpha1.FinalizerRelease}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}}},
		},
		Spec: corev1alpha1.ReleaseSpec{
			ClusterRef: corev1alpha1.LocalReference{Name: "target"},
			Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
				RepositoryRef: corev1alpha1.LocalReference{Name: "fleet"}, Ref: corev1alpha1.GitRef{Branch: "main"}, Path: name,
			}},
		},
		Status: corev1alpha1.ReleaseStatus{
			ObservedGeneration: 1,
			Source:             &corev1alpha1.SourceStatus{Revision: revision, Digest: digest("tree of " + name), CheckedAt: &at},
			Render:             &corev1alpha1.RenderStatus{Digest: digest(name), Inputs: digest("inputs of " + name), Objects: 5},
			Applied:            &corev1alpha1.AppliedStatus{Revision: revision, Render: digest(name), Generation: 1, At: at, Objects: 5},
			History:            []corev1alpha1.HistoryEntry{{ID: 1, Revision: revision, Render: digest(name), Outcome: corev1alpha1.OutcomeHealthy, At: at}},
		},
	}
	for _, one := range []string{
		corev1alpha1.ConditionSourceReady, corev1alpha1.ConditionRendered, corev1alpha1.ConditionApplied,
		corev1alpha1.ConditionHealthy, corev1alpha1.ConditionReady, corev1alpha1.ConditionInSync,
	} {
		release.Status.Conditions = append(release.Status.Conditions, metav1.Condition{
			Type: one, Status: metav1.ConditionTrue, Reason: one, Message: "5 objects are as they should be, from main@sha1:012345678901", ObservedGeneration: 1, LastTransitionTime: at,
		})
	}
	return release
}

// inventoryOf is what there is of it.
func inventoryOf(name string) *corev1alpha1.ReleaseInventory {
	inventory := &corev1alpha1.ReleaseInventory{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID("uid of the inventory of " + name), ResourceVersion: "123457", Generation: 2, CreationTimestamp: at,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "core.convoy.kumodo.io/v1alpha1", Kind: "Release", Name: name, UID: types.UID("uid of " + name)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{}}`)}}},
		},
		Spec:   corev1alpha1.ReleaseInventorySpec{ReleaseRef: corev1alpha1.ReleaseReference{Name: name, UID: types.UID("uid of " + name)}, ReleaseGeneration: 1},
		Status: corev1alpha1.ReleaseInventoryStatus{ObservedGeneration: 2},
	}
	for i := range 5 {
		key := corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "team", Name: fmt.Sprintf("%s-%d", name, i)}
		inventory.Spec.Entries = append(inventory.Spec.Entries, corev1alpha1.InventoryEntry{
			ObjectKey: key, UID: types.UID("uid of " + key.Name), Digest: digest(key.Name), ResourceVersion: fmt.Sprint(1000 + i),
		})
		inventory.Status.Health = append(inventory.Status.Health, corev1alpha1.ObjectHealth{ObjectKey: key, Status: corev1alpha1.HealthHealthy, Since: &at})
	}
	return inventory
}

// decoded is an object as an informer gets it.
func decoded[T any](g *WithT, object *T) *T {
	text, err := json.Marshal(object)
	g.Expect(err).NotTo(HaveOccurred())
	fresh := new(T)
	g.Expect(json.Unmarshal(text, fresh)).To(Succeed())
	return fresh
}

func TestSlimObjectsAreTheSame(t *testing.T) {
	g := NewWithT(t)
	transform := compact.Transform()
	for _, name := range []string{"a", "b"} {
		release, inventory := decoded(g, delivered(name)), decoded(g, inventoryOf(name))
		wantRelease, wantInventory := release.DeepCopy(), inventory.DeepCopy()
		wantRelease.ManagedFields, wantInventory.ManagedFields = nil, nil
		g.Expect(transform(release)).To(BeIdenticalTo(release))
		g.Expect(transform(inventory)).To(BeIdenticalTo(inventory))
		g.Expect(release).To(Equal(wantRelease))
		g.Expect(inventory).To(Equal(wantInventory))
	}
}

// TestWhatIsHeldOfTheHost measures what the caches hold of a Release with its inventory.
func TestWhatIsHeldOfTheHost(t *testing.T) {
	g := NewWithT(t)
	live := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	const many = 1000
	held := make([]any, 0, 2*many)
	transform := compact.Transform()
	before := live()
	for n := range many {
		name := fmt.Sprintf("%s-%04d", strings.Clone("release"), n)
		for _, object := range []any{decoded(g, delivered(name)), decoded(g, inventoryOf(name))} {
			slimmed, err := transform(object)
			g.Expect(err).NotTo(HaveOccurred())
			held = append(held, slimmed)
		}
	}
	each := float64(live()-before) / many
	t.Logf("%.0f bytes for each Release", each)
	g.Expect(each).To(BeNumerically("<", 6<<10))
	runtime.KeepAlive(held)
}
