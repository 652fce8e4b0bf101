// SPDX-License-Identifier: Apache-2.0

package relabel

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// kept holds Clusters; those whose label is not the wanted one are stale.
type kept struct {
	wanted  string
	objects map[string]string // labels by name
	listErr error
	refused string
	written []string
}

func (k *kept) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	list := &corev1alpha1.ClusterList{}
	for name, label := range k.objects {
		cluster := corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		cluster.Labels = map[string]string{corev1alpha1.LabelShard: label}
		list.Items = append(list.Items, cluster)
	}
	return list, k.listErr
}

func (k *kept) Stale(_ context.Context, obj runtime.Object) bool {
	return obj.(*corev1alpha1.Cluster).Labels[corev1alpha1.LabelShard] != k.wanted
}

func (k *kept) Relabel(_ context.Context, obj runtime.Object) error {
	name := obj.(*corev1alpha1.Cluster).Name
	if name == k.refused {
		return errors.New("refused")
	}
	k.objects[name] = k.wanted
	k.written = append(k.written, name)
	return nil
}

func TestPass(t *testing.T) {
	g := NewWithT(t)
	broken := &kept{listErr: errors.New("not ready")}
	storage := &kept{wanted: "1", refused: "bad", objects: map[string]string{"a": "0", "b": "1", "bad": "0", "none": ""}}
	changed, err := pass(t.Context(), []Storage{broken, storage})
	g.Expect(changed).To(Equal(2))
	g.Expect(err).To(MatchError(And(ContainSubstring("not ready"), ContainSubstring("refused"))))
	g.Expect(storage.written).To(ConsistOf("a", "none"), "only what is labelled otherwise is written")

	storage.refused = ""
	changed, err = pass(t.Context(), []Storage{storage})
	g.Expect(changed).To(Equal(1), "what could not be written is tried again")
	g.Expect(err).NotTo(HaveOccurred())
	changed, _ = pass(t.Context(), []Storage{storage})
	g.Expect(changed).To(BeZero())
}
