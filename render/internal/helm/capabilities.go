// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// Capabilities are what a chart can know of the target cluster.
type Capabilities struct {
	// KubeVersion is what .Capabilities.KubeVersion.Version says.
	KubeVersion string
	// APIVersions are what .Capabilities.APIVersions.Has knows, "batch/v1" and
	// "batch/v1/CronJob" alike.
	APIVersions []string

	parsed chartutil.KubeVersion
}

// NewCapabilities takes the version and APIs of a cluster; override, when not empty,
// replaces the version, and apiVersions are added. The error names the version that cannot
// be parsed.
func NewCapabilities(kubeVersion, override string, served, apiVersions []string) (Capabilities, error) {
	version := kubeVersion
	if override != "" {
		version = override
	}
	parsed, err := chartutil.ParseKubeVersion(version)
	if err != nil {
		return Capabilities{}, fmt.Errorf("kubeVersion %q: %w", version, err)
	}
	c := Capabilities{KubeVersion: version, parsed: *parsed}
	if override != "" {
		c.KubeVersion = parsed.Version
	}
	c.APIVersions = append(append(c.APIVersions, served...), apiVersions...)
	return c, nil
}

func (c Capabilities) chartutil() *chartutil.Capabilities {
	version := c.parsed
	version.Version = c.KubeVersion
	return &chartutil.Capabilities{
		KubeVersion: version,
		APIVersions: c.APIVersions,
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
}

// check compares a chart's kubeVersion with the cluster's. The suffix that vendors put
// behind the version is left out, which would read as a pre-release; Helm does the same
// with a version that is given to it.
func (c Capabilities) check(chart *chart.Chart) error {
	wanted := chart.Metadata.KubeVersion
	if wanted == "" || chartutil.IsCompatibleRange(wanted, c.parsed.Version) {
		return nil
	}
	return fmt.Errorf("chart %s needs Kubernetes %s, the target cluster has %s; render.helm.kubeVersion overrides what the chart is told",
		chart.Name(), wanted, c.KubeVersion)
}
