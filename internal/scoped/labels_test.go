// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metadatafake "k8s.io/client-go/metadata/fake"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	"kumodo.io/convoy/internal/shard"
)

func TestLabelsOfAnotherNumberOfShards(t *testing.T) {
	const shards = 4
	right := shard.Of(shard.ReleaseKey("team", "edge"), shards)
	wrong := (right + 1) % shards
	for _, test := range []struct {
		name                       string
		cluster, release           int
		inventory, page, forgotten int
		want                       stale
	}{
		{"none", right, right, right, right, wrong, stale{}},
		{"of a Release", right, wrong, right, right, wrong, stale{1, "Release team/app.1"}},
		{"of a Cluster", wrong, right, right, right, wrong, stale{1, "Cluster team/edge"}},
		{"of an inventory", right, right, wrong, right, wrong, stale{1, "ReleaseInventory team/app.1"}},
		{"of a further page", right, right, right, wrong, wrong, stale{1, "ReleaseInventory team/app.1.1"}},
		{"of all", wrong, wrong, wrong, wrong, wrong, stale{4, "Release team/app.1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			scheme := metadatafake.NewTestScheme()
			g.Expect(metav1.AddMetaToScheme(scheme)).To(Succeed())
			object := func(kind, name string, n int) runtime.Object {
				return &metav1.PartialObjectMetadata{
					TypeMeta:   metav1.TypeMeta{APIVersion: corev1alpha1.SchemeGroupVersion.String(), Kind: kind},
					ObjectMeta: release(name, n, 1).ObjectMeta,
				}
			}
			one := release("app.1", test.release, 1)
			one.Spec.ClusterRef.Name = "edge"
			l := Labels{Client: fake.NewSimpleClientset(one), Shards: shards, Metadata: metadatafake.NewSimpleMetadataClient(scheme,
				object("Cluster", "edge", test.cluster), object("ReleaseInventory", "app.1", test.inventory),
				object("ReleaseInventory", "app.1.1", test.page), object("ReleaseInventory", "gone", test.forgotten))}
			g.Expect(l.look(t.Context())).To(Equal(test.want))
			if test.want.count == 0 {
				g.Expect(l.Await(t.Context())).To(Succeed())
			}
		})
	}
}
