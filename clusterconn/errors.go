// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Classes of errors, found with errors.Is. An error has at most one of them.
var (
	// ErrUnreachable: the server did not answer, or answered that it cannot serve now.
	ErrUnreachable = errors.New("target cluster is unreachable")
	// ErrUnauthenticated: the server does not accept the credentials.
	ErrUnauthenticated = errors.New("target cluster does not accept the credentials")
	// ErrForbidden: the identity may not do what was asked, or an admission plugin of the
	// server, such as a quota, does not let it: both answer alike.
	ErrForbidden = errors.New("not permitted on the target cluster")
	// ErrInvalid: the Cluster, or the Secret it names, cannot be made a connection of.
	// Where the Secret is absent, apierrors.IsNotFound holds too.
	ErrInvalid = errors.New("invalid cluster configuration")
	// ErrReadOnly: a read-only connection refused the request; nothing was sent.
	ErrReadOnly = errors.New("connection is read-only")
)

// GroupUnavailableError says that a kind cannot be looked up because the server that
// answers for its API group does not work, while the rest of the cluster may. It has
// none of the classes, since the cluster is not to blame as a whole.
type GroupUnavailableError struct {
	GroupVersion schema.GroupVersion
	// Err is what the discovery of the group gave.
	Err error
}

func (e *GroupUnavailableError) Error() string {
	return fmt.Sprintf("API group %s is not available on the target cluster, see its APIService %s.%s: %v",
		e.GroupVersion, e.GroupVersion.Version, e.GroupVersion.Group, e.Err)
}

func (e *GroupUnavailableError) Unwrap() error { return e.Err }

// Classify gives the error of a request to a target cluster its class: it wraps it in
// ErrUnreachable, ErrUnauthenticated or ErrForbidden where one fits, and else gives it
// back as it is; so too an error that has a class already, and the cancellation of the
// caller's context. nil stays nil.
//
// Of a request that was not sent because of an outage, only the OutageError is left: it says
// the same whatever the request was. So it is with a TimeoutError, which says what it was.
func Classify(err error) error {
	if request, ok := err.(*url.Error); ok {
		if outage, ok := errors.AsType[*OutageError](request.Err); ok {
			return outage
		}
		if timeout, ok := errors.AsType[*TimeoutError](request.Err); ok {
			return timeout
		}
	}
	if class := classOf(err); class != nil {
		return fmt.Errorf("%w: %w", class, err)
	}
	return err
}

// classOf finds the class that an error lacks.
func classOf(err error) error {
	var group *GroupUnavailableError
	switch {
	case err == nil, classified(err), errors.Is(err, context.Canceled), errors.As(err, &group):
		return nil
	case apierrors.IsUnauthorized(err):
		return ErrUnauthenticated
	case apierrors.IsForbidden(err):
		return ErrForbidden
	case unavailable(err), errors.Is(err, context.DeadlineExceeded), failedOnTheWay(err):
		return ErrUnreachable
	}
	return nil
}

func classified(err error) bool {
	for _, class := range []error{ErrUnreachable, ErrUnauthenticated, ErrForbidden, ErrInvalid, ErrReadOnly} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// unavailable tells the answers of a server, or of what stands before it, that cannot
// serve at present.
func unavailable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	return cannotServe(int(status.Status().Code))
}

// cannotServe tells the status codes of a server that cannot serve at present, or of what
// stands before it.
func cannotServe(code int) bool {
	switch code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// failedOnTheWay tells the errors of a request that got no answer: net/http gives every
// such error as a url.Error.
func failedOnTheWay(err error) bool {
	var urlErr *url.Error
	var netErr net.Error
	return errors.As(err, &urlErr) || errors.As(err, &netErr)
}

// invalidf makes an ErrInvalid. The arguments must not hold credentials.
func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// Reason gives the reason of a condition that reports an error about a target, by the
// error's class: corev1alpha1.ReasonTargetUnreachable and its like. It is empty for an
// error without a class.
func Reason(err error) string {
	switch {
	case errors.Is(err, ErrUnreachable):
		return corev1alpha1.ReasonTargetUnreachable
	case errors.Is(err, ErrUnauthenticated):
		return corev1alpha1.ReasonAuthenticationFailed
	case errors.Is(err, ErrForbidden):
		return corev1alpha1.ReasonForbidden
	case errors.Is(err, ErrInvalid) && apierrors.IsNotFound(err):
		return corev1alpha1.ReasonSecretNotFound
	case errors.Is(err, ErrInvalid):
		return corev1alpha1.ReasonInvalidConfiguration
	}
	return ""
}
