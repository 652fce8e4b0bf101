// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// ErrNoValues says that a Release has no values: it is not rendered of a chart, or not
// rendered at all.
var ErrNoValues = errors.New("there are no values")

// Values are what a chart is rendered with.
type Values struct {
	Revision string
	// Values in the order of their paths, and where each comes from.
	Values []render.Value
}

// Values returns what the chart of a Release is rendered with, at one revision of the
// source; "" is what a sync would take now. Nothing is rendered. Errors are ErrNoValues and
// those of At.
func (r *Resolver) Values(ctx context.Context, release *corev1alpha1.Release, target render.Cluster, revision string) (*Values, error) {
	if pin := release.Spec.Pin; pin != nil && revision == "" {
		if pin.Revision == "" {
			return nil, fmt.Errorf("%w with spec.pin.render: a stored render is applied, and what it was rendered with is not stored; ask for the values of a revision", ErrNoValues)
		}
		revision = pin.Revision
	}
	in, err := r.input(ctx, release, target, revision)
	if err != nil {
		return nil, err
	}
	found, err := r.Renderer.ExplainValues(ctx, in)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		if err := mustBeChart(in); err != nil {
			return nil, err
		}
	}
	return &Values{Revision: in.Artifact.Revision, Values: found}, nil
}

// mustBeChart tells a chart without values from what is no chart, which is ErrNoValues.
func mustBeChart(in render.Input) error {
	if spec := in.Release.Spec.Render; spec != nil && (spec.Type == corev1alpha1.RenderKustomize || spec.Type == corev1alpha1.RenderPlain) {
		return fmt.Errorf("%w: only charts have any, and spec.render.type is %s", ErrNoValues, spec.Type)
	}
	if _, err := fs.Stat(in.Artifact.Root, path.Join(in.Artifact.Path, "Chart.yaml")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: only charts have any, and there is no Chart.yaml at the path %q of %s", ErrNoValues, in.Artifact.Path, in.Artifact.Revision)
	}
	return nil
}
