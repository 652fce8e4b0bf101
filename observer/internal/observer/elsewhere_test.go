// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
)

// TestWhatIsNotCachedIsRead is about objects of shards that another process works on.
func TestWhatIsNotCachedIsRead(t *testing.T) {
	w := newWorld(t)
	object := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }
	on := func(name, cluster string) *corev1alpha1.Release {
		return &corev1alpha1.Release{ObjectMeta: object(name), Spec: corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: cluster}}}
	}
	client := fake.NewSimpleClientset(on("far", "far"), on("near-far", "far"),
		&corev1alpha1.Cluster{ObjectMeta: object("far"), Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster}},
		&corev1alpha1.ReleaseInventory{ObjectMeta: object("far")}, &corev1alpha1.ReleaseInventory{ObjectMeta: object("far.1")})
	var selector string
	client.PrependReactor("list", "releases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		selector = action.(clienttesting.ListAction).GetListRestrictions().Fields.String()
		return true, &corev1alpha1.ReleaseList{Items: []corev1alpha1.Release{*on("far", "far"), *on("near-far", "far")}}, nil
	})
	w.host.Client = client
	name := types.NamespacedName{Namespace: "ns", Name: "far"}
	missing := apierrors.IsNotFound

	_, err := w.host.Release(t.Context(), name)
	w.Expect(missing(err)).To(BeTrue(), "where everything is cached, nothing is read")
	_, err = w.host.Inventory(t.Context(), name)
	w.Expect(missing(err)).To(BeTrue())
	_, err = w.host.Connect(t.Context(), on("far", "far"))
	w.Expect(err).To(MatchError(ErrNoCluster))
	w.Expect(w.host.Neighbours(t.Context(), on("far", "far"))).To(BeEmpty())
	w.Expect(client.Actions()).To(BeEmpty())

	var visited []types.NamespacedName
	w.host.Visited = func(cluster types.NamespacedName) { visited = append(visited, cluster) }
	w.Expect(w.host.Release(t.Context(), name)).To(HaveField("Name", "far"))
	w.Expect(w.host.Inventory(t.Context(), name)).To(HaveLen(2))
	w.Expect(w.host.Connect(t.Context(), on("far", "far"))).NotTo(BeNil())
	w.Expect(visited).To(ConsistOf(name))
	w.Expect(w.host.Neighbours(t.Context(), on("far", "far"))).To(HaveLen(2))
	w.Expect(selector).To(Equal("spec.clusterRef.name=far"))
	name.Name = "gone"
	_, err = w.host.Release(t.Context(), name)
	w.Expect(missing(err)).To(BeTrue())
	_, err = w.host.Connect(t.Context(), on("gone", "gone"))
	w.Expect(err).To(MatchError(ErrNoCluster))

	client.ClearActions()
	w.setRelease(nothing)
	w.Expect(w.releases.Add(on("beside", "elsewhere"))).To(Succeed())
	w.Expect(w.inventories.Add(&corev1alpha1.ReleaseInventory{ObjectMeta: object("app")})).To(Succeed())
	w.Expect(w.host.Neighbours(t.Context(), w.release())).To(ConsistOf(HaveField("Name", "app")))
	w.Expect(w.host.Inventory(t.Context(), key)).To(HaveLen(1))
	w.Expect(client.Actions()).To(BeEmpty(), "what is cached is not read")
}
