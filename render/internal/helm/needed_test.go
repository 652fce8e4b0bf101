// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart"
)

// TestLockFilesOfHelm has a digest that Helm made.
func TestLockFilesOfHelm(t *testing.T) {
	g := NewWithT(t)
	one := func(version string) []*chart.Dependency {
		return []*chart.Dependency{{Name: "alpine", Version: version, Repository: "http://localhost:8879/charts"}}
	}
	const digest = "sha256:fb239e836325c5fa14b29d1540a13b7d3ba13151b67fe719f820e0ef6d66aaaf"
	c := &chart.Chart{Metadata: &chart.Metadata{Dependencies: one("0.1.0")}, Lock: &chart.Lock{Digest: digest, Dependencies: one("0.1.0")}}
	g.Expect(inSync(c)).To(BeTrue())
	c.Metadata.Dependencies = one("^0.1.0")
	g.Expect(inSync(c)).To(BeFalse())
}

func TestArchivesInChartsFolders(t *testing.T) {
	r := resolver{root: fstest.MapFS{}}
	for _, tc := range []struct {
		entry, name string
		want        bool
	}{
		{"db-1.0.0.tgz", "db", true},
		{"db-1.0.0-rc.1+up.tgz", "db", true},
		{"db-proxy-1.0.0.tgz", "db", false},
		{"db-proxy-1.0.0.tgz", "db-proxy", true},
		{"db.tgz", "db", false},
		{"_db-1.0.0.tgz", "db", false},
		{"other-1.0.0.tgz", "db", false},
	} {
		NewWithT(t).Expect(r.holds("", tc.entry, tc.name)).To(Equal(tc.want), "%s %s", tc.entry, tc.name)
	}
}
