// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/render/internal/lossless"
	"kumodo.io/convoy/render/internal/manifest"
)

// The library follows references to other hosts by itself, with an HTTP client and a git
// executable of its own, and cannot be told not to. So every file that it reads is looked
// through for such references first, which gives messages that say where they stand. What no
// file says, because the library puts the configuration of a plugin together from several, only
// Confine keeps from being followed.

// check refuses a file that refers to anything remote, and one that aliases make enormous.
func check(file string, content []byte) error {
	for _, document := range manifest.Split(content) {
		if err := lossless.CheckAliases(document); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if slices.Contains(FileNames, path.Base(file)) {
		return checkKustomization(file, content)
	}
	return checkPlugins(file, content)
}

// pathFields are the fields of a kustomization that hold paths, directly or in the
// elements of a list.
var pathFields = []string{
	"resources", "bases", "components", "crds", "configurations",
	"generators", "transformers", "validators", "patchesStrategicMerge",
}

// nestedPaths are the fields, inside of others, that hold paths; those of generated
// ConfigMaps and Secrets may have the form key=path.
var nestedPaths = []string{"path", "paths", "files", "env", "envs"}

// nestingFields are the fields of a kustomization in which nestedPaths are looked for.
var nestingFields = []string{
	"patches", "patchesJson6902", "replacements", "openapi", "configMapGenerator", "secretGenerator",
}

// chartFields are the fields of a kustomization that list charts, which the library would
// have a helm executable inflate.
var chartFields = []string{"helmCharts", "helmChartInflationGenerator"}

func noCharts(file, what string) error {
	return fmt.Errorf("%s: %s is refused: kustomizations do not inflate charts here; "+
		"make a Release of the chart, with mutations for what the kustomization changes, or put what `helm template` prints into the source", file, what)
}

func checkKustomization(file string, content []byte) error {
	var k map[string]any
	if err := yaml.Unmarshal(content, &k); err != nil {
		return nil // the library says why
	}
	for _, key := range slices.Sorted(maps.Keys(k)) {
		var err error
		switch value := k[key]; {
		case value == nil:
		case isOne(chartFields, key):
			err = noCharts(file, key)
		case isOne(pathFields, key):
			err = checkPaths(file, key, value)
		case isOne(nestingFields, key):
			err = checkNested(file, key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isOne tells whether the library takes a key for one of the fields: it does not heed case.
func isOne(fields []string, key string) bool {
	return slices.ContainsFunc(fields, func(field string) bool { return strings.EqualFold(field, key) })
}

// checkPaths checks the strings of a field. One of several lines or with fields is no path
// but what a path would lead to.
func checkPaths(file, field string, value any) error {
	switch v := value.(type) {
	case string:
		if strings.ContainsAny(v, "\n{") {
			return checkPlugins(file, []byte(v))
		}
		if _, after, ok := strings.Cut(v, "="); remote(v) || (ok && remote(after)) {
			return fmt.Errorf("%s: %s refers to %q: remote references are not followed; bring the content into the source", file, field, shown(v))
		}
	case []any:
		for _, element := range v {
			if err := checkPaths(file, field, element); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNested looks for paths in the fields below a value.
func checkNested(file, field string, value any) error {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			if err := checkNested(file, field, element); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, inner := range v {
			look := checkNested
			if isOne(nestedPaths, key) {
				look = checkPaths
			}
			if err := look(file, field+"."+key, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPlugins checks the configurations of built-in plugins, which have paths like a
// kustomization. They may stand in any file of manifests.
func checkPlugins(file string, content []byte) error {
	if !mayHave(content, builtin) {
		return nil
	}
	for _, document := range manifest.Split(content) {
		var any any
		if err := yaml.Unmarshal(document, &any); err != nil {
			continue
		}
		if err := checkPluginsIn(file, any); err != nil {
			return err
		}
	}
	return nil
}

// builtin is the version of the API of built-in plugins.
const builtin = "builtin"

// mayHave tells whether one of some words, in lower case, may stand in a text: as it is or in another
// case, escaped, in base64, or in another encoding than UTF-8.
func mayHave(content []byte, words ...string) bool {
	lower := bytes.ToLower(content)
	for _, part := range append(words, `\`, "binary", "\x00") {
		if bytes.Contains(lower, []byte(part)) {
			return true
		}
	}
	return !utf8.Valid(content)
}

// mayCopy tells whether a file may have the library copy values of objects, or choose objects by
// their annotations: replacements, vars and patches of a kustomization, or the plugins for them. More
// than that is no harm.
func mayCopy(content []byte) bool {
	return mayHave(content, "replacement", "vars", "copy", "move", "annotationselector")
}

// checkPluginsIn checks a value of a file of manifests, which may be a list of them.
func checkPluginsIn(file string, value any) error {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			if err := checkPluginsIn(file, element); err != nil {
				return err
			}
		}
	case map[string]any:
		if version, _ := v["apiVersion"].(string); strings.TrimPrefix(version, "/") == builtin {
			if v["kind"] == "HelmChartInflationGenerator" {
				return noCharts(file, "a HelmChartInflationGenerator")
			}
			return checkNested(file, fmt.Sprint(v["kind"]), v)
		}
		for _, inner := range v {
			if err := checkPluginsIn(file, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// userAndHost begins a path in the manner of scp.
var userAndHost = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// remote tells whether the library could take a path for something remote.
func remote(p string) bool {
	p = strings.ToLower(strings.TrimSpace(p))
	for _, prefix := range []string{"http:", "https:", "git::", "github.com/", "github.com:"} {
		if strings.HasPrefix(p, prefix) {
			return true
		}
	}
	return strings.Contains(p, "://") || userAndHost.MatchString(p)
}

var userInfo = regexp.MustCompile(`//[^/@]*@`)

// shown takes credentials and the query out of a reference.
func shown(reference string) string {
	reference, _, _ = strings.Cut(reference, "?")
	return userInfo.ReplaceAllString(reference, "//")
}
