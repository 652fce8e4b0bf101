// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

const defaultNamespace = "convoy-system"

// load reads a chart from a folder or an archive.
func load(path string) (*chart.Chart, error) {
	// Helm logs on every load that config is a symbolic link.
	log.SetOutput(io.Discard)
	return loader.Load(path)
}

// release is what the chart makes of values.
type release struct {
	objects string // a stream of manifests, those of hooks among them
	notes   string
}

// render renders a chart as helm template does, without a cluster. Values that the schema
// refuses, and templates that fail, are errors.
func render(one *chart.Chart, namespace string, values map[string]any) (release, error) {
	options := chartutil.ReleaseOptions{Name: "convoy", Namespace: namespace, Revision: 1, IsInstall: true}
	given, err := chartutil.ToRenderValues(one, values, options, chartutil.DefaultCapabilities.Copy())
	if err != nil {
		return release{}, err
	}
	files, err := engine.Render(one, given)
	if err != nil {
		return release{}, err
	}
	var made release
	var objects strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch path.Ext(name) {
		case ".txt":
			made.notes += files[name]
		case ".yaml":
			objects.WriteString("---\n" + strings.TrimSuffix(files[name], "\n") + "\n")
		}
	}
	made.objects = objects.String()
	return made, nil
}
