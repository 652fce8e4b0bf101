// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
)

// exists tells the answers to an apply that only creates when the object exists: a
// resourceVersion that is not the object's, or, without force, fields of other managers,
// which the server looks at first.
func exists(err error) bool {
	return outdated(err) || fieldConflict(err)
}

// outdated tells that a precondition of a write did not hold: the object is gone, is
// another one, or has changed.
func outdated(err error) bool {
	if apierrors.IsConflict(err) {
		return !fieldConflict(err)
	}
	return apierrors.IsInvalid(err) && hasCause(err, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

func fieldConflict(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// absent tells that the object that was to be read, changed or deleted does not exist, and
// not that its kind is not served.
func absent(err error) bool {
	return apierrors.IsNotFound(err) && !notServed(err)
}

// notServed tells that the server does not know the path of the request: the kind has gone
// since it was looked up.
func notServed(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// NamespaceMissing tells the error of an object that could not be created because its namespace
// does not exist.
func NamespaceMissing(err error) bool {
	return apierrors.IsNotFound(err) && statusOf(err).Details != nil && statusOf(err).Details.Kind == "namespaces"
}

func hasCause(err error, match func(metav1.StatusCause) bool) bool {
	for _, c := range causes(err) {
		if match(c) {
			return true
		}
	}
	return false
}

func causes(err error) []metav1.StatusCause {
	if details := statusOf(err).Details; details != nil {
		return details.Causes
	}
	return nil
}

// statusOf gives what the server answered, zero when err is not an answer.
func statusOf(err error) metav1.Status {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return answer.Status()
	}
	return metav1.Status{}
}

// explain turns the error of a request about an object into one of this package where one
// fits, and else into one that is short, tells nothing of a Secret's content, and has a
// class of clusterconn.
func (a *Applier) explain(err error, key corev1alpha1.ObjectKey) error {
	switch {
	case fieldConflict(err):
		return &ConflictError{Conflicts: fieldConflicts(err), cause: err}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &WaitingError{For: fmt.Sprintf("namespace %q to be gone: it is being deleted", key.Namespace), cause: err}
	case notServed(err):
		a.target.Invalidate()
		return &WaitingError{For: "the kind to be served again, its API was found but does not answer", cause: err}
	case NamespaceMissing(err) && schema.GroupKind{Group: key.Group, Kind: key.Kind} != namespaceKind:
		return fmt.Errorf("namespace %q does not exist in the target cluster: create it, render it, or set spec.createNamespace if it is the target namespace: %w", key.Namespace, err)
	}
	// Only the answer itself: around one that is wrapped stands what was asked, and why.
	if _, ok := err.(apierrors.APIStatus); ok {
		err = &requestError{message: message(err, key), cause: err}
	}
	return clusterconn.Classify(err)
}

// fieldConflicts gives the fields of an answer and their managers. The API gives the
// manager's name only inside a text, as a quoted string.
func fieldConflicts(err error) []FieldConflict {
	var conflicts []FieldConflict
	for _, c := range causes(err) {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		conflict := FieldConflict{Field: c.Field}
		if _, quoted, ok := strings.Cut(c.Message, `conflict with "`); ok {
			if prefix, err := strconv.QuotedPrefix(`"` + quoted); err == nil {
				conflict.Manager, _ = strconv.Unquote(prefix)
			}
		}
		conflicts = append(conflicts, conflict)
	}
	return conflicts
}

// requestError is an answer of the server with a message of our own.
type requestError struct {
	message string
	cause   error
}

func (e *requestError) Error() string { return e.message }

func (e *requestError) Unwrap() error { return e.cause }

// message says what the server answered.
func message(err error, key corev1alpha1.ObjectKey) string {
	status := statusOf(err)
	secret := schema.GroupKind{Group: key.Group, Kind: key.Kind} == secretKind
	if apierrors.IsInvalid(err) && len(causes(err)) > 0 {
		var fields []string
		for _, c := range causes(err) {
			text := short(c.Message)
			if secret {
				text = string(c.Type)
			}
			if c.Field != "" && c.Field != "[]" { // as of what is too long as a whole
				text = c.Field + ": " + text
			}
			fields = append(fields, text)
		}
		return "invalid: " + first(fields)
	}
	if secret && mayQuote(status) {
		return fmt.Sprintf("the server refused the Secret with code %d, in words that are left out here because they may quote its content", status.Code)
	}
	return short(status.Message)
}

// mayQuote tells the answers about an object's content, whose texts quote what they do
// not like.
func mayQuote(status metav1.Status) bool {
	switch status.Code {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return true
	}
	return status.Code >= http.StatusInternalServerError && status.Reason == metav1.StatusReasonUnknown
}
