// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"encoding/base64"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"
	"helm.sh/helm/v3/pkg/chart"
)

// files is .Files: the files of a chart that are no templates, by their path in it.
type files map[string][]byte

func newFiles(list []*chart.File) files {
	all := make(files, len(list))
	for _, f := range list {
		all[f.Name] = f.Data
	}
	return all
}

// GetBytes gives a file; none where there is none.
func (f files) GetBytes(name string) []byte {
	if content, ok := f[name]; ok {
		return content
	}
	return []byte{}
}

// Get gives a file as text.
func (f files) Get(name string) string { return string(f.GetBytes(name)) }

// Glob gives the files whose paths fit a pattern, and all of them when it is no pattern.
func (f files) Glob(pattern string) files {
	fits, err := glob.Compile(pattern, '/')
	if err != nil {
		fits = glob.MustCompile("**")
	}
	found := files{}
	for name, content := range f {
		if fits.Match(name) {
			found[name] = content
		}
	}
	return found
}

// AsConfig gives the files as the data of a ConfigMap, by their names without folders.
func (f files) AsConfig() string {
	return f.asYAML(func(content []byte) string { return string(content) })
}

// AsSecrets gives the files as the data of a Secret, by their names without folders.
func (f files) AsSecrets() string { return f.asYAML(base64.StdEncoding.EncodeToString) }

func (f files) asYAML(encode func([]byte) string) string {
	if f == nil {
		return ""
	}
	data := make(map[string]string, len(f))
	// Of files of one name the last counts, and not just any of them.
	for _, name := range slices.Sorted(maps.Keys(f)) {
		data[path.Base(name)] = encode(f[name])
	}
	return toYAML(data)
}

// Lines gives the lines of a file.
func (f files) Lines(name string) []string {
	content := string(f[name])
	if content == "" {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(content, "\n"), "\n")
}
