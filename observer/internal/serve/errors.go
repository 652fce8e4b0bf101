// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/observer"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// unavailable are the errors of what an answer needs and that is not to be had now.
var unavailable = []error{
	errBusy,
	observer.ErrNoCluster, clusterconn.ErrUnreachable, clusterconn.ErrUnauthenticated, clusterconn.ErrForbidden, clusterconn.ErrInvalid,
	desired.ErrSource, fetch.ErrUnreachable, fetch.ErrUnauthorized, fetch.ErrSecret,
	desired.ErrNotReproducible, store.ErrNoIdentity, store.ErrUnavailable,
}

// unusable are the errors of content and configuration that give no render, or no values.
var unusable = []error{fetch.ErrInvalid, fetch.ErrContent, fetch.ErrLimit, desired.ErrNoValues}

// writeError answers with the metav1.Status that fits the error.
func writeError(ctx context.Context, w http.ResponseWriter, kind string, err error) {
	status := statusOf(ctx, err)
	klog.FromContext(ctx).V(2).Info("Request failed", "kind", kind, "code", status.Code, "err", err)
	body, err := json.Marshal(status)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Status not encoded")
	}
	if details := status.Details; details != nil && details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(details.RetryAfterSeconds)))
	}
	write(ctx, w, int(status.Code), "application/json", body)
}

// tooLong refuses to give an answer that convoy-apiserver would not pass on.
func tooLong() error {
	return &apierrors.StatusError{ErrStatus: *failure(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
		fmt.Sprintf("the answer has more than %d bytes, and is not given", maxAnswer))}
}

func statusOf(ctx context.Context, err error) *metav1.Status {
	var known apierrors.APIStatus
	var rendering *render.Error
	var group *clusterconn.GroupUnavailableError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failure(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "no answer within "+answerTimeout.String()+": "+err.Error())
	case errors.As(err, &rendering), isAny(err, unusable):
		return failure(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
	case isAny(err, unavailable), errors.As(err, &group):
		return failure(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, err.Error())
	case errors.Is(err, fetch.ErrNotFound), errors.Is(err, store.ErrNotFound):
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound, err.Error())
	case errors.As(err, &known):
		status := known.Status()
		status.TypeMeta = statusType
		return &status
	}
	return failure(http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
}

func isAny(err error, targets []error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

var statusType = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}

func failure(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: statusType, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
}
