// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// SubresourceRequest is the value of the testing.GenericAction that a request for a
// subresource with query parameters is recorded as. Its answer is empty unless a reactor
// gives one.
type SubresourceRequest struct {
	// Name of the Release.
	Name string
	// Options are the query parameters, such as *corev1alpha1.ReleaseSyncOptions.
	Options runtime.Object
}

func (c *fakeReleases) invoke(verb, subresource, name string, options, empty runtime.Object) (runtime.Object, error) {
	return c.Fake.Invokes(testing.GenericActionImpl{
		ActionImpl: testing.ActionImpl{Namespace: c.Namespace(), Verb: verb, Resource: c.Resource(), Subresource: subresource},
		Value:      SubresourceRequest{Name: name, Options: options},
	}, empty)
}

// as gives the answer of a reactor, which may have none beside an error.
func as[T runtime.Object](answer runtime.Object, err error) (T, error) {
	typed, _ := answer.(T)
	return typed, err
}

// Sync records the request.
func (c *fakeReleases) Sync(_ context.Context, name string, options corev1alpha1.ReleaseSyncOptions) (*corev1alpha1.Release, error) {
	return as[*corev1alpha1.Release](c.invoke("create", "sync", name, &options, &corev1alpha1.Release{}))
}

// Preview records the request.
func (c *fakeReleases) Preview(_ context.Context, name string, options corev1alpha1.ReleasePreviewOptions) (*corev1alpha1.ReleasePreview, error) {
	return as[*corev1alpha1.ReleasePreview](c.invoke("get", "preview", name, &options, &corev1alpha1.ReleasePreview{}))
}

// Diff records the request.
func (c *fakeReleases) Diff(_ context.Context, name string, options corev1alpha1.ReleaseDiffOptions) (*corev1alpha1.ReleaseDiff, error) {
	return as[*corev1alpha1.ReleaseDiff](c.invoke("get", "diff", name, &options, &corev1alpha1.ReleaseDiff{}))
}

// Health records the request.
func (c *fakeReleases) Health(_ context.Context, name string, options corev1alpha1.ReleaseHealthOptions) (*corev1alpha1.ReleaseHealth, error) {
	return as[*corev1alpha1.ReleaseHealth](c.invoke("get", "health", name, &options, &corev1alpha1.ReleaseHealth{}))
}

// History records the request.
func (c *fakeReleases) History(_ context.Context, name string, options corev1alpha1.ReleaseHistoryOptions) (*corev1alpha1.ReleaseHistory, error) {
	return as[*corev1alpha1.ReleaseHistory](c.invoke("get", "history", name, &options, &corev1alpha1.ReleaseHistory{}))
}

// Values records the request.
func (c *fakeReleases) Values(_ context.Context, name string, options corev1alpha1.ReleaseValuesOptions) (*corev1alpha1.ReleaseValues, error) {
	return as[*corev1alpha1.ReleaseValues](c.invoke("get", "values", name, &options, &corev1alpha1.ReleaseValues{}))
}
