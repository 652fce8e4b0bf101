// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Values writes values as YAML; with their origins, comments tell which source set each.
func Values(w io.Writer, values *corev1alpha1.ReleaseValues, withOrigins bool) error {
	if !withOrigins {
		text, err := yaml.JSONToYAML(values.Values.Raw)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	tree, err := decodeValues(values)
	if err != nil {
		return err
	}
	origins := map[string]string{}
	for _, origin := range values.Origins {
		origins[origin.Path] = originText(origin)
	}
	lines := &lineWriter{w: w}
	if err := lines.values(tree, nil, origins); err != nil {
		return err
	}
	return lines.err
}

// WithoutDefaults takes out what the chart brings itself: its defaults, and the globals that
// subcharts have because a chart further out does.
func WithoutDefaults(values *corev1alpha1.ReleaseValues) error {
	tree, err := decodeValues(values)
	if err != nil {
		return err
	}
	origins := map[string]corev1alpha1.ValueOrigin{}
	for _, origin := range values.Origins {
		origins[origin.Path] = origin
	}
	kept := map[string]bool{}
	prune(tree, nil, func(path []string) bool {
		name := corev1alpha1.JoinValuePath(path)
		origin, known := origins[name]
		byChart := origin.Kind == corev1alpha1.ValueOriginChart || origin.Kind == corev1alpha1.ValueOriginChartImport
		kept[name] = known && !byChart && !handedOn(path, origins)
		return kept[name]
	})
	values.Origins = slices.DeleteFunc(values.Origins, func(origin corev1alpha1.ValueOrigin) bool { return !kept[origin.Path] })
	values.Values.Raw, err = json.Marshal(tree)
	return err
}

// handedOn tells whether a value is a global that the same source sets further out.
func handedOn(path []string, origins map[string]corev1alpha1.ValueOrigin) bool {
	own := origins[corev1alpha1.JoinValuePath(path)]
	at := slices.Index(path, "global")
	for depth := range max(at, 0) {
		outer, ok := origins[corev1alpha1.JoinValuePath(slices.Concat(path[:depth], path[at:]))]
		if ok && outer.Kind == own.Kind && outer.Name == own.Name && outer.Key == own.Key {
			return true
		}
	}
	return false
}

func decodeValues(values *corev1alpha1.ReleaseValues) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(values.Values.Raw))
	decoder.UseNumber() // as they were written
	tree := map[string]any{}
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("reading the values: %w", err)
	}
	return tree, nil
}

// inner gives the map that a value is, if it has values of its own.
func inner(value any) (map[string]any, bool) {
	under, ok := value.(map[string]any)
	return under, ok && len(under) > 0
}

// prune takes out every value that is not to be kept, and maps that are empty then.
func prune(tree map[string]any, path []string, keep func(path []string) bool) {
	for key, value := range tree {
		here := append(slices.Clone(path), key)
		under, ok := inner(value)
		if ok {
			prune(under, here, keep)
		}
		if ok && len(under) == 0 || !ok && !keep(here) {
			delete(tree, key)
		}
	}
}

// values writes what is under a path, with the origin behind a value of one line, and in
// front of one of several.
func (l *lineWriter) values(tree map[string]any, path []string, origins map[string]string) error {
	indent := strings.Repeat("  ", len(path))
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		here := append(slices.Clone(path), key)
		under, more := inner(tree[key])
		value := tree[key]
		if more {
			value = map[string]any{}
		}
		data, err := yaml.Marshal(map[string]any{key: value})
		if err != nil {
			return err
		}
		text := strings.TrimSuffix(string(data), "\n")
		switch {
		case more:
			l.indented(indent, strings.TrimSuffix(text, " {}"))
			if err := l.values(under, here, origins); err != nil {
				return err
			}
		case strings.Contains(text, "\n"):
			l.print("%s# %s", indent, origins[corev1alpha1.JoinValuePath(here)])
			l.indented(indent, text)
		default:
			l.print("%s%s  # %s", indent, text, origins[corev1alpha1.JoinValuePath(here)])
		}
	}
	return nil
}

// indented writes lines of YAML further in.
func (l *lineWriter) indented(indent, text string) {
	// These end a line, too, for the library.
	text = strings.NewReplacer("\u2028", "\u2028"+indent, "\u2029", "\u2029"+indent).Replace(text)
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			line = indent + line
		}
		l.print("%s", line)
	}
}

// originText tells people which source set a value.
func originText(origin corev1alpha1.ValueOrigin) string {
	switch origin.Kind {
	case corev1alpha1.ValueOriginRelease:
		return "spec.render.helm.values"
	case corev1alpha1.ValueOriginFile:
		return oneLine(origin.Name)
	case corev1alpha1.ValueOriginChart:
		return oneLine("chart default, " + origin.Name)
	case corev1alpha1.ValueOriginChartImport:
		return "import-values, or Helm itself"
	}
	text := string(origin.Kind) + " " + origin.Name
	if origin.Key != "" {
		text += ", " + origin.Key
	}
	return oneLine(text)
}
