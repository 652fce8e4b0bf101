// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestLinked(t *testing.T) {
	forbidden := map[string]string{"example.com/a": "because"}
	cases := []struct {
		name string
		deps []string
		want []string
	}{
		{"nothing", []string{"fmt"}, nil},
		{"the package itself", []string{"example.com/a"}, []string{"links example.com/a: because"}},
		{"one below it", []string{"example.com/a/b"}, []string{"links example.com/a/b: because"}},
		{"a neighbour with the same beginning", []string{"example.com/ab"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			NewWithT(t).Expect(linked(c.deps, forbidden)).To(Equal(c.want))
		})
	}
}

func TestExists(t *testing.T) {
	g := NewWithT(t)
	root, err := workspace()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(exists(root, "kumodo.io/convoy/internal/deptest")).To(Succeed())
	g.Expect(exists(root, "kumodo.io/convoy/internal/nowhere")).NotTo(Succeed())
}

func TestForbidPasses(t *testing.T) {
	Forbid(t, ".", map[string]string{"kumodo.io/convoy/internal/shard": "a test helper shares nothing out"})
}
