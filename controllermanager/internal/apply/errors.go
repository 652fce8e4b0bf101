// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/render"
)

// OwnershipError says that another Release owns the object. Nothing was written.
type OwnershipError struct {
	// Owner is "<installation>/<namespace>/<name>" of the other Release.
	Owner string
	// Installation is that of the Release that was to be applied.
	Installation string
	// Claimed: the object says that this Release waits for it, and is given to it when the
	// other one has it no more.
	Claimed bool
}

func (e *OwnershipError) Error() string {
	owner := render.OwnerName(e.Owner, e.Installation)
	if e.Claimed {
		return fmt.Sprintf("belongs to %s, which hands it over as soon as it has it no more: take it out of one of the two Releases", owner)
	}
	return fmt.Sprintf("belongs to %s: take it out of one of the two Releases; one that is deleted with deletionPolicy orphan gives its objects up",
		owner)
}

// FieldConflict is a field that another manager owns.
type FieldConflict struct {
	// Field is the path as the server writes it, for example .spec.replicas.
	Field string
	// Manager is the field manager's name, empty when the server did not give it.
	Manager string
}

// ConflictError says that other managers own fields that the object sets, where
// spec.sync.conflicts is "fail". Nothing of the object was written.
type ConflictError struct {
	Conflicts []FieldConflict
	cause     error
}

func (e *ConflictError) Error() string {
	fields := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		fields[i] = fmt.Sprintf("%s (%s)", c.Field, c.Manager)
	}
	return fmt.Sprintf("fields belong to other field managers: %s: take them out of the source, or take them over with spec.sync.conflicts: override", first(fields))
}

func (e *ConflictError) Unwrap() error { return e.cause }

// ImmutableError says that the server accepts the object but not the change of the live
// one into it, and that the object was not replaced.
type ImmutableError struct {
	// Paths are the changed fields, for example spec.serviceName.
	Paths []string
	// Hint says why the object was not replaced, and what helps.
	Hint  string
	cause error
}

func (e *ImmutableError) Error() string {
	return fmt.Sprintf("fields cannot be changed: %s: %s", first(e.Paths), e.Hint)
}

func (e *ImmutableError) Unwrap() error { return e.cause }

// WaitingError says that the object could not be applied yet because of something that
// ends by itself. It is no rejection.
type WaitingError struct {
	// For is what is waited for, for people.
	For   string
	cause error
}

func (e *WaitingError) Error() string { return "waits for " + e.For }

func (e *WaitingError) Unwrap() error { return e.cause }

// Problem is one thing that Validate refuses.
type Problem struct {
	// Key is the object; without Name when the problem is not one object's.
	Key corev1alpha1.ObjectKey
	// Origin is the file or template that the object comes from.
	Origin string
	// Reason is ReasonUnknownKind, ReasonInvalidObjects or ReasonInvalidConfiguration.
	Reason string
	// Message says what is wrong and what helps.
	Message string
}

func (p Problem) String() string {
	if p.Key.Name == "" && p.Key.Kind == "" {
		return p.Message
	}
	if p.Origin == "" {
		return describe(p.Key) + ": " + p.Message
	}
	return fmt.Sprintf("%s (%s): %s", describe(p.Key), p.Origin, p.Message)
}

// ValidationError says that objects cannot be applied as they are. Nothing was written.
type ValidationError struct {
	// Problems, in the order of the objects; never empty.
	Problems []Problem
}

func (e *ValidationError) Error() string {
	problems := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		problems[i] = p.String()
	}
	return first(problems)
}

// Reason is the reason that all problems share, ReasonInvalidObjects when they differ.
func (e *ValidationError) Reason() string {
	reason := e.Problems[0].Reason
	for _, p := range e.Problems {
		if p.Reason != reason {
			return corev1alpha1.ReasonInvalidObjects
		}
	}
	return reason
}

// Reason gives the reason for a condition that reports err: one of the Reason constants
// of the core API. err must not be nil.
func Reason(err error) string {
	var (
		validation *ValidationError
		ownership  *OwnershipError
		conflict   *ConflictError
		immutable  *ImmutableError
		waiting    *WaitingError
		obstacle   *ObstacleError
	)
	switch {
	case errors.As(err, &validation):
		return validation.Reason()
	case errors.As(err, &waiting): // before what it may wrap
		return corev1alpha1.ReasonProgressing
	case errors.As(err, &ownership), errors.As(err, &obstacle):
		return corev1alpha1.ReasonOwnershipConflict
	case errors.As(err, &conflict):
		return corev1alpha1.ReasonApplyConflict
	case errors.As(err, &immutable):
		return corev1alpha1.ReasonImmutableField
	case clusterconn.Reason(err) != "":
		return clusterconn.Reason(err)
	case meta.IsNoMatchError(err):
		return corev1alpha1.ReasonUnknownKind
	}
	return corev1alpha1.ReasonApplyFailed
}

// Retryable tells errors that are likely to pass by themselves within seconds: something
// is waited for, the server or a webhook did not work, the target was busy or not reached.
// They are tried again soon and are no rejection of the desired state.
//
// A webhook that cannot be called makes the server answer with the reason InternalError, as
// other failures inside it do; a webhook that denies answers otherwise. The code 500 alone
// says nothing: an object that does not fit its schema gets it too, without a reason.
func Retryable(err error) bool {
	var waiting *WaitingError
	switch {
	case errors.As(err, &waiting),
		errors.Is(err, clusterconn.ErrUnreachable),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		meta.IsNoMatchError(err),
		statusOf(err).Reason == metav1.StatusReasonInternalError, apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
		return true
	}
	var conflict *ConflictError
	return apierrors.IsConflict(err) && !errors.As(err, &conflict)
}

const (
	maxListed = 10  // items of a list in a message
	maxLength = 500 // bytes of one text that the server gave
)

// first joins the first few of texts and says how many more there are.
func first(texts []string) string {
	if len(texts) <= maxListed {
		return strings.Join(texts, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(texts[:maxListed], "; "), len(texts)-maxListed)
}

// short cuts a text that the server gave: some quote whole objects.
func short(text string) string {
	if len(text) <= maxLength {
		return text
	}
	return strings.ToValidUTF8(text[:maxLength], "") + "…"
}
