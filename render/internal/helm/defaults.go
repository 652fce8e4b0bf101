// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"path"

	"helm.sh/helm/v3/pkg/chart"
)

// Defaults are the default values of a chart and its subcharts, before any was merged.
type Defaults struct {
	file     string
	values   map[string]any
	children map[string]*Defaults
}

func defaultsOf(c *chart.Chart) *Defaults {
	d := &Defaults{file: path.Join(c.ChartFullPath(), chartDefaults), values: c.Values, children: map[string]*Defaults{}}
	for _, child := range c.Dependencies() {
		d.children[child.Name()] = defaultsOf(child)
	}
	return d
}

// global is the key of the values that every chart gets from its parent.
const global = "global"

// File gives the file in which the default of a value stands: that of the outermost chart
// that has one. It is empty when none has: then the chart imports the value of a subchart,
// or it is what a subchart is given by the way, like an empty map.
func (d *Defaults) File(path []string) string {
	if _, ok := Find(d.values, path); ok {
		return d.file
	}
	child := d.children[path[0]]
	if child == nil || len(path) < 2 {
		return ""
	}
	if path[1] == global {
		if file := d.File(path[1:]); file != "" {
			return file
		}
	}
	return child.File(path[1:])
}

// Find gives what stands in values at a path of keys.
func Find(values map[string]any, path []string) (any, bool) {
	var at any = values
	for _, key := range path {
		inner, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = inner[key]; !ok {
			return nil, false
		}
	}
	return at, true
}
