// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
)

// longest is the most that is shown of one text of a server: some quote whole objects.
const longest = 500

// answerError is what a server answered, in words of our own.
type answerError struct {
	text  string
	cause error
}

func (e *answerError) Error() string { return e.text }

func (e *answerError) Unwrap() error { return e.cause }

// explain gives the answer of a server to a request about an object its class of
// clusterconn, shortens it, and takes out of it what a server may quote of a Secret.
func explain(err error, key corev1alpha1.ObjectKey) error {
	status, _ := Answer(err)
	switch {
	case IsSecret(key) && mayQuote(status):
		err = &answerError{text: withoutQuotes(status), cause: err}
	case len(err.Error()) > longest:
		err = &answerError{text: strings.ToValidUTF8(err.Error()[:longest], "") + "…", cause: err}
	}
	return clusterconn.Classify(err)
}

// unreachable gives the error of a request that got no answer its class, once: that of an
// outage has it already.
func unreachable(err error) error {
	cause := withoutRequest(err)
	if errors.Is(cause, clusterconn.ErrUnreachable) {
		return cause
	}
	return fmt.Errorf("%w: %w", clusterconn.ErrUnreachable, cause)
}

// withoutRequest gives the cause of a request that got no answer, without the object that
// it was about and the port that it came from: a cluster that is away is so for all of them,
// and conditions that tell of it must not change with each try.
func withoutRequest(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Source != nil {
		plain := *operation
		plain.Source = nil
		return &plain
	}
	return err
}

// mayQuote tells the answers that can speak of an object's content: all but those whose
// reason says that the content was not looked at. Admission refuses with Forbidden too,
// which then has causes, or no details.
func mayQuote(status metav1.Status) bool {
	switch status.Reason {
	case metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict,
		metav1.StatusReasonUnauthorized, metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout,
		metav1.StatusReasonTooManyRequests, metav1.StatusReasonServiceUnavailable:
		return false
	case metav1.StatusReasonForbidden:
		return status.Details == nil || len(status.Details.Causes) > 0
	}
	return true
}

// withoutQuotes says what a server had against a Secret, without its words.
func withoutQuotes(status metav1.Status) string {
	var fields []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Field != "" {
				fields = append(fields, cause.Field+": "+string(cause.Type))
			}
		}
	}
	if len(fields) > 0 {
		return "the server refuses the Secret: " + strings.Join(fields, ", ")
	}
	return fmt.Sprintf("the server refuses the Secret with code %d, in words that are left out here because they may quote its content", status.Code)
}

// Answer gives what the server answered; ok is false when err is no answer of a server.
func Answer(err error) (status metav1.Status, ok bool) {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return answer.Status(), true
	}
	return metav1.Status{}, false
}

func causesOf(err error) []metav1.StatusCause {
	status, _ := Answer(err)
	if status.Details == nil {
		return nil
	}
	return status.Details.Causes
}

// namespaceMissing tells that an object cannot be created because its namespace is absent.
func namespaceMissing(err error) bool {
	status, _ := Answer(err)
	return apierrors.IsNotFound(err) && status.Details != nil && status.Details.Kind == "namespaces"
}
