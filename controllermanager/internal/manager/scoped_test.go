// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	"kumodo.io/convoy/controllermanager/internal/options"
	"kumodo.io/convoy/internal/shard"
)

// inShard is the metadata of an object in the only shard.
func inShard(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team", Name: name, Generation: 1, Labels: map[string]string{corev1alpha1.LabelShard: "0"}}
}

// scopedManager makes a manager that caches held shards only.
func scopedManager(t *testing.T, convoy *fake.Clientset) *Manager {
	g := NewWithT(t)
	o := options.New()
	o.Process.MetricsAddr, o.Process.ShardScopedCache = "127.0.0.1:0", true
	config := &Config{
		options: o, rest: &rest.Config{}, convoy: convoy, fence: &shard.Fence{},
		kube: kubefake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "the-host"}}),
	}
	completed, err := config.Complete(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	m, err := completed.New()
	g.Expect(err).NotTo(HaveOccurred())
	return m
}

// run runs a manager until the test is over.
func run(t *testing.T, m *Manager) {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		NewWithT(t).Eventually(done).WithTimeout(30 * time.Second).Should(Receive(BeNil()))
	})
}

func TestAShardIsCachedWhileItIsHeld(t *testing.T) {
	g := NewWithT(t)
	convoy := fake.NewSimpleClientset(
		&corev1alpha1.Cluster{ObjectMeta: inShard("a"), Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgent}},
		&corev1alpha1.Release{ObjectMeta: inShard("a"), Spec: corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.LocalReference{Name: "none"}}},
		&corev1alpha1.ReleaseInventory{ObjectMeta: inShard("a")},
		&corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "unlabelled"}},
	)
	m := scopedManager(t, convoy)
	labelled := make(chan struct{})
	m.labels = func(ctx context.Context) error {
		select {
		case <-labelled:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	name := types.NamespacedName{Namespace: "team", Name: "a"}
	run(t, m)
	g.Consistently(m.shards.Owned).WithTimeout(100*time.Millisecond).Should(BeEmpty(), "the labels are waited for")
	g.Expect(m.synced.Load()).To(BeFalse())
	close(labelled)

	g.Eventually(func() bool { return m.ownsRelease(name) && m.ownsCluster(name) }).WithTimeout(30 * time.Second).Should(BeTrue())
	caches := []informer{m.informers.releases, m.informers.inventories, m.informers.clusters}
	for _, one := range caches {
		g.Expect(one.GetIndexer().ListKeys()).To(ConsistOf("team/a"))
	}
	g.Eventually(func() string {
		release, err := convoy.CoreV1alpha1().Releases("team").Get(t.Context(), "a", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		if ready := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionReady); ready != nil {
			return ready.Reason
		}
		return ""
	}).WithTimeout(30*time.Second).Should(Equal(corev1alpha1.ReasonClusterNotFound), "what is there when a shard is gained is taken up")

	changed := m.ownershipChanged(t.Context())
	changed(nil, []int{0})
	for _, one := range caches {
		g.Expect(one.GetIndexer().ListKeys()).To(BeEmpty())
	}
	g.Expect(m.ownsCluster(name)).To(BeFalse())
	changed([]int{0}, nil)
	g.Eventually(func() bool { return m.ownsCluster(name) }).WithTimeout(30 * time.Second).Should(BeTrue())
	g.Expect(m.informers.clusters.GetIndexer().ListKeys()).To(ConsistOf("team/a"))
}

// A Release of a shard that is held, and not yet cached, is not worked on.
func TestAShardThatIsNotCachedYet(t *testing.T) {
	g := NewWithT(t)
	m := scopedManager(t, fake.NewSimpleClientset())
	release := &corev1alpha1.Release{ObjectMeta: inShard("a")}
	g.Expect(m.informers.releases.GetIndexer().Add(release)).To(Succeed())
	g.Expect(m.informers.hold(0)).To(BeFalse())
	g.Expect(m.ownsCachedRelease(release)).To(BeFalse())
	g.Expect(m.ownsRelease(types.NamespacedName{Namespace: "team", Name: "gone"})).To(BeTrue(), "what is remembered of it goes")
}
