// SPDX-License-Identifier: Apache-2.0

package wayout

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestCommands(t *testing.T) {
	g := NewWithT(t)
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	g.Expect(Resume(release, "Release")).To(Equal("kubectl convoy -n shop resume web"))
	g.Expect(Resume(release, "GitRepository")).To(Equal("kubectl convoy -n shop resume gitrepository/web"))
	g.Expect(Sync(release, false)).To(Equal("kubectl convoy -n shop sync web"))
	g.Expect(Sync(release, true)).To(Equal("kubectl convoy -n shop sync web --force"))
	g.Expect(RetryHooks(release)).To(Equal("kubectl convoy -n shop retry web"))
	g.Expect(SkipHook(release, "migrate")).To(Equal("kubectl convoy -n shop skip web migrate"))
	g.Expect(Approve(release)).To(BeEmpty())
}

func TestApproveNamesWhatWaits(t *testing.T) {
	release := func(gates ...corev1alpha1.GateStatus) *corev1alpha1.Release {
		r := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "qa"}, {Name: "ops"}}}
		r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Gates: gates}
		return r
	}
	const render = "sha256:0123456789abcdef"
	for _, test := range []struct {
		name    string
		release *corev1alpha1.Release
		missing int
		want    string
	}{
		{"nothing said yet", release(), 2, "kubectl convoy -n shop approve web"},
		{"both wait", release(corev1alpha1.GateStatus{Name: "qa", Render: render}, corev1alpha1.GateStatus{Name: "ops", Render: render}), 2,
			"kubectl convoy -n shop approve web --render sha256:0123456789ab"},
		{"one is approved", release(corev1alpha1.GateStatus{Name: "qa", Render: render, Approved: true}, corev1alpha1.GateStatus{Name: "ops", Render: render}), 1,
			"kubectl convoy -n shop approve web --render sha256:0123456789ab"},
		{"all are", release(corev1alpha1.GateStatus{Name: "qa", Approved: true}, corev1alpha1.GateStatus{Name: "ops", Approved: true}), 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(MissingApprovals(test.release)).To(HaveLen(test.missing))
			g.Expect(Approve(test.release)).To(Equal(test.want))
		})
	}
}

func TestFailedHooks(t *testing.T) {
	g := NewWithT(t)
	release := &corev1alpha1.Release{}
	g.Expect(FailedHooks(release)).To(BeEmpty())
	release.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Hooks: []corev1alpha1.HookStatus{
		{Name: "a", Phase: corev1alpha1.HookRunning}, {Name: "b", Phase: corev1alpha1.HookFailed}, {Name: "c", Phase: corev1alpha1.HookSucceeded},
	}}
	g.Expect(FailedHooks(release)).To(HaveExactElements(HaveField("Name", "b")))
	g.Expect(OfDeletion(corev1alpha1.HookPostDelete)).To(BeTrue())
	g.Expect(OfDeletion(corev1alpha1.HookPostSync)).To(BeFalse())
}
