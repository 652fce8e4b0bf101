// SPDX-License-Identifier: Apache-2.0

package ociregistry

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
	"kumodo.io/convoy/internal/shard"
)

func TestShard(t *testing.T) {
	g := NewWithT(t)
	source := &sourcev1alpha1.OCIRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}
	kind(shardlabel.New(64)).Label(context.Background(), source)
	want := shard.Label(shard.Of(shard.SourceKey("OCIRegistry", "team", "a"), 64))
	g.Expect(source.Labels).To(HaveKeyWithValue(corev1alpha1.LabelShard, want))
}

func TestTable(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	checked := metav1.NewTime(now.Add(-30 * time.Second))
	source := &sourcev1alpha1.OCIRegistry{
		ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec:       sourcev1alpha1.OCIRegistrySpec{URL: "oci://example.com", Provider: "aws"},
		Status: sourcev1alpha1.OCIRegistryStatus{
			LastCheckTime: &checked, Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Message: "answers"}},
		},
	}
	table := resource.Table[*sourcev1alpha1.OCIRegistry]{Columns: columns(), Clock: testingclock.NewFakePassiveClock(now)}
	printed, err := table.ConvertToTable(context.Background(), source, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(printed.Rows[0].Cells).To(Equal([]any{"a", "oci://example.com", "True", "60m", "aws", "30s", "answers"}))
}
