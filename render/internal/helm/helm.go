// SPDX-License-Identifier: Apache-2.0

// Package helm renders charts with the Helm library: what `helm install` or `helm upgrade`
// would send, without sending it.
//
// It reads nothing but the chart and what it is given: no network, no file of the host, and
// a cluster only through Request.Lookup. It keeps nothing between renders, so no render can
// change another's chart.
package helm

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"kumodo.io/convoy/render/internal/helm/execute"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
)

// Request says what is rendered, and with what.
type Request struct {
	// Root is the content of the source, Dir the chart in it.
	Root fs.FS
	Dir  string
	// Packaged is true when the chart was packaged by Helm, which has applied .helmignore.
	Packaged bool
	// Dependencies are put into the chart; see Needed.
	Dependencies []Dependency
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
	// Limits of the templates.
	Limits execute.Limits
	// Ratio is how many times its own size an archive in charts/ may have once it is unpacked.
	Ratio int
	// Lookup answers the function lookup of templates; nil answers that there is nothing.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, error)
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

// Render renders a chart; twice when it asked for chance or time: objects that differ are
// marked as unstable, and those of the first time are given. An error names the template
// and line where the engine does; its text may hold values. It ends when ctx does.
func Render(ctx context.Context, r Request) (*Output, error) {
	c, _, err := prepare(r)
	if err != nil {
		return nil, err
	}
	all, err := documents(ctx, c, r)
	if err != nil {
		return nil, err
	}
	output := separate(all)
	if !r.SkipCRDs {
		output.CRDs, err = crds(c)
	}
	return output, err
}

// Values gives the values that the templates of a chart see, those of its subcharts under
// their names, and where those stand that the user did not give.
func Values(r Request) (map[string]any, *Defaults, error) {
	c, defaults, err := prepare(r)
	if err != nil {
		return nil, nil, err
	}
	defaults.turnOn(c)
	top, err := mergedValues(c, r)
	if err != nil {
		return nil, nil, err
	}
	merged, _ := top["Values"].(chartutil.Values)
	return merged, defaults, nil
}

// prepare gives the chart with the dependencies that its values turn on, and the defaults
// of all charts as they were before. It refuses a chart that cannot be installed.
func prepare(r Request) (*chart.Chart, *Defaults, error) {
	c, err := load(r)
	if err != nil {
		return nil, nil, err
	}
	if err := checkChart(c, r); err != nil {
		return nil, nil, err
	}
	expand(c)
	defaults := defaultsOf(c)
	if err := chartutil.ProcessDependenciesWithMerge(c, r.Values); err != nil {
		return nil, nil, fmt.Errorf("processing the dependencies of chart %s: %w", c.Name(), err)
	}
	return c, defaults, nil
}

func documents(ctx context.Context, c *chart.Chart, r Request) ([]manifest.Document, error) {
	top, err := mergedValues(c, r)
	if err != nil {
		return nil, err
	}
	if merged, ok := top["Values"].(chartutil.Values); ok {
		if err := checkSchemas(c, merged); err != nil {
			return nil, err
		}
	}
	first, err := run(ctx, c, r, top, 0)
	if err != nil {
		return nil, err
	}
	second := first
	if first.Volatile {
		if second, err = again(ctx, c, r); err != nil {
			return nil, err
		}
	}
	var all []manifest.Document
	for _, name := range slices.Sorted(maps.Keys(first.Texts)) {
		decoded, err := manifest.Decode(name, []byte(first.Texts[name]))
		if err != nil {
			return nil, err
		}
		if first.Texts[name] != second.Texts[name] {
			if err := markUnstable(decoded, name, second.Texts[name]); err != nil {
				return nil, err
			}
		}
		all = append(all, decoded...)
	}
	return all, nil
}

// ahead is how far the clock is ahead in the second run. It makes another year, month, day of
// the month and of the week, hour, minute and second.
const ahead = 400*24*time.Hour + 5*time.Hour + 7*time.Minute + 11*time.Second

// again runs the templates once more, at another time; if that is a time at which they fail,
// now.
func again(ctx context.Context, c *chart.Chart, r Request) (output *execute.Output, err error) {
	for _, ahead := range []time.Duration{ahead, 0} {
		// Templates can change values: they are made afresh.
		top, err := mergedValues(c, r)
		if err != nil {
			return nil, err
		}
		if output, err = run(ctx, c, r, top, ahead); err == nil {
			return output, nil
		}
		if ahead == 0 || ctx.Err() != nil {
			return nil, err
		}
	}
	return output, nil
}

// mergedValues gives what templates see: the values of the user over those of the charts,
// the release, the capabilities.
func mergedValues(c *chart.Chart, r Request) (chartutil.Values, error) {
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
	return top, nil
}

// run gives the text that each template gives, by a clock that is ahead.
func run(ctx context.Context, c *chart.Chart, r Request, top chartutil.Values, ahead time.Duration) (*execute.Output, error) {
	output, err := execute.Run(ctx, c, top, execute.Options{Limits: r.Limits, Ahead: ahead, Lookup: r.Lookup})
	if err != nil {
		return nil, err
	}
	var total int64
	maps.DeleteFunc(output.Texts, func(name, text string) bool {
		total += int64(len(text))
		return strings.HasSuffix(name, "NOTES.txt") || strings.TrimSpace(text) == ""
	})
	if total > r.Limits.Value {
		return nil, limit.Of(limit.FlagBytes, "the manifests of chart %s have more than %s", c.Name(), limit.Size(r.Limits.Value))
	}
	return output, nil
}
