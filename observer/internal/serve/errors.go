// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/render"
)

// writeError answers with the metav1.Status that fits the error.
func writeError(ctx context.Context, w http.ResponseWriter, kind string, err error) {
	status := statusOf(ctx, err)
	klog.FromContext(ctx).V(2).Info("request failed", "kind", kind, "code", status.Code, "err", err)
	writeJSON(ctx, w, int(status.Code), status)
}

func statusOf(ctx context.Context, err error) *metav1.Status {
	var known apierrors.APIStatus
	var rendering *render.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failure(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "no answer within "+answerTimeout.String()+": "+err.Error())
	case errors.As(err, &rendering):
		return failure(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
	case errors.Is(err, clusterconn.ErrUnreachable), errors.Is(err, clusterconn.ErrUnauthenticated), errors.Is(err, clusterconn.ErrForbidden),
		errors.Is(err, clusterconn.ErrInvalid), errors.Is(err, fetch.ErrUnreachable), errors.Is(err, fetch.ErrUnauthorized), errors.Is(err, fetch.ErrSecret):
		return failure(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, err.Error())
	case errors.Is(err, desired.ErrNotReproducible):
		return failure(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, err.Error())
	case desired.IsNotFound(err):
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound, err.Error())
	case errors.Is(err, fetch.ErrInvalid), errors.Is(err, fetch.ErrContent), errors.Is(err, fetch.ErrLimit):
		return failure(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
	case errors.As(err, &known):
		status := known.Status()
		status.TypeMeta = statusType
		return &status
	}
	return failure(http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
}

var statusType = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}

func failure(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: statusType, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
}
