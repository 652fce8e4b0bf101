// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/render"
)

// TestAnswers has a server that answers the creation of an object in different ways.
func TestAnswers(t *testing.T) {
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	terminating := statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "forbidden: unable to create new content in namespace shop because it is being terminated")
	terminating.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}
	missing := statusf(http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "shop" not found`)
	missing.Details = &metav1.StatusDetails{Kind: "namespaces", Name: "shop"}
	tests := []struct {
		name      string
		answer    *metav1.Status
		reason    string
		retryable bool
		message   string
	}{
		{"namespace is being deleted", terminating, corev1alpha1.ReasonProgressing, true, `waits for namespace "shop" to be gone: it is being deleted`},
		{"namespace is missing", missing, corev1alpha1.ReasonApplyFailed, false, `namespace "shop" does not exist in the target cluster: create it`},
		{"a webhook cannot be called",
			statusf(http.StatusInternalServerError, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "w.ex.test": refused`),
			corev1alpha1.ReasonApplyFailed, true, `failed calling webhook "w.ex.test"`},
		{"a webhook denies",
			statusf(http.StatusBadRequest, metav1.StatusReasonUnknown, `admission webhook "w.ex.test" denied the request: no`),
			corev1alpha1.ReasonApplyFailed, false, `admission webhook "w.ex.test" denied the request: no`},
		{"the object does not fit its schema",
			statusf(http.StatusInternalServerError, metav1.StatusReasonUnknown, "failed to create typed patch object"),
			corev1alpha1.ReasonApplyFailed, false, "failed to create typed patch object"},
		{"not permitted", statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "User cannot patch"), corev1alpha1.ReasonForbidden, false, "User cannot patch"},
		{"not authenticated", statusf(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "who?"), corev1alpha1.ReasonAuthenticationFailed, false, "who?"},
		{"unavailable", statusf(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "later"), corev1alpha1.ReasonTargetUnreachable, true, "later"},
		{"too many requests", statusf(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slowly"), corev1alpha1.ReasonApplyFailed, true, "slowly"},
		{"invalid, quoting much", invalid(configMap, "settings", metav1.StatusCause{Field: "data", Message: strings.Repeat("x", 10_000)}),
			corev1alpha1.ReasonApplyFailed, false, "invalid: data: xxx"},
		{"too large as a whole", invalid(configMap, "settings", metav1.StatusCause{Field: "[]", Message: "Too long: may not be more than 1048576 bytes"}),
			corev1alpha1.ReasonApplyFailed, false, "invalid: Too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			s.refuse = func(request) *metav1.Status { return tt.answer }

			err := applier(s, release()).Apply(context.Background(), []render.Object{settings("{k: v}")})[0].Err

			g.Expect(err).To(MatchError(ContainSubstring(tt.message)))
			g.Expect(len(err.Error())).To(BeNumerically("<", 1000))
			g.Expect(Reason(err)).To(Equal(tt.reason))
			g.Expect(Retryable(err)).To(Equal(tt.retryable))
		})
	}
}

func TestKindThatIsServedNoMore(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	a := applier(s, release())
	d, err := a.newDelivery(context.Background(), settings("{k: v}"))
	g.Expect(err).NotTo(HaveOccurred())
	clear(s.kinds)

	_, _, err = d.send(context.Background())
	err = a.explain(err, d.key)

	g.Expect(Reason(err)).To(Equal(corev1alpha1.ReasonProgressing))
	g.Expect(s.invalidated).To(Equal(1))
}

// TestSecretsAreNotQuoted has answers of the kinds in which servers quote what they refuse.
func TestSecretsAreNotQuoted(t *testing.T) {
	for _, answer := range []*metav1.Status{
		statusf(http.StatusInternalServerError, metav1.StatusReasonUnknown, ".stringData.x: expected string, got hush"),
		statusf(http.StatusBadRequest, metav1.StatusReasonBadRequest, "cannot decode hush"),
		invalid(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "s", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "data[x]", Message: `Invalid value: "hush"`}),
		statusf(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "hush"),
	} {
		t.Run(answer.Message, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			s.refuse = func(request) *metav1.Status { return answer }
			secret := rendered("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, stringData: {x: hush}}")

			err := applier(s, release()).Apply(context.Background(), []render.Object{secret})[0].Err

			g.Expect(err).To(HaveOccurred())
			g.Expect(err.Error()).NotTo(ContainSubstring("hush"))
		})
	}
}

func TestReasonOfWrappedErrors(t *testing.T) {
	immutable := &ImmutableError{Paths: []string{"spec"}}
	tests := []struct {
		name      string
		given     error
		want      string
		retryable bool
	}{
		{"ownership", &OwnershipError{Owner: "a/b/c"}, corev1alpha1.ReasonOwnershipConflict, false},
		{"conflict", &ConflictError{}, corev1alpha1.ReasonApplyConflict, false},
		{"no answer in time, or no room for it", &clusterconn.TimeoutError{}, corev1alpha1.ReasonTargetUnreachable, true},
		{"an answer beyond bounds", &clusterconn.AnswerTooLargeError{}, corev1alpha1.ReasonApplyFailed, false},
		{"immutable", immutable, corev1alpha1.ReasonImmutableField, false},
		{"waiting because of an immutable field", &WaitingError{cause: immutable}, corev1alpha1.ReasonProgressing, true},
		{"no such kind", &meta.NoKindMatchError{}, corev1alpha1.ReasonUnknownKind, true},
		{"unreachable", clusterconn.ErrUnreachable, corev1alpha1.ReasonTargetUnreachable, true},
		{"invalid cluster", clusterconn.ErrInvalid, corev1alpha1.ReasonInvalidConfiguration, false},
		{"cancelled", context.Canceled, corev1alpha1.ReasonApplyFailed, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(Reason(fmt.Errorf("stage 2: %w", tt.given))).To(Equal(tt.want))
			g.Expect(Retryable(fmt.Errorf("stage 2: %w", tt.given))).To(Equal(tt.retryable))
		})
	}
}

func TestManyProblemsStayShort(t *testing.T) {
	err := &ValidationError{}
	for range 500 {
		err.Problems = append(err.Problems, Problem{Message: "a problem"})
	}
	NewWithT(t).Expect(err).To(MatchError(HaveSuffix("; and 490 more")))
}

func TestPassive(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Passive(secretKind)).To(BeTrue())
	g.Expect(Passive(clusterRoleKind)).To(BeTrue())
	g.Expect(Passive(statefulSetKind)).To(BeFalse())
	g.Expect(Passive(serviceKind)).To(BeFalse())
	g.Expect(Passive(definitionKind)).To(BeFalse())
	g.Expect(Passive(schema.GroupKind{Group: "ex.test", Kind: "Secret"})).To(BeFalse())
}
