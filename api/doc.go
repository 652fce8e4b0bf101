// SPDX-License-Identifier: Apache-2.0

// Package api is the root of convoy's published API types. The three groups are
// in core/v1alpha1, source/v1alpha1 and extensions/v1alpha1; they depend on
// k8s.io/apimachinery and on nothing else, so that any program can decode convoy
// objects without linking convoy.
package api
