// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// metadata is .Chart: what Chart.yaml says, and whether the chart is the outermost.
type metadata struct {
	chart.Metadata
	IsRoot bool
}

// scope gives the templates of a chart and its subcharts by name, each with what its chart
// may see: its own part of the values, its own files.
func scope(c *chart.Chart, top chartutil.Values) map[string]source {
	sources := map[string]source{}
	addScope(c, top, sources)
	return sources
}

// addScope adds the templates of one chart, and gives what its parent sees of it.
func addScope(c *chart.Chart, parent chartutil.Values, sources map[string]source) map[string]any {
	subcharts := map[string]any{}
	values := map[string]any{
		"Chart":        metadata{Metadata: *c.Metadata, IsRoot: c.IsRoot()},
		"Files":        newFiles(c.Files),
		"Release":      parent["Release"],
		"Capabilities": parent["Capabilities"],
		"Values":       chartutil.Values{},
		"Subcharts":    subcharts,
	}
	if c.IsRoot() {
		values["Values"] = parent["Values"]
	} else if own, err := parent.Table("Values." + c.Name()); err == nil {
		values["Values"] = own
	}
	for _, child := range c.Dependencies() {
		subcharts[child.Name()] = addScope(child, values, sources)
	}
	full := c.ChartFullPath()
	library := strings.EqualFold(c.Metadata.Type, "library")
	for _, t := range c.Templates {
		// A library has nothing to apply, only definitions.
		if t == nil || library && !strings.HasPrefix(path.Base(t.Name), "_") {
			continue
		}
		sources[path.Join(full, t.Name)] = source{
			text: string(t.Data), values: values, basePath: path.Join(full, "templates"),
		}
	}
	return values
}
