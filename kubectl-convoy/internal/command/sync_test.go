// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const requestedAt = "2026-01-02T03:04:05.1Z"

// newRelease is a Release whose sync was requested.
func newRelease(changes ...func(*corev1alpha1.Release)) *corev1alpha1.Release {
	release := &corev1alpha1.Release{TypeMeta: typeMeta("Release"), ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "shop", Generation: 2, ResourceVersion: "1",
		Annotations: map[string]string{corev1alpha1.AnnotationSyncRequestedAt: requestedAt},
	}}
	for _, change := range changes {
		change(release)
	}
	return release
}

// says sets a condition that speaks of the present spec.
func says(condition string, status metav1.ConditionStatus, reason, message string) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) {
		r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{
			Type: condition, Status: status, Reason: reason, Message: message, ObservedGeneration: r.Generation,
		})
	}
}

func ready(status metav1.ConditionStatus, reason, message string) func(*corev1alpha1.Release) {
	return says(corev1alpha1.ConditionReady, status, reason, message)
}

func handledAt(at string) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) { r.Status.Sync = &corev1alpha1.SyncStatus{LastHandledAt: at} }
}

func suspended(r *corev1alpha1.Release) { r.Spec.Suspend = true }

func TestSyncRequests(t *testing.T) {
	g := NewWithT(t)
	answers := map[string]runtime.Object{"POST " + releasesPath + "/web/sync": newRelease()}
	code, out, errOut := run(t, answers, "sync", "web")
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web sync requested\n"))
	g.Expect(errOut).To(BeEmpty())

	code, _, errOut = run(t, answers, "sync", "web", "--force")
	g.Expect(code).To(Equal(1), "the forced request has a query of its own")
	g.Expect(errOut).To(ContainSubstring(`"web" not found`))
}

const suspendedWarning = "the Release is suspended: nothing is synced before spec.suspend is false"

// suspendedServer answers a request for a sync as convoy-apiserver does for a Release that
// is suspended, with its warning twice, as two servers in a row would; and nothing else.
func suspendedServer(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost {
			t.Errorf("asked for %s %s", req.Method, req.URL)
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
			return
		}
		for range 2 {
			w.Header().Add("Warning", fmt.Sprintf("299 - %q", suspendedWarning))
		}
		send(w, newRelease(suspended))
	}
}

func TestSyncTellsTheServersWarningOnce(t *testing.T) {
	g := NewWithT(t)
	code, _, errOut := runAgainst(t, context.Background(), suspendedServer(t), "sync", "web", "--force")
	g.Expect(code).To(Equal(0))
	g.Expect(errOut).To(Equal("Warning: " + suspendedWarning + "\n"))
}

func TestSyncDoesNotWaitForASuspendedRelease(t *testing.T) {
	g := NewWithT(t)
	code, _, errOut := runAgainst(t, context.Background(), suspendedServer(t), "sync", "web", "--wait")
	g.Expect(code).To(Equal(1))
	warning, failure, _ := strings.Cut(errOut, "\n")
	g.Expect(warning).To(Equal("Warning: " + suspendedWarning))
	g.Expect(failure).To(Equal("error: Release shop/web is suspended, its sync is not waited for; once it is resumed, the sync follows: " +
		"kubectl convoy -n shop resume web\n"))
}
