// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"helm.sh/helm/v3/pkg/chart"

	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/manifest"
)

// crds gives the objects of the crds/ folders of a chart and its subcharts, untemplated.
// An object that is in several of them, equal to the last byte, is given once: subcharts
// often bring the same kinds.
func crds(c *chart.Chart) ([]manifest.Document, error) {
	var documents []manifest.Document
	seen := map[string]bool{}
	for _, file := range c.CRDObjects() {
		decoded, err := manifest.Decode(file.Filename, file.File.Data)
		if err != nil {
			return nil, err
		}
		for _, d := range decoded {
			sum, err := digest.Of(d.Object.Object)
			if err != nil {
				return nil, err
			}
			if !seen[sum] {
				documents = append(documents, d)
			}
			seen[sum] = true
		}
	}
	return documents, nil
}
