// SPDX-License-Identifier: Apache-2.0

// Package execute runs the templates of a chart within limits. It has the functions, the
// scopes and the order of Helm's own engine, which cannot be told to stop: there, a loop, a
// recursion or a string that doubles takes the whole process along.
//
// Templates see what they are given: there is no function that reads the environment, the
// host's files or the network. What they read of a cluster comes through Options.Lookup.
package execute

import (
	"context"
	"path"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// Options say how templates are run.
type Options struct {
	// Limits of the run.
	Limits Limits
	// Ahead is how far the clock of the templates is ahead.
	Ahead time.Duration
	// Lookup answers the function lookup; nil answers that there is nothing.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, error)
}

// Output is what templates gave.
type Output struct {
	// Texts by the name of the template, those of partials left out.
	Texts map[string]string
	// Volatile is true when a function was called that can give something else the next
	// time. If it is false, running the same templates again gives the same.
	Volatile bool
}

// Run runs all templates of a chart and its subcharts; top holds what chartutil's
// ToRenderValues gives, and may be changed by the templates. When ctx ends, so does the
// run. Errors name the template and the line; a *limit.Error is in their chain when a limit
// was met, and what Lookup returned when that failed.
func Run(ctx context.Context, c *chart.Chart, top chartutil.Values, o Options) (*Output, error) {
	r := &run{budget: newBudget(ctx, o.Limits), nested: map[string]int{}}
	r.functions = r.allFunctions(o)
	root := template.New("gotpl").Option(missingKey).Funcs(r.functions).Funcs(r.guards())
	root.Funcs(r.callers(root))
	sources := scope(c, top)
	order := parseOrder(sources)
	for _, name := range order {
		if _, err := r.parse(root, name, sources[name].text); err != nil {
			return nil, located("parse error", name, err)
		}
	}
	texts := make(map[string]string, len(sources))
	for _, name := range order {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		s := sources[name]
		s.values["Template"] = chartutil.Values{"Name": name, "BasePath": s.basePath}
		text, err := r.execute(root, name, chartutil.Values(s.values))
		if err != nil {
			return nil, executionError(name, err)
		}
		texts[name] = withoutNoValue(text)
	}
	return &Output{Texts: texts, Volatile: r.volatile}, nil
}

// missingKey is how values that are not there are read: as nothing, not as an error.
const missingKey = "missingkey=zero"

// run is one run of the templates of a chart. It is for one goroutine.
type run struct {
	*budget
	// functions that templates may call.
	functions template.FuncMap
	// nested counts, by name, the templates that are being included.
	nested map[string]int
	// tpls is how many texts are being run as templates within each other.
	tpls     int
	volatile bool
}

// source is a template before it is parsed.
type source struct {
	text     string
	values   map[string]any
	basePath string
}

// parseOrder sorts templates so that those of a chart are parsed after those of its
// subcharts: of several definitions of one name the last counts.
func parseOrder(sources map[string]source) []string {
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if deep := strings.Count(b, "/") - strings.Count(a, "/"); deep != 0 {
			return deep
		}
		return strings.Compare(b, a)
	})
	return names
}

// parse adds a text, and what it defines, to the templates, with guards in it. It gives the
// template that the text itself is.
func (r *run) parse(t *template.Template, name, text string) (*template.Template, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	trees, err := parse.Parse(name, text, "", "", r.functions, builtins)
	if err != nil {
		return nil, err
	}
	main := t.New(name)
	for defined, tree := range trees {
		r.guard(tree)
		if _, err := main.AddParseTree(defined, tree); err != nil {
			return nil, err
		}
	}
	return main, nil
}

// execute runs the template of a name and gives its text.
func (r *run) execute(t *template.Template, name string, data any) (string, error) {
	if err := r.enter(); err != nil {
		return "", err
	}
	defer r.leave()
	out := newText(r.budget)
	err := t.ExecuteTemplate(out, name, data)
	return out.String(), err
}

// withoutNoValue takes out what the library writes for what is not there, whatever
// missingKey says.
func withoutNoValue(text string) string { return strings.ReplaceAll(text, "<no value>", "") }

// text is what a template has written so far.
type text struct {
	*budget
	strings.Builder
}

func newText(b *budget) *text { return &text{budget: b} }

// Write takes what a template writes from the budget.
func (t *text) Write(p []byte) (int, error) {
	if err := t.made(int64(len(p))); err != nil {
		return 0, err
	}
	return t.Builder.Write(p)
}
