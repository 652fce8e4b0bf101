// SPDX-License-Identifier: Apache-2.0

// Package helm renders charts with the Helm library: what `helm install` or `helm upgrade`
// would send, without sending it.
//
// It reads nothing but the chart and what it is given: no cluster, no network, no file of
// the host. It keeps nothing between renders, so no render can change another's chart.
package helm

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"kumodo.io/convoy/render/internal/manifest"
)

// Request says what is rendered, and with what.
type Request struct {
	// Root is the content of the source, Dir the chart in it.
	Root fs.FS
	Dir  string
	// Packaged is true when the chart was packaged by Helm, which has applied .helmignore.
	Packaged bool
	// ReleaseName and Namespace are .Release.Name and .Release.Namespace.
	ReleaseName, Namespace string
	// Upgrade is .Release.IsUpgrade, and makes .Release.Revision 2 instead of 1: a number
	// that rose with each sync would make each render another.
	Upgrade bool
	// Values of the user, over the chart's defaults. They are not changed.
	Values map[string]any
	// Capabilities of the target cluster.
	Capabilities Capabilities
	// SkipCRDs leaves the crds/ folders out.
	SkipCRDs bool
}

// Output is what a chart gives.
type Output struct {
	// CRDs are the objects of the crds/ folders, which need not all be
	// CustomResourceDefinitions.
	CRDs []manifest.Document
	// Objects of the templates that are no hooks.
	Objects []manifest.Document
	// Hooks of the templates, tests included.
	Hooks []Hook
}

// Render renders a chart, twice: objects that differ are marked as unstable, and those of
// the first time are given. An error names the template and line where the engine does;
// its text may hold values.
func Render(r Request) (*Output, error) {
	c, err := load(r.Root, r.Dir, r.Packaged)
	if err != nil {
		return nil, err
	}
	if err := checkChart(c, r.Capabilities); err != nil {
		return nil, err
	}
	expand(c)
	if err := chartutil.ProcessDependenciesWithMerge(c, r.Values); err != nil {
		return nil, fmt.Errorf("processing the dependencies of chart %s: %w", c.Name(), err)
	}
	documents, err := renderTwice(c, r)
	if err != nil {
		return nil, err
	}
	output := separate(documents)
	if !r.SkipCRDs {
		output.CRDs, err = crds(c)
	}
	return output, err
}

func renderTwice(c *chart.Chart, r Request) ([]manifest.Document, error) {
	first, err := renderOnce(c, r)
	if err != nil {
		return nil, err
	}
	second, err := renderOnce(c, r)
	if err != nil {
		return nil, err
	}
	var documents []manifest.Document
	for _, name := range slices.Sorted(maps.Keys(first)) {
		decoded, err := manifest.Decode(name, []byte(first[name]))
		if err != nil {
			return nil, err
		}
		if first[name] != second[name] {
			if err := markUnstable(decoded, name, second[name]); err != nil {
				return nil, err
			}
		}
		documents = append(documents, decoded...)
	}
	return documents, nil
}

// renderOnce gives the text that each template gives. Values are made afresh, because
// templates can change them.
func renderOnce(c *chart.Chart, r Request) (map[string]string, error) {
	options := chartutil.ReleaseOptions{
		Name: r.ReleaseName, Namespace: r.Namespace, Revision: 1,
		IsInstall: !r.Upgrade, IsUpgrade: r.Upgrade,
	}
	if r.Upgrade {
		options.Revision = 2
	}
	top, err := chartutil.ToRenderValuesWithSchemaValidation(c, r.Values, options, r.Capabilities.chartutil(), true)
	if err != nil {
		return nil, fmt.Errorf("merging the values of chart %s: %w", c.Name(), err)
	}
	if merged, ok := top["Values"].(chartutil.Values); ok {
		if err := checkSchemas(c, merged); err != nil {
			return nil, err
		}
	}
	texts, err := engine.Engine{}.Render(c, top)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(texts, func(name, text string) bool {
		return strings.HasSuffix(name, "NOTES.txt") || strings.TrimSpace(text) == ""
	})
	return texts, nil
}
