// SPDX-License-Identifier: Apache-2.0

// Package process is what the processes of convoy's controllers have in common: flags,
// clients of the host cluster, sharding, the endpoints for probes and metrics, and an
// orderly end.
package process

// Version of convoy that this binary is; set by the linker in a release build. It is
// convoy's own: the version variable of k8s.io/component-base says which Kubernetes
// libraries are linked, and feature gates depend on it.
var Version = "v0.9.0"
