// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"kumodo.io/convoy/internal/deptest"
)

func TestDependencies(t *testing.T) {
	deptest.Forbid(t, "kumodo.io/convoy/observer/cmd/convoy-observer", map[string]string{
		"kumodo.io/convoy/controllermanager": "the observer never applies, so that it must not be able to",
		"kumodo.io/convoy/apiserver":         "the API is spoken to through its clients",
		"kumodo.io/convoy/kubectl-convoy":    "another binary",
		"k8s.io/apiserver":                   "an observer needs no server library; it would double the binary",
	})
}
