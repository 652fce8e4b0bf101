// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"

	"kumodo.io/convoy/render/internal/tree"
	"kumodo.io/convoy/render/internal/values"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// load reads a chart with the dependencies that are put into it. Charts that were not
// packaged by Helm are subject to their .helmignore.
func load(r Request) (*chart.Chart, error) {
	files, err := read(r.Root, r.Dir, r.Packaged)
	if err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	for _, d := range r.Dependencies {
		more, err := read(d.Root, d.Dir, d.Packaged)
		if err != nil {
			return nil, fmt.Errorf("reading the chart for %s: %w", d.Folder, err)
		}
		for _, f := range more {
			files = append(files, &loader.BufferedFile{Name: path.Join(d.Folder, f.Name), Data: f.Data})
		}
	}
	if files, err = unpack(files, r); err != nil {
		return nil, fmt.Errorf("reading the chart: %w", err)
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("loading the chart: %w", err)
	}
	return c, exactDefaults(c)
}

// read reads the files of a chart.
func read(root fs.FS, dir string, packaged bool) ([]*loader.BufferedFile, error) {
	ignored, err := ignoreRules(root, dir, packaged)
	if err != nil {
		return nil, err
	}
	var files []*loader.BufferedFile
	err = tree.Walk(root, dir, ignored, func(name string, entry fs.DirEntry) error {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Size() > loader.MaxDecompressedFileSize {
			return fmt.Errorf("%s is larger than %d bytes, the most that a file of a chart may have", path.Join(dir, name), loader.MaxDecompressedFileSize)
		}
		content, err := fs.ReadFile(root, path.Join(dir, name))
		if err != nil {
			return err
		}
		files = append(files, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(content, byteOrderMark)})
		return nil
	})
	return files, err
}

func ignoreRules(root fs.FS, dir string, packaged bool) (func(string, fs.DirEntry) bool, error) {
	if packaged {
		return func(string, fs.DirEntry) bool { return false }, nil
	}
	rules := ignore.Empty()
	if info, err := fs.Stat(root, path.Join(dir, ignore.HelmIgnore)); err == nil {
		if err := checkDeclaration(ignore.HelmIgnore, info.Size()); err != nil {
			return nil, err
		}
	}
	text, err := fs.ReadFile(root, path.Join(dir, ignore.HelmIgnore))
	if err == nil {
		if rules, err = ignore.Parse(bytes.NewReader(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rules.AddDefaults()
	return func(name string, entry fs.DirEntry) bool {
		info, err := entry.Info()
		return err == nil && rules.Ignore(name, info)
	}, nil
}

// exactDefaults reads the default values of a chart and its subcharts again, with all the
// digits of their numbers, and lets go of the raw files.
func exactDefaults(c *chart.Chart) error {
	for _, file := range c.Raw {
		if file.Name != chartDefaults {
			continue
		}
		exact, err := values.ParseYAML(file.Data)
		if err != nil {
			return fmt.Errorf("%s of chart %s: %w", chartDefaults, c.Name(), err)
		}
		c.Values = exact
	}
	c.Raw = nil
	for _, child := range c.Dependencies() {
		if err := exactDefaults(child); err != nil {
			return err
		}
	}
	return nil
}

const chartDefaults = "values.yaml"
