// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// noRegistry is the default of the tree's values.yaml, which a release replaces.
const noRegistry = "\n  registry: \"\"\n"

// pack writes the chart of a folder as an archive into another one, and returns its path. The
// archive holds what config is a symbolic link to. Its version is that of a release, and its
// images are those of a registry unless that is empty.
func pack(folder, to, version, registry string) (string, error) {
	one, err := load(folder)
	if err != nil {
		return "", err
	}
	one.Metadata.Version, one.Metadata.AppVersion = version, "v"+version
	if registry != "" {
		if err := setRegistry(one, registry); err != nil {
			return "", err
		}
	}
	return chartutil.Save(one, to)
}

// setRegistry changes the default in the text of values.yaml, which keeps its comments.
func setRegistry(one *chart.Chart, registry string) error {
	for _, file := range one.Raw {
		if file.Name != chartutil.ValuesfileName {
			continue
		}
		if bytes.Count(file.Data, []byte(noRegistry)) != 1 {
			return errors.New("values.yaml has no single default of image.registry")
		}
		file.Data = bytes.Replace(file.Data, []byte(noRegistry), fmt.Appendf(nil, "\n  registry: %q\n", registry), 1)
		return nil
	}
	return errors.New("the chart has no values.yaml")
}
