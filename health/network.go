// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// service is healthy by existing, except that one of type LoadBalancer needs an address, and
// a load balancer that can serve all of its ports.
func service(obj *unstructured.Unstructured) Result {
	if text(obj, "spec", "type") != "LoadBalancer" {
		return healthy("")
	}
	if c := find(obj, "LoadBalancerPortsError"); c.isTrue() {
		return degraded("%s", c)
	}
	if hasAddress(obj) {
		return healthy("")
	}
	if class := text(obj, "spec", "loadBalancerClass"); class != "" {
		return progressing("no address from load balancer class %q yet", class)
	}
	return progressing("no address from the cluster's load balancer yet")
}

// ingress is healthy by existing: many ingress controllers never publish an address, and
// one that does not says nothing of whether traffic arrives.
func ingress(obj *unstructured.Unstructured) Result {
	if hasAddress(obj) {
		return healthy("")
	}
	return healthy("no address is published")
}

func hasAddress(obj *unstructured.Unstructured) bool {
	for _, entry := range items(obj, "status", "loadBalancer", "ingress") {
		if text(entry, "ip") != "" || text(entry, "hostname") != "" {
			return true
		}
	}
	return false
}
