// SPDX-License-Identifier: Apache-2.0

package content

import (
	"errors"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
)

// Reason gives the reason of a condition that reports err, an error of the fetch
// coordinator.
func Reason(err error) string {
	switch {
	case errors.Is(err, fetch.ErrVerification): // before the others: unsigned content is unusable, too
		return corev1alpha1.ReasonVerificationFailed
	case errors.Is(err, fetch.ErrSecretNotFound):
		return corev1alpha1.ReasonSecretNotFound
	case errors.Is(err, fetch.ErrSecret):
		return corev1alpha1.ReasonSecretInvalid
	case errors.Is(err, fetch.ErrUnauthorized):
		return corev1alpha1.ReasonAuthenticationFailed
	case errors.Is(err, fetch.ErrInvalid):
		return corev1alpha1.ReasonInvalidConfiguration
	case errors.Is(err, fetch.ErrNotFound):
		return corev1alpha1.ReasonRevisionNotFound
	case errors.Is(err, fetch.ErrUnreachable):
		return corev1alpha1.ReasonUnreachable
	}
	return corev1alpha1.ReasonFetchFailed
}
