// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/scheme"
)

// ReleaseExpansion has the methods for the subresources that take query parameters. Their
// errors are those of any other request.
type ReleaseExpansion interface {
	// Sync asks for a sync, and returns the Release as it is then, or would be with a dry run.
	Sync(ctx context.Context, name string, options corev1alpha1.ReleaseSyncOptions) (*corev1alpha1.Release, error)
	// Preview returns what a sync would do now.
	Preview(ctx context.Context, name string, options corev1alpha1.ReleasePreviewOptions) (*corev1alpha1.ReleasePreview, error)
	// Diff compares what is desired, what is live, and stored renders.
	Diff(ctx context.Context, name string, options corev1alpha1.ReleaseDiffOptions) (*corev1alpha1.ReleaseDiff, error)
	// Health returns the health of each object.
	Health(ctx context.Context, name string, options corev1alpha1.ReleaseHealthOptions) (*corev1alpha1.ReleaseHealth, error)
	// History returns past renders, or one of them whole.
	History(ctx context.Context, name string, options corev1alpha1.ReleaseHistoryOptions) (*corev1alpha1.ReleaseHistory, error)
	// Values returns the values that the chart is rendered with, and where each comes from.
	Values(ctx context.Context, name string, options corev1alpha1.ReleaseValuesOptions) (*corev1alpha1.ReleaseValues, error)
}

// Sync asks for a sync.
func (c *releases) Sync(ctx context.Context, name string, options corev1alpha1.ReleaseSyncOptions) (*corev1alpha1.Release, error) {
	result := &corev1alpha1.Release{}
	err := c.GetClient().Post().Namespace(c.GetNamespace()).Resource("releases").Name(name).SubResource("sync").
		VersionedParams(&options, scheme.ParameterCodec).Do(ctx).Into(result)
	return result, err
}

// Preview returns what a sync would do now.
func (c *releases) Preview(ctx context.Context, name string, options corev1alpha1.ReleasePreviewOptions) (*corev1alpha1.ReleasePreview, error) {
	result := &corev1alpha1.ReleasePreview{}
	return result, c.ask(ctx, name, "preview", &options, result)
}

// Diff compares what is desired, what is live, and stored renders.
func (c *releases) Diff(ctx context.Context, name string, options corev1alpha1.ReleaseDiffOptions) (*corev1alpha1.ReleaseDiff, error) {
	result := &corev1alpha1.ReleaseDiff{}
	return result, c.ask(ctx, name, "diff", &options, result)
}

// Health returns the health of each object.
func (c *releases) Health(ctx context.Context, name string, options corev1alpha1.ReleaseHealthOptions) (*corev1alpha1.ReleaseHealth, error) {
	result := &corev1alpha1.ReleaseHealth{}
	return result, c.ask(ctx, name, "health", &options, result)
}

// History returns past renders, or one of them whole.
func (c *releases) History(ctx context.Context, name string, options corev1alpha1.ReleaseHistoryOptions) (*corev1alpha1.ReleaseHistory, error) {
	result := &corev1alpha1.ReleaseHistory{}
	return result, c.ask(ctx, name, "history", &options, result)
}

// Values returns the values that the chart is rendered with, and where each comes from.
func (c *releases) Values(ctx context.Context, name string, options corev1alpha1.ReleaseValuesOptions) (*corev1alpha1.ReleaseValues, error) {
	result := &corev1alpha1.ReleaseValues{}
	return result, c.ask(ctx, name, "values", &options, result)
}

func (c *releases) ask(ctx context.Context, name, subresource string, options, result runtime.Object) error {
	return c.GetClient().Get().Namespace(c.GetNamespace()).Resource("releases").Name(name).SubResource(subresource).
		VersionedParams(options, scheme.ParameterCodec).Do(ctx).Into(result)
}
