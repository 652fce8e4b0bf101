// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/digest"
)

// Inputs are what the digest of a render is made of. What does not change a render is not in
// it, so that Releases that want the same share one.
type Inputs struct {
	Schema    string                  `json:"schema"`
	Engine    corev1alpha1.RenderType `json:"engine"`
	Content   string                  `json:"content"`
	Path      string                  `json:"path,omitempty"`
	Namespace string                  `json:"namespace"`
	Helm      *HelmInputs             `json:"helm,omitempty"`
	Kustomize any                     `json:"kustomize,omitempty"`
	Hooks     json.RawMessage         `json:"hooks,omitempty"`
	Timeout   string                  `json:"timeout"`
	Mutations json.RawMessage         `json:"mutations,omitempty"`
}

// HelmInputs are those of a chart. Values and Dependencies are known last.
type HelmInputs struct {
	ReleaseName  string         `json:"releaseName"`
	Packaged     bool           `json:"packaged,omitempty"`
	Upgrade      bool           `json:"upgrade"`
	Values       map[string]any `json:"values"`
	KubeVersion  string         `json:"kubeVersion"`
	APIVersions  []string       `json:"apiVersions"`
	SkipCRDs     bool           `json:"skipCRDs"`
	SkipTests    bool           `json:"skipTests"`
	DisableHooks bool           `json:"disableHooks"`
	Lookup       bool           `json:"lookup,omitempty"`
	// Dependencies are the folders and digests of charts from outside of the chart.
	Dependencies []string `json:"dependencies,omitempty"`
}

// with gives the digest of the inputs with the values and dependencies of a chart.
func (i *Inputs) with(values map[string]any, dependencies []string) (string, error) {
	all, chart := *i, *i.Helm
	chart.Values, chart.Dependencies = values, dependencies
	all.Helm = &chart
	return digest.Of(all)
}
