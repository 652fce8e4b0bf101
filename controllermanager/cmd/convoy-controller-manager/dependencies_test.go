// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"kumodo.io/convoy/internal/deptest"
)

func TestDependencies(t *testing.T) {
	deptest.Forbid(t, "kumodo.io/convoy/controllermanager/cmd/convoy-controller-manager", map[string]string{
		"kumodo.io/convoy/observer":  "health and drift are the observer's, which is a process of its own",
		"kumodo.io/convoy/health":    "health reaches the controller-manager through inventories only",
		"kumodo.io/convoy/apiserver": "the API is spoken to through its clients",
		"k8s.io/apiserver":           "a controller needs no server library; it would double the binary",
	})
}
