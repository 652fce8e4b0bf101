// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"kumodo.io/convoy/internal/deptest"
)

// The API server serves objects. What acts on them is another binary's, and would bring
// its size and its faults along.
func TestLinksNothingThatActs(t *testing.T) {
	deptest.Forbid(t, "kumodo.io/convoy/apiserver/cmd/convoy-apiserver", map[string]string{
		"helm.sh/helm/v3":                           "rendering is the controllers' work",
		"github.com/go-git/go-git/v5":               "fetching is the controllers' work",
		"oras.land/oras-go/v2":                      "fetching is the controllers' work",
		"sigs.k8s.io/kustomize/api":                 "rendering is the controllers' work",
		"kumodo.io/convoy/fetch":                    "the server asks no source",
		"kumodo.io/convoy/render":                   "the server renders nothing",
		"kumodo.io/convoy/clusterconn":              "the server connects to no target cluster",
		"kumodo.io/convoy/controllermanager":        "another binary",
		"kumodo.io/convoy/observer":                 "another binary",
		"kumodo.io/convoy/kubectl-convoy":           "another binary",
		"kumodo.io/convoy/internal/controller/base": "the server has no controllers",
	})
}
