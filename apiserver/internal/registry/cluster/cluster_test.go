// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	testingclock "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/scheme"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
	"kumodo.io/convoy/internal/shard"
)

func TestCreate(t *testing.T) {
	g := NewWithT(t)
	s, err := scheme.New()
	g.Expect(err).NotTo(HaveOccurred())
	cluster := &corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "local"}}
	rest.FillObjectMetaSystemFields(cluster)
	ctx := genericapirequest.WithNamespace(context.Background(), "team")
	g.Expect(rest.BeforeCreate(resource.NewStrategy(kind(shardlabel.New(64)), s), ctx, cluster)).To(Succeed())
	want := shard.Label(shard.Of(shard.ClusterKey("team", "local"), 64))
	g.Expect(cluster.Labels).To(HaveKeyWithValue(corev1alpha1.LabelShard, want))
	g.Expect(cluster.Spec.Mode).To(Equal(corev1alpha1.ClusterModeInCluster))
}

func TestTable(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	cluster := &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "far", CreationTimestamp: metav1.NewTime(now.Add(-48 * time.Hour))},
		Spec:       corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless},
	}
	table := resource.Table[*corev1alpha1.Cluster]{Columns: columns(), Clock: testingclock.NewFakePassiveClock(now)}
	cells := func() []any {
		printed, err := table.ConvertToTable(context.Background(), cluster, nil)
		g.Expect(err).NotTo(HaveOccurred())
		return printed.Rows[0].Cells
	}
	g.Expect(cells()).To(Equal([]any{"far", "agentless", "Unknown", "", "", "2d", "", ""}))
	cluster.Status = corev1alpha1.ClusterStatus{
		Version: "v1.37.2", Server: "https://far", Releases: &corev1alpha1.ClusterReleases{Total: 3, Ready: 2},
		Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Message: "reachable"}},
	}
	g.Expect(cells()).To(Equal([]any{"far", "agentless", "True", "v1.37.2", "2/3", "2d", "https://far", "reachable"}))
}
