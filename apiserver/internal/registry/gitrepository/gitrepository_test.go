// SPDX-License-Identifier: Apache-2.0

package gitrepository

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
	source := &sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}
	kind(shardlabel.New(64)).Label(context.Background(), source)
	want := shard.Label(shard.Of(shard.SourceKey("GitRepository", "team", "a"), 64))
	g.Expect(source.Labels).To(HaveKeyWithValue(corev1alpha1.LabelShard, want))
}

func TestTable(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	checked := metav1.NewTime(now.Add(-30 * time.Second))
	source := &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec:       sourcev1alpha1.GitRepositorySpec{URL: "https://example.com/app.git"},
		Status: sourcev1alpha1.GitRepositoryStatus{
			LastCheckTime: &checked, Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Message: "answers"}}, DefaultBranch: "main", Refs: 4,
		},
	}
	table := resource.Table[*sourcev1alpha1.GitRepository]{Columns: columns(), Clock: testingclock.NewFakePassiveClock(now)}
	printed, err := table.ConvertToTable(context.Background(), source, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(printed.Rows[0].Cells).To(Equal([]any{"a", "https://example.com/app.git", "True", "60m", "main", int64(4), "30s", "answers"}))
}
