// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"path"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
)

// Defaults are the default values of a chart and its subcharts, before any was merged.
type Defaults struct {
	file     string
	values   map[string]any
	children map[string]*Defaults
	// on is true for a subchart that the values turn on: only these are given globals.
	on bool
}

func defaultsOf(c *chart.Chart) *Defaults {
	d := &Defaults{file: path.Join(c.ChartFullPath(), chartDefaults), values: c.Values, children: map[string]*Defaults{}}
	for _, child := range c.Dependencies() {
		d.children[child.Name()] = defaultsOf(child)
	}
	return d
}

// turnOn marks the subcharts that the library has left in a chart.
func (d *Defaults) turnOn(c *chart.Chart) {
	for _, child := range c.Dependencies() {
		if known := d.children[child.Name()]; known != nil {
			known.on = true
			known.turnOn(child)
		}
	}
}

// Settings are the paths at which what is at a path can be set, that which counts first: for a
// global of a subchart those of the charts further out, which hand it on over what is set further
// in. Nothing else is handed on, whatever its name is.
func (d *Defaults) Settings(path []string) [][]string {
	var paths [][]string
	for at, inner := 0, d; at < len(path); at++ {
		if at > 0 && path[at] == global {
			for out := range at {
				paths = append(paths, slices.Concat(path[:out], path[at:]))
			}
			break
		}
		if inner = inner.children[path[at]]; inner == nil || !inner.on {
			break
		}
	}
	return append(paths, path)
}

// global is the key of the values that every chart gets from its parent.
const global = "global"

// File gives the file in which the default of a value stands: for a global, that of the outermost
// chart that hands one on, for another value, that of the outermost chart that has one. It is empty
// when none has: then the chart imports the value of a subchart, or it is what a subchart is given
// by the way, like an empty map.
func (d *Defaults) File(path []string) string {
	for _, set := range d.Settings(path) {
		if file := d.FileAt(set); file != "" {
			return file
		}
	}
	return ""
}

// FileAt is File for what is set at just this path.
func (d *Defaults) FileAt(path []string) string {
	if _, ok := Find(d.values, path); ok {
		return d.file
	}
	if child := d.children[path[0]]; child != nil && len(path) > 1 {
		return child.FileAt(path[1:])
	}
	return ""
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
