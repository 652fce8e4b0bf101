// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
)

// reasonOf is the reason of the API for a failure, "" where none fits.
func reasonOf(err error) string {
	switch {
	case Denied(err):
		return corev1alpha1.ReasonDenied
	case errors.Is(err, clusterconn.ErrUnreachable), errors.Is(err, clusterconn.ErrUnauthenticated):
		return corev1alpha1.ReasonTargetUnreachable
	case meta.IsNoMatchError(err):
		return corev1alpha1.ReasonUnknownKind
	case namespaceMissing(err):
		return corev1alpha1.ReasonInvalidObjects
	case apierrors.IsForbidden(err):
		return corev1alpha1.ReasonForbidden
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return corev1alpha1.ReasonInvalidObjects
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return corev1alpha1.ReasonApplyConflict
	}
	return ""
}

// Denied tells the refusals of admission webhooks and policies. A webhook's answer is passed
// on as it gave it, without the details of an object that the API server's own answers have;
// that of a policy has a cause that is about no field and has no type.
//
// Built-in admission, quotas among them, answers in the form of missing permissions and is
// not told from them.
func Denied(err error) bool {
	status, answered := Answer(err)
	if !answered || status.Code >= http.StatusInternalServerError {
		return false
	}
	if status.Details == nil {
		return status.Reason == "" || status.Reason == metav1.StatusReasonForbidden || status.Reason == metav1.StatusReasonInvalid
	}
	return slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool { return cause.Type == "" && cause.Field == "" })
}
