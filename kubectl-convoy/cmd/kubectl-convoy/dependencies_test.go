// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinksNoServerCode keeps the plugin small and harmless: it asks the API server, it
// does none of the server's work.
func TestLinksNoServerCode(t *testing.T) {
	forbidden := map[string]string{
		"k8s.io/apiserver":             "serving the API is convoy-apiserver's work",
		"helm.sh/helm":                 "rendering is the servers' work",
		"github.com/go-git/go-git":     "fetching is the servers' work",
		"oras.land/oras-go":            "fetching is the servers' work",
		"kumodo.io/convoy/clusterconn": "the plugin speaks to the host cluster only",
		"kumodo.io/convoy/fetch":       "fetching is the servers' work",
		"kumodo.io/convoy/render":      "rendering is the servers' work",
		"kumodo.io/convoy/internal":    "plumbing of the servers",
	}
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("go list -deps names only %d packages", len(deps))
	}
	for _, dep := range deps {
		for prefix, reason := range forbidden {
			if dep == prefix || strings.HasPrefix(dep, prefix+"/") {
				t.Errorf("links %s: %s", dep, reason)
			}
		}
	}
}
