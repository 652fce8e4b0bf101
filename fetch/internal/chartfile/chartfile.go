// SPDX-License-Identifier: Apache-2.0

// Package chartfile holds Helm charts to the name and version that they are published as.
package chartfile

import (
	"fmt"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
	"kumodo.io/convoy/fetch/internal/versions"
)

const (
	file = "Chart.yaml"
	// maxFile bounds Chart.yaml, as reading it takes many times its size.
	maxFile = 1 << 20
)

// Check holds the content of what to be the chart that it is published as; an empty name
// or version is not compared. Versions are equal by versions.Same, and names in whatever
// case: registries know lower case only. The errors are fault.ErrContent and fault.ErrLimit.
func Check(content *tree.Tree, what, name, version string) error {
	if !content.HasFile(file) {
		return fault.New(fault.ErrContent, "%s holds no Helm chart: it has no %s in its top folder", what, file)
	}
	found, err := read(content, what)
	if err != nil {
		return err
	}
	if (name == "" || strings.EqualFold(found.name, name)) && (version == "" || versions.Same(found.version, version)) {
		return nil
	}
	// What is published comes first: what the content says may be as long as it likes.
	return fault.New(fault.ErrContent, "published as %s, %s holds %s: that is what its %s says; publish it as what it is, or publish the right one",
		shown(name, version), what, shown(found.name, found.version), file)
}

func shown(name, version string) string {
	switch {
	case version == "":
		return fmt.Sprintf("the chart %q", name)
	case name == "":
		return fmt.Sprintf("the version %q", version)
	}
	return fmt.Sprintf("the chart %q of the version %q", name, version)
}

// identity is what a chart says it is.
type identity struct{ name, version string }

func read(content *tree.Tree, what string) (identity, error) {
	data, err := fs.ReadFile(content.FS(), file)
	if err != nil {
		return identity{}, fault.New(fault.ErrContent, "the %s of %s cannot be read: %s", file, what, err)
	}
	if len(data) > maxFile {
		return identity{}, fault.New(fault.ErrLimit, "the %s of %s has %s; %s are accepted", file, what, fault.Size(int64(len(data))), fault.Size(maxFile))
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil || len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return identity{}, fault.New(fault.ErrContent, "the %s of %s is no mapping in YAML", file, what)
	}
	// Decoded as a whole it would have to be free of faults that do not matter here, and
	// that Helm lets pass, such as keys that are there twice.
	var found identity
	fields := document.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		value := fields[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		switch fields[i].Value {
		case "name":
			found.name = value.Value
		case "version":
			found.version = value.Value
		}
	}
	return found, nil
}
