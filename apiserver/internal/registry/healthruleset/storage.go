// SPDX-License-Identifier: Apache-2.0

package healthruleset

import (
	"k8s.io/apiserver/pkg/registry/rest"

	"kumodo.io/convoy/apiserver/internal/registry/resource"
)

// NewStorage gives the storages of the kind, by resource and subresource.
func NewStorage(backend resource.Backend) (map[string]rest.Storage, error) {
	whole, status, err := resource.NewStorage(kind(), backend)
	if err != nil {
		return nil, err
	}
	return map[string]rest.Storage{"healthrulesets": whole, "healthrulesets/status": status}, nil
}
