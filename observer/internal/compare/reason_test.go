// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
)

func TestReasons(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	answered := func(code int32, reason metav1.StatusReason, details *metav1.StatusDetails) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Details: details}}
	}
	cause := func(kind metav1.CauseType, field string) *metav1.StatusDetails {
		return &metav1.StatusDetails{Name: "cm", Causes: []metav1.StatusCause{{Type: kind, Field: field, Message: "m"}}}
	}
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"a webhook without a reason", answered(400, "", nil), corev1alpha1.ReasonDenied},
		{"a webhook that forbids", answered(403, metav1.StatusReasonForbidden, nil), corev1alpha1.ReasonDenied},
		{"a policy", answered(422, metav1.StatusReasonInvalid, cause("", "")), corev1alpha1.ReasonDenied},
		{"a policy that forbids", answered(403, metav1.StatusReasonForbidden, cause("", "")), corev1alpha1.ReasonDenied},
		{"missing permission", apierrors.NewForbidden(maps, "cm", errors.New("no")), corev1alpha1.ReasonForbidden},
		{"missing permission, with its class", clusterconn.Classify(apierrors.NewForbidden(maps, "cm", errors.New("no"))), corev1alpha1.ReasonForbidden},
		{"validation", answered(422, metav1.StatusReasonInvalid, cause(metav1.CauseTypeFieldValueInvalid, "data")), corev1alpha1.ReasonInvalidObjects},
		{"content that is not understood", apierrors.NewBadRequest("no"), corev1alpha1.ReasonInvalidObjects},
		{"fields of others", answered(409, metav1.StatusReasonConflict, cause(metav1.CauseTypeFieldManagerConflict, ".data.a")), corev1alpha1.ReasonApplyConflict},
		{"a kind that is not served", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "X"}}, corev1alpha1.ReasonUnknownKind},
		{"no answer", fmt.Errorf("%w: %w", clusterconn.ErrUnreachable, errors.New("EOF")), corev1alpha1.ReasonTargetUnreachable},
		{"a server that fails", apierrors.NewInternalError(errors.New("no")), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(reasonOf(test.err)).To(Equal(test.want))
		})
	}
}
