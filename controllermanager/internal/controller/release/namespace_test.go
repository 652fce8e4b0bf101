// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

func createNamespace(r *corev1alpha1.Release) { r.Spec.CreateNamespace = true }

func (w *world) namespaces() []string {
	list, err := w.target.dynamic.Resource(namespaceResource).Get(context.Background(), "ns", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	return []string{list.GetName()}
}

func TestCreateNamespace(t *testing.T) {
	w := newWorld(t, newRelease(createNamespace))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.onApply = func() { w.Expect(w.namespaces()).To(Equal([]string{"ns"})) }
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(1), "the namespace is not the Release's")

	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"), "that it exists is fine")
}

func TestCreateNamespaceWithoutTheRight(t *testing.T) {
	w := newWorld(t, newRelease(createNamespace))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.dynamic.PrependReactor("create", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(namespaceResource.GroupResource(), "ns", nil)
	})
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False Forbidden"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix("creating namespace ns on the target"))
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.inventory()).To(BeNil())

	w.target.dynamic.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "ns"}}}, nil
	})
	w.requestSync("2026-03-01T10:00:00Z")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"), "an existing one needs no right to create it")
}

// TestCreateNamespaceThatCannotBeRead: whether it exists is for the objects to tell.
func TestCreateNamespaceThatCannotBeRead(t *testing.T) {
	w := newWorld(t, newRelease(createNamespace))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.target.dynamic.PrependReactor("*", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(namespaceResource.GroupResource(), "ns", nil)
	})
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
}

// Whatever is about to be written may need it: a hook of a chart without objects, and what a
// request makes due that somebody deleted together with the namespace.
func TestCreateNamespaceForWhatIsDue(t *testing.T) {
	t.Run("a hook", func(t *testing.T) {
		w := newWorld(t, newRelease(createNamespace))
		w.source.offers("main@1").Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
		w.target.onApply = func() { w.Expect(w.namespaces()).To(Equal([]string{"ns"})) }
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate"}))
	})
	t.Run("a request", func(t *testing.T) {
		w := settledWorld(t, newRelease(createNamespace), objectOf("ConfigMap", "a", 0, "a1"))
		w.Expect(w.target.dynamic.Resource(namespaceResource).Delete(t.Context(), "ns", metav1.DeleteOptions{})).To(Succeed())
		w.target.onApply = func() { w.Expect(w.namespaces()).To(Equal([]string{"ns"})) }
		w.requestSync("2026-03-01T10:00:00Z")
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	})
	t.Run("nothing", func(t *testing.T) {
		w := settledWorld(t, newRelease(createNamespace), objectOf("ConfigMap", "a", 0, "a1"))
		w.target.dynamic.ClearActions()
		w.pass()
		w.Expect(w.target.dynamic.Actions()).To(BeEmpty())
	})
}
