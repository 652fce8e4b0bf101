// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"k8s.io/apiserver/pkg/registry/rest"

	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
)

// NewStorage gives the storages of the kind, by resource and subresource.
func NewStorage(backend resource.Backend, shards shardlabel.Labeler) (map[string]rest.Storage, error) {
	whole, status, err := resource.NewStorage(kind(shards), backend)
	if err != nil {
		return nil, err
	}
	return map[string]rest.Storage{"clusters": whole, "clusters/status": status}, nil
}
