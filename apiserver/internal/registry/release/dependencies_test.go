// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// inWave is a Release of a wave on a cluster.
func inWave(name, cluster string, wave int32, dependsOn ...string) *corev1alpha1.Release {
	r := release(name, dependsOn...)
	r.Spec.ClusterRef.Name, r.Spec.Wave = cluster, wave
	return r
}

func holding(stored ...*corev1alpha1.Release) memory {
	releases := memory{}
	for _, r := range stored {
		releases[r.Name] = r
	}
	return releases
}

func TestDependencyCycles(t *testing.T) {
	gone := inWave("a", "here", 0, "b")
	gone.DeletionTimestamp = &metav1.Time{Time: now}
	for _, test := range []struct {
		name   string
		stored []*corev1alpha1.Release
		given  *corev1alpha1.Release
		want   string // none when empty
	}{
		{name: "none", given: release("a")},
		{name: "what does not exist", given: release("a", "b")},
		{name: "a chain", stored: []*corev1alpha1.Release{release("b", "c"), release("c")}, given: release("a", "b", "c")},
		{
			name: "two", stored: []*corev1alpha1.Release{release("b", "a")}, given: release("a", "b"),
			want: `spec.dependsOn[0].name: Invalid value: "b": makes a cycle: a -> b -> a`,
		},
		{
			name:   "behind a fork",
			stored: []*corev1alpha1.Release{release("b", "d"), release("c", "d", "e"), release("d"), release("e", "a")},
			given:  release("a", "b", "c"), want: `spec.dependsOn[1].name: Invalid value: "c": makes a cycle: a -> c -> e -> a`,
		},
		{name: "a cycle of others", stored: []*corev1alpha1.Release{release("b", "c"), release("c", "b")}, given: release("a", "b")},
		{name: "what is stored of the Release itself does not count", stored: []*corev1alpha1.Release{release("a", "b"), release("b")}, given: release("a")},
		{
			name: "a later wave", stored: []*corev1alpha1.Release{inWave("b", "here", 1)}, given: inWave("a", "here", 0, "b"),
			want: `spec.dependsOn[0].name: Invalid value: "b": makes a cycle: a -> b -> a; b waits for a on Cluster here, because the spec.wave of b is 1, and that of a is 0; the other steps are spec.dependsOn`,
		},
		{
			name: "a later wave, whose Release comes last", stored: []*corev1alpha1.Release{inWave("a", "here", -1, "b")}, given: inWave("b", "here", 0),
			want: `spec.wave: Invalid value: 0: makes a cycle: b -> a -> b; b waits for a on Cluster here, because the spec.wave of b is 0, and that of a is -1; the other steps are spec.dependsOn`,
		},
		{
			name:   "over another cluster",
			stored: []*corev1alpha1.Release{inWave("x", "there", 5), inWave("y", "there", 3, "b"), inWave("b", "here", 2), inWave("z", "there", 0)},
			given:  inWave("a", "here", 1, "x"),
			want: `spec.dependsOn[0].name: Invalid value: "x": makes a cycle: a -> x -> y -> b -> a; ` +
				`x waits for y on Cluster there, because the spec.wave of x is 5, and that of y is 3; b waits for a on Cluster here, because the spec.wave of b is 2, and that of a is 1; the other steps are spec.dependsOn`,
		},
		{
			name:   "by what comes between",
			stored: []*corev1alpha1.Release{inWave("a", "here", 0, "x"), inWave("x", "there", 1), inWave("b", "here", 1)},
			given:  inWave("y", "there", 0, "b"),
			want: `spec.dependsOn[0].name: Invalid value: "b": makes a cycle: y -> b -> a -> x -> y; ` +
				`b waits for a on Cluster here, because the spec.wave of b is 1, and that of a is 0; x waits for y on Cluster there, because the spec.wave of x is 1, and that of y is 0; the other steps are spec.dependsOn`,
		},
		{name: "an earlier wave", stored: []*corev1alpha1.Release{inWave("b", "here", 0)}, given: inWave("a", "here", 1, "b")},
		{name: "the same wave", stored: []*corev1alpha1.Release{inWave("b", "here", 0)}, given: inWave("a", "here", 0, "b")},
		{name: "a later wave of another cluster", stored: []*corev1alpha1.Release{inWave("b", "there", 1)}, given: inWave("a", "here", 0, "b")},
		{name: "the wave that is given counts", stored: []*corev1alpha1.Release{inWave("a", "here", 0, "b"), inWave("b", "here", 1)}, given: inWave("b", "here", 0)},
		{name: "the dependency that is given counts", stored: []*corev1alpha1.Release{inWave("a", "here", 0, "b"), inWave("b", "here", 1)}, given: inWave("a", "here", 0)},
		{name: "one that is being deleted is not waited for", stored: []*corev1alpha1.Release{gone}, given: inWave("b", "here", 1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			errs := dependencyCycles(inNamespace(), holding(test.stored...), test.given)
			if test.want == "" {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs).To(HaveLen(1))
			g.Expect(errs[0].Type).To(Equal(field.ErrorTypeInvalid))
			g.Expect(errs[0].Error()).To(Equal(test.want))
		})
	}
}

// TestUpdatesThatMakeACycle: of the wave, and of the dependency, of either Release.
func TestUpdatesThatMakeACycle(t *testing.T) {
	for _, test := range []struct {
		name           string
		other, old, to *corev1alpha1.Release
		want           string
	}{
		{"a later wave", inWave("a", "here", 0, "b"), inWave("b", "here", 0), inWave("b", "here", 1), "spec.wave"},
		{"an earlier wave", inWave("b", "here", 1), inWave("a", "here", 1, "b"), inWave("a", "here", 0, "b"), "spec.dependsOn[0].name"},
		{"a dependency on a later one", inWave("b", "here", 1), inWave("a", "here", 0), inWave("a", "here", 0, "b"), "spec.dependsOn[0].name"},
		{"what was there before can lose its finalizer", inWave("b", "here", 1), inWave("a", "here", 0, "b"), inWave("a", "here", 0, "b"), ""},
		{"and is mended by the wave", inWave("a", "here", 0, "b"), inWave("b", "here", 1), inWave("b", "here", 0), ""},
		{"and by the dependency", inWave("b", "here", 1), inWave("a", "here", 0, "b"), inWave("a", "here", 0), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			s := strategy(t, holding(test.other, test.old))
			s.PrepareForCreate(inNamespace(), test.old)
			test.old.ResourceVersion, test.to.ResourceVersion = "1", "1"
			err := rest.BeforeUpdate(s, inNamespace(), test.to, test.old)
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(ContainSubstring(test.want), ContainSubstring("makes a cycle"))))
		})
	}
}
