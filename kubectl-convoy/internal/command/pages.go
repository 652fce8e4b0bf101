// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize is how many objects are asked for at once, as by kubectl get.
const pageSize = 500

// inPages lists in pages: list asks for one and returns where the next one begins, "" after
// the last. When the state of which pages were given is gone from the server meanwhile, the
// list goes on with a newer one, as the server offers it; objects that change just then may
// come twice or be left out.
func inPages(options metav1.ListOptions, list func(metav1.ListOptions) (string, error)) error {
	options.Limit = pageSize
	for {
		next, err := list(options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			if newer := inconsistentContinue(err); newer != "" {
				options.Continue = newer
				continue
			}
		}
		if err != nil || next == "" {
			return err
		}
		options.Continue = next
	}
}

// inconsistentContinue is the token with which a list goes on at a newer state.
func inconsistentContinue(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	return status.Status().ListMeta.Continue
}
