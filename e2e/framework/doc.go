// SPDX-License-Identifier: Apache-2.0

// Package framework holds, in one room each, what a test of convoy needs around
// it: Kubernetes control planes (controlplane), certificates and kubeconfigs
// (certs), processes (process), a git server (gitserver), a Helm repository
// (helmrepo), an OCI registry (registry) and what these share (poll,
// httpserver, chart).
//
// The rooms serve Ginkgo suites and plain programs alike: they take a context
// and a writer for progress, they return errors, and they know nothing of a
// testing.T. Everything listens on 127.0.0.1.
package framework
