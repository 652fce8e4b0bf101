// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/proxy"
)

// observedREST is a subresource that the observer answers: GET …/preview and the like. The
// request reaches the observer only after it was authorized and the Release was found.
type observedREST struct {
	subresource string
	releases    Reader
	observer    *proxy.Proxy
	newOptions  func() runtime.Object
	answer      any // an empty value of the type of the answer, for the OpenAPI document
}

var (
	_ rest.Connecter       = &observedREST{}
	_ rest.StorageMetadata = &observedREST{}
)

// observed gives the five subresources.
func observed(releases Reader, observer *proxy.Proxy) []*observedREST {
	return []*observedREST{
		{
			subresource: "preview", releases: releases, observer: observer,
			newOptions: func() runtime.Object { return &corev1alpha1.ReleasePreviewOptions{} },
			answer:     corev1alpha1.ReleasePreview{},
		},
		{
			subresource: "diff", releases: releases, observer: observer,
			newOptions: func() runtime.Object { return &corev1alpha1.ReleaseDiffOptions{} },
			answer:     corev1alpha1.ReleaseDiff{},
		},
		{
			subresource: "health", releases: releases, observer: observer,
			newOptions: func() runtime.Object { return &corev1alpha1.ReleaseHealthOptions{} },
			answer:     corev1alpha1.ReleaseHealth{},
		},
		{
			subresource: "history", releases: releases, observer: observer,
			newOptions: func() runtime.Object { return &corev1alpha1.ReleaseHistoryOptions{} },
			answer:     corev1alpha1.ReleaseHistory{},
		},
		{
			subresource: "values", releases: releases, observer: observer,
			newOptions: func() runtime.Object { return &corev1alpha1.ReleaseValuesOptions{} },
			answer:     corev1alpha1.ReleaseValues{},
		},
	}
}

// New gives the options: they are what admission gets to see of a CONNECT.
func (o *observedREST) New() runtime.Object { return o.newOptions() }

// Destroy does nothing.
func (*observedREST) Destroy() {}

// NewConnectOptions gives what the query is decoded into, for admission; the observer gets
// the query itself. There are no subpaths.
func (o *observedREST) NewConnectOptions() (runtime.Object, bool, string) {
	return o.newOptions(), false, ""
}

// ConnectMethods is GET only.
func (*observedREST) ConnectMethods() []string { return []string{http.MethodGet} }

// ProducesMIMETypes is JSON only.
func (*observedREST) ProducesMIMETypes(string) []string { return []string{runtime.ContentTypeJSON} }

// ProducesObject is the typed answer.
func (o *observedREST) ProducesObject(string) any { return o.answer }

// Connect finds the Release and hands the request to the observer.
func (o *observedREST) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	if _, err := o.releases.Get(ctx, name, &metav1.GetOptions{}); err != nil {
		return nil, err
	}
	return o.observer.Handler(proxy.Request{
		Subresource: o.subresource,
		Namespace:   genericapirequest.NamespaceValue(ctx),
		Name:        name,
	}, responder)
}
