// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	"kumodo.io/convoy/internal/shard"
	"kumodo.io/convoy/observer/internal/options"
)

func TestAShardIsCachedWhileItIsHeld(t *testing.T) {
	g := NewWithT(t)
	in := func(shard string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: "in-" + shard, Labels: map[string]string{corev1alpha1.LabelShard: shard}}
	}
	here, elsewhere := types.NamespacedName{Namespace: "ns", Name: "in-0"}, types.NamespacedName{Namespace: "ns", Name: "in-1"}
	o := options.New()
	o.Serving.Addr, o.Process.MetricsAddr, o.Process.ShardScopedCache = "127.0.0.1:0", "127.0.0.1:0", true
	config := &CompletedConfig{
		Config: &Config{
			options: o, rest: &rest.Config{Host: "http://127.0.0.1:1"}, kube: kubefake.NewClientset(), fence: &shard.Fence{},
			convoy: fake.NewSimpleClientset(
				&corev1alpha1.Release{ObjectMeta: in("0")}, &corev1alpha1.Release{ObjectMeta: in("1")}, &corev1alpha1.Cluster{ObjectMeta: in("0")}),
		},
		installation: "inst", registry: prometheus.NewRegistry(),
	}
	m, err := config.New(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	m.labels = func(context.Context) error { return nil }
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()

	g.Eventually(func() bool { return m.core.hold(0) }).WithTimeout(30 * time.Second).Should(BeTrue())
	g.Expect(m.core.releases.GetIndexer().ListKeys()).To(ConsistOf("ns/in-0"))
	g.Expect(m.owned(here)).To(BeTrue())
	g.Expect(m.host.Release(t.Context(), here)).NotTo(BeNil())
	g.Expect(m.host.Release(t.Context(), elsewhere)).NotTo(BeNil(), "any replica answers for it")

	changed := m.shardsChanged(t.Context())
	changed(nil, []int{0})
	g.Expect(m.core.releases.GetIndexer().ListKeys()).To(BeEmpty())
	g.Expect(m.core.clusters.GetIndexer().ListKeys()).To(BeEmpty())
	changed([]int{0}, nil)
	g.Eventually(func() bool { return m.core.hold(0) }).WithTimeout(30 * time.Second).Should(BeTrue())
	stop()
	g.Eventually(done).WithTimeout(30 * time.Second).Should(Receive(BeNil()))
}

// Nobody tells when a Cluster of another shard is gone.
func TestConnectionsToClustersOfOtherShardsGo(t *testing.T) {
	g := NewWithT(t)
	var v visits
	one, other := types.NamespacedName{Namespace: "ns", Name: "one"}, types.NamespacedName{Namespace: "ns", Name: "other"}
	v.note(one)
	v.note(other)
	began := v.last[one]
	v.last[other] = began.Add(time.Minute)
	g.Expect(v.over(began)).To(BeEmpty())
	g.Expect(v.over(began.Add(time.Second))).To(ConsistOf(one))
	g.Expect(v.over(began.Add(time.Second))).To(BeEmpty())
	g.Expect(v.last).To(HaveLen(1))
}
