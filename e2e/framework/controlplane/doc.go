// SPDX-License-Identifier: Apache-2.0

// Package controlplane starts real Kubernetes control planes as processes on
// 127.0.0.1: etcd and kube-apiserver and, where workloads shall run,
// kube-controller-manager, kube-scheduler and kwok with a simulated node. The
// binaries come from a folder that the script of e2e/controlplane fills.
//
// A cluster without workloads has no controllers: its namespaces do not finish
// deleting, nothing is garbage-collected and nothing gets ready. How simulated
// pods behave, and the annotations that change it, is written in stages/pod.yaml.
package controlplane
