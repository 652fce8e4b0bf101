// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
)

// cached reads as the watch cache does: what the objects point to is shared, not copied. It counts
// what is read.
type cached struct {
	memory
	lists, gets int
}

func (c *cached) Get(_ context.Context, name string, _ *metav1.GetOptions) (apiruntime.Object, error) {
	c.gets++
	if _, ok := c.memory[name]; !ok {
		return c.memory.Get(context.Background(), name, nil)
	}
	r := *c.memory[name]
	return &r, nil
}

func (c *cached) List(_ context.Context, options *metainternalversion.ListOptions) (apiruntime.Object, error) {
	c.lists++
	var selected []*corev1alpha1.Release
	for _, r := range c.memory {
		if options.FieldSelector.Empty() || options.FieldSelector.Matches(fields.Set{"spec.clusterRef.name": r.Spec.ClusterRef.Name}) {
			selected = append(selected, r)
		}
	}
	list := &corev1alpha1.ReleaseList{Items: make([]corev1alpha1.Release, len(selected))}
	for i, r := range selected {
		list.Items[i] = *r
	}
	return list, nil
}

// TestManyReleases: what a check reads and allocates grows with the Releases, and no faster.
func TestManyReleases(t *testing.T) {
	const count = 2000
	name := func(i int) string { return fmt.Sprintf("r%05d", i) }
	stored := func(build func(i int) *corev1alpha1.Release) []*corev1alpha1.Release {
		releases := []*corev1alpha1.Release{inWave("base", "here", -1)}
		for i := range count {
			releases = append(releases, build(i))
		}
		return releases
	}
	for _, test := range []struct {
		name   string
		stored []*corev1alpha1.Release
		given  *corev1alpha1.Release
		lists  int
		want   string // no cycle when empty
	}{
		{
			name:   "that depend on one",
			stored: stored(func(i int) *corev1alpha1.Release { return inWave(name(i), "here", 0, "base") }),
			given:  inWave("new", "here", 1), lists: 1,
		},
		{
			name:   "that each have a wave",
			stored: stored(func(i int) *corev1alpha1.Release { return inWave(name(i), "here", int32(i), "base") }),
			given:  inWave("new", "here", count, "base"), lists: 1,
		},
		{
			name:   "that each have a cluster",
			stored: stored(func(i int) *corev1alpha1.Release { return inWave(name(i), name(i), 1, "base", name(i+1)) }),
			given:  inWave("new", "here", 1, name(0)), lists: 2,
		},
		{
			name:   "that lead back",
			stored: stored(func(i int) *corev1alpha1.Release { return inWave(name(i), "there", 0, name(i+1)) }),
			given:  inWave(name(count), "here", 0, name(0)), lists: 2,
			want: `spec.dependsOn[0].name: Invalid value: "r00000": makes a cycle: r02000 -> r00000 -> r00001 -> r00002 -> r00003 -> r00004 -> r00005 -> r00006 -> r00007 -> r00008 -> (1982 more) -> r01991 -> `,
		},
		{
			name: "that lead back by waves",
			stored: stored(func(i int) *corev1alpha1.Release {
				if i%2 == 1 {
					return inWave(name(i), fmt.Sprint("cluster-", i), 1)
				}
				return inWave(name(i), fmt.Sprint("cluster-", i-1), 0, name(i+1))
			}),
			given: inWave(name(count), fmt.Sprint("cluster-", count-1), 0, name(0)), lists: 2,
			want: `-> r01999 -> r02000; r00001 waits for r00002 on Cluster cluster-1, because`,
		},
		{
			name:   "of which none is waited for",
			stored: stored(func(i int) *corev1alpha1.Release { return inWave(name(i), "there", 0, name(i+1)) }),
			given:  inWave("new", "here", 0), lists: 1,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			reader := &cached{memory: holding(test.stored...)}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			errs := dependencyCycles(inNamespace(), reader, test.given)
			runtime.ReadMemStats(&after)
			g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 10<<20), "bytes")
			g.Expect(reader.lists).To(Equal(test.lists), "lists")
			g.Expect(reader.gets).To(BeZero(), "gets")
			if test.want == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Error()).To(ContainSubstring(test.want))
			g.Expect(len(errs[0].Error())).To(BeNumerically("<", 4096), "a person reads it")
		})
	}
}

// TestUpdatesInACycle: only what may make a cycle is refused for one. Everything else of a Release that
// is in one already can change, by whichever way it is written.
func TestUpdatesInACycle(t *testing.T) {
	deleted := func(r *corev1alpha1.Release) {
		r.DeletionTimestamp, r.Finalizers = &metav1.Time{Time: now}, []string{"convoy.kumodo.io/release"}
	}
	for _, test := range []struct {
		name   string
		stored func(*corev1alpha1.Release) // nil for the Release as it is
		change func(*corev1alpha1.Release)
		part   bool // whether the change comes by releases/pin
		want   string
	}{
		{name: "suspend", change: func(r *corev1alpha1.Release) { r.Spec.Suspend = true }},
		{name: "pin", change: func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "v1"} }},
		{name: "pin by the subresource", part: true, change: func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "v1"} }},
		{name: "readiness of a dependency", change: func(r *corev1alpha1.Release) { r.Spec.DependsOn[0].ReadyExpr = "release.status.applied.objects > 0" }},
		{
			name: "deletion policy of one that is being deleted", stored: deleted,
			change: func(r *corev1alpha1.Release) { r.Spec.DeletionPolicy = corev1alpha1.DeletionPolicyOrphan },
		},
		{
			name: "dependencies of one that is being deleted", stored: deleted,
			change: func(r *corev1alpha1.Release) {
				r.Spec.DependsOn = append(r.Spec.DependsOn, corev1alpha1.Dependency{Name: "other"})
			},
		},
		{
			name: "a further dependency", want: "spec.dependsOn[0].name",
			change: func(r *corev1alpha1.Release) {
				r.Spec.DependsOn = append(r.Spec.DependsOn, corev1alpha1.Dependency{Name: "other"})
			},
		},
		{name: "another wave", want: "spec.dependsOn[0].name", change: func(r *corev1alpha1.Release) { r.Spec.Wave = 7 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			old := release("a", "b")
			stored := holding(old, release("b", "a"))
			s := strategy(t, stored)
			s.PrepareForCreate(inNamespace(), old)
			old.ResourceVersion = "1"
			if test.stored != nil {
				test.stored(old)
			}
			given := old.DeepCopy()
			test.change(given)
			var by rest.RESTUpdateStrategy = s
			if test.part {
				by = resource.NewPartStrategy(kind(shardlabel.New(64), stored), s, pinPart())
			}
			err := rest.BeforeUpdate(by, inNamespace(), given, old)
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(ContainSubstring(test.want), ContainSubstring("makes a cycle"))))
		})
	}
}
