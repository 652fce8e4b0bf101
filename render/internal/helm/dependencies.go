// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// checkChart refuses a chart that cannot be installed at all, or not in this cluster.
func checkChart(c *chart.Chart, r Request) error {
	if kind := c.Metadata.Type; kind != "" && kind != "application" {
		return fmt.Errorf("chart %s is of type %s: only charts of type application can be installed", c.Name(), kind)
	}
	if err := r.Capabilities.check(c); err != nil {
		return err
	}
	var missing []string
	for _, wanted := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return d.Name() == wanted.Name }) {
			missing = append(missing, strings.TrimSpace(wanted.Name+" "+wanted.Version))
		}
	}
	if len(missing) > 0 {
		return notThere(c, r.Packaged, missing...)
	}
	return nil
}

// notThere is the error for dependencies that a chart does not have, and that nothing brings.
func notThere(c *chart.Chart, packaged bool, missing ...string) error {
	wayOut := "run `helm dependency update` and add them to the source, or name their repository in Chart.yaml"
	if packaged {
		wayOut = "it was packaged without them: package it again after `helm dependency update`, or use another version"
	}
	return unmet("chart %s depends on charts that are not in its charts/ folder: %s; %s", c.Name(), strings.Join(missing, ", "), wayOut)
}

// expand gives every dependency that is declared a chart of its own, under its alias. The
// library lets copies of one chart share their own dependencies' declarations, and while
// it handles one copy it changes what the next one will find.
func expand(c *chart.Chart) {
	var children []*chart.Chart
	for _, existing := range c.Dependencies() {
		declared := slices.ContainsFunc(c.Metadata.Dependencies, func(d *chart.Dependency) bool { return satisfies(existing, d) })
		if !declared {
			children = append(children, existing)
		}
	}
	// The library loads them in any order.
	slices.SortFunc(children, func(a, b *chart.Chart) int { return strings.Compare(a.Name(), b.Name()) })
	for _, wanted := range c.Metadata.Dependencies {
		at := slices.IndexFunc(c.Dependencies(), func(d *chart.Chart) bool { return satisfies(d, wanted) })
		if at < 0 {
			continue
		}
		child := clone(c.Dependencies()[at])
		if wanted.Alias != "" {
			child.Metadata.Name = wanted.Alias
			wanted.Name, wanted.Alias = wanted.Alias, ""
		}
		children = append(children, child)
	}
	c.SetDependencies(children...)
	for _, child := range children {
		expand(child)
	}
}

func satisfies(c *chart.Chart, wanted *chart.Dependency) bool {
	return c.Name() == wanted.Name && chartutil.IsCompatibleRange(wanted.Version, c.Metadata.Version)
}

// clone copies what the library changes of a chart, and shares the rest: files, schema,
// values, which it copies itself.
func clone(c *chart.Chart) *chart.Chart {
	copied := *c
	metadata := *c.Metadata
	metadata.Dependencies = nil
	for _, d := range c.Metadata.Dependencies {
		dependency := *d
		metadata.Dependencies = append(metadata.Dependencies, &dependency)
	}
	copied.Metadata = &metadata
	var children []*chart.Chart
	for _, child := range c.Dependencies() {
		children = append(children, clone(child))
	}
	copied.SetDependencies(children...)
	return &copied
}
