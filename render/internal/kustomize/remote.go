// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/render/internal/lossless"
	"kumodo.io/convoy/render/internal/manifest"
)

// The library follows references to other hosts by itself, with an HTTP client and a git
// executable of its own, and cannot be told not to. So every file that it reads is looked
// through for such references first.

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
	for _, field := range chartFields {
		if k[field] != nil {
			return noCharts(file, field)
		}
	}
	for _, field := range pathFields {
		if err := checkPaths(file, field, k[field]); err != nil {
			return err
		}
	}
	for _, field := range nestingFields {
		if err := checkNested(file, field, k[field]); err != nil {
			return err
		}
	}
	return nil
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
			if slices.Contains(nestedPaths, key) {
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
	if !bytes.Contains(content, []byte("builtin")) {
		return nil
	}
	for _, document := range manifest.Split(content) {
		var config map[string]any
		if err := yaml.Unmarshal(document, &config); err != nil || config["apiVersion"] != "builtin" {
			continue
		}
		if config["kind"] == "HelmChartInflationGenerator" {
			return noCharts(file, "a HelmChartInflationGenerator")
		}
		if err := checkNested(file, fmt.Sprint(config["kind"]), config); err != nil {
			return err
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
