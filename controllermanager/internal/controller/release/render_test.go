// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"net/url"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
)

// TestLookupsThatTheTargetDoesNotAnswer says what templates meet that may not read what they
// ask for.
func TestLookupsThatTheTargetDoesNotAnswer(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for _, tt := range []struct {
		name  string
		given error
		want  string
	}{
		{"no right to read", apierrors.NewForbidden(secrets, "db", errors.New("no")), corev1alpha1.ReasonForbidden},
		{"credentials that are refused", apierrors.NewUnauthorized("no"), corev1alpha1.ReasonAuthenticationFailed},
		{"no answer", &url.Error{Op: "Get", URL: "https://target.test", Err: errors.New("connection refused")}, corev1alpha1.ReasonTargetUnreachable},
		{"a server that cannot serve", apierrors.NewServiceUnavailable("no"), corev1alpha1.ReasonTargetUnreachable},
		{"anything else", apierrors.NewInternalError(errors.New("no")), corev1alpha1.ReasonRenderFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, newRelease())
			w.target.dynamic.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tt.given })
			s := &scope{release: w.release(), before: &corev1alpha1.ReleaseStatus{}, target: w.target, artifact: &fetch.Artifact{}}
			_, err := w.renderInput(s).Lookup.Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "ns", "db")
			w.Expect(renderReason(err)).To(Equal(tt.want))
		})
	}
}

func TestAPinOfARevisionWithoutALockFile(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@sha1:1", objectOf("ConfigMap", "a", 0, "a1")).Ranges = []string{"db ^1", "cache 2.x"}
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(Equal("1 object"), "a reference that moves fixes nothing anyway")
	w.change(func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@sha1:1"} })
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal(string(metav1.ConditionTrue) + " " + corev1alpha1.ReasonRendered))
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(Equal(
		"1 object; the pinned revision has no Chart.lock, so that it does not fix the versions of charts that it depends on: db ^1, cache 2.x"))
}
