// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Recheck has the Secrets of a Cluster looked at again by its next Connect, however short ago
// that was done: to be called when one is known to have changed. It waits for a Connect that
// is under way.
func (c *Connector) Recheck(namespace, name string) {
	c.mu.Lock()
	h := c.clusters[types.NamespacedName{Namespace: namespace, Name: name}]
	c.mu.Unlock()
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checkedAt = time.Time{}
}
