// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// release has each of its texts for itself.
func release(name string) *corev1alpha1.Release {
	own := strings.Clone
	at := metav1.NewTime(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	return &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Namespace: own("team"), Name: own(name), UID: types.UID(own("uid of " + name)), Labels: map[string]string{own("a"): own("b")}},
		Spec: corev1alpha1.ReleaseSpec{
			Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{RepositoryRef: corev1alpha1.LocalReference{Name: own("apps")}}},
			Render: &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{Values: &runtime.RawExtension{Raw: []byte("{}")}}},
		},
		Status: corev1alpha1.ReleaseStatus{
			Conditions: append(make([]metav1.Condition, 0, 8), metav1.Condition{Type: own("Ready"), Message: own("5 objects are healthy"), LastTransitionTime: at}),
			Source:     &corev1alpha1.SourceStatus{Revision: own("main@sha1:1"), CheckedAt: &at},
		},
	}
}

func same(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

func TestEqualTextsAreShared(t *testing.T) {
	g := NewWithT(t)
	table, a, b := NewTable(), release("a"), release("b")
	g.Expect(same(a.Namespace, b.Namespace)).To(BeFalse())
	table.Compact(a)
	table.Compact(b)
	g.Expect(a).To(Equal(release("a")), "its value stays the same")
	g.Expect(b).To(Equal(release("b")))
	g.Expect(same(a.Namespace, b.Namespace)).To(BeTrue())
	g.Expect(same(a.Spec.Source.Git.RepositoryRef.Name, b.Spec.Source.Git.RepositoryRef.Name)).To(BeTrue(), "behind pointers")
	g.Expect(same(a.Status.Conditions[0].Message, b.Status.Conditions[0].Message)).To(BeTrue(), "in lists")
	g.Expect(cap(a.Status.Conditions)).To(Equal(1), "without room for more")
	g.Expect(same(string(a.UID), string(b.UID))).To(BeFalse())
}

func TestLongTextsAreNotKept(t *testing.T) {
	g := NewWithT(t)
	table, long := NewTable(), strings.Repeat("x", longest+1)
	table.Compact(&metav1.Condition{Message: long})
	g.Expect(table.known[:]).NotTo(ContainElement(long))
}

// TestOfMany has texts that are seldom among those that are often in objects.
func TestOfMany(t *testing.T) {
	g := NewWithT(t)
	table, shared := NewTable(), 0
	var last string
	for i := range 1000 {
		r := release(fmt.Sprint("release-", i))
		table.Compact(r)
		if i > 0 && same(last, r.Status.Conditions[0].Message) {
			shared++
		}
		last = r.Status.Conditions[0].Message
	}
	g.Expect(shared).To(BeNumerically(">", 950))
}

func BenchmarkCompact(b *testing.B) {
	table, r := NewTable(), release("a")
	for b.Loop() {
		table.Compact(r)
	}
}
