// SPDX-License-Identifier: Apache-2.0

package releaseinventory

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
	"kumodo.io/convoy/internal/shard"
)

const shards = 64

// reader has a Release, in the watch cache or only in the storage behind it.
type reader struct {
	release *corev1alpha1.Release
	cached  bool
	err     error
}

func (r reader) Get(_ context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.release == nil || r.release.Name != name || !r.cached && options.ResourceVersion == "0" {
		return nil, apierrors.NewNotFound(corev1alpha1.Resource("releases"), name)
	}
	return r.release, nil
}

func TestShardIsThatOfTheRelease(t *testing.T) {
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	release.Spec.ClusterRef.Name = "local"
	ofCluster := shard.Label(shard.Of(shard.ClusterKey("team", "local"), shards))
	ofName := shard.Label(shard.Of(shard.ReleaseKey("team", "web"), shards))
	for _, test := range []struct {
		name    string
		reader  reader
		labeled string
		want    string
	}{
		{name: "from the cache, whatever the client sends", reader: reader{release: release, cached: true}, labeled: "5", want: ofCluster},
		{name: "from the storage when the cache lags", reader: reader{release: release}, want: ofCluster},
		{name: "gone: the label stays", labeled: "5", want: "5"},
		{name: "gone: a label that is no shard is replaced", labeled: "64", want: ofName},
		{name: "never there", want: ofName},
		{name: "the storage fails: the label stays", reader: reader{err: errors.New("no")}, labeled: "7", want: "7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			inventory := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
			inventory.Spec.ReleaseRef.Name = "web"
			if test.labeled != "" {
				inventory.Labels = map[string]string{corev1alpha1.LabelShard: test.labeled}
			}
			kind(shardlabel.New(shards), test.reader).Label(context.Background(), inventory)
			g.Expect(inventory.Labels).To(HaveKeyWithValue(corev1alpha1.LabelShard, test.want))
		})
	}
}

func TestTable(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	inventory := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Name: "web", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))}}
	inventory.Spec.ReleaseRef.Name = "web"
	inventory.Spec.Entries = make([]corev1alpha1.InventoryEntry, 3)
	table := resource.Table[*corev1alpha1.ReleaseInventory]{Columns: columns(), Clock: testingclock.NewFakePassiveClock(now)}
	cells := func() []any {
		printed, err := table.ConvertToTable(context.Background(), inventory, nil)
		g.Expect(err).NotTo(HaveOccurred())
		return printed.Rows[0].Cells
	}
	g.Expect(cells()).To(Equal([]any{"web", "web", int64(3), nil, nil, nil, nil, "60s", nil, nil}))
	inventory.Status.Summary = &corev1alpha1.HealthSummary{Healthy: 1, Progressing: 2, Degraded: 3, Missing: 4, Suspended: 5, Unknown: 6}
	g.Expect(cells()).To(Equal([]any{"web", "web", int64(3), int64(1), int64(2), int64(3), int64(4), "60s", int64(5), int64(6)}))
}
