// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/yaml"

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

// ProducesMIMETypes are those that the observer answers in.
func (*observedREST) ProducesMIMETypes(string) []string {
	return []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, "text/plain"}
}

// ProducesObject is the typed answer.
func (o *observedREST) ProducesObject(string) any { return o.answer }

// Connect finds the Release and hands the request to the observer.
func (o *observedREST) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		responder := responder
		if output := req.URL.Query().Get("output"); output != "" {
			responder = &statusWriter{Responder: responder, w: w, yaml: output == "yaml"}
		}
		handler, err := o.handler(ctx, name, responder)
		if err != nil {
			responder.Error(err)
			return
		}
		handler.ServeHTTP(w, req)
	}), nil
}

func (o *observedREST) handler(ctx context.Context, name string, responder rest.Responder) (http.Handler, error) {
	if _, err := o.releases.Get(ctx, name, &metav1.GetOptions{}); err != nil {
		return nil, err
	}
	return o.observer.Handler(proxy.Request{
		Subresource: o.subresource,
		Namespace:   genericapirequest.NamespaceValue(ctx),
		Name:        name,
	}, responder)
}

// statusWriter writes errors where the query says in what format the answer is wanted, which
// overrides the Accept header, by which the library writes them. For people, too, they are
// JSON: kubectl makes its own words of it.
type statusWriter struct {
	rest.Responder
	w    http.ResponseWriter
	yaml bool
}

// Error writes an error.
func (s *statusWriter) Error(err error) {
	status := responsewriters.ErrorToAPIStatus(err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		s.w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	if !s.yaml {
		responsewriters.WriteRawJSON(int(status.Code), status, s.w)
		return
	}
	body, err := yaml.Marshal(status)
	if err != nil {
		s.Responder.Error(err)
		return
	}
	s.w.Header().Set("Content-Type", runtime.ContentTypeYAML)
	s.w.WriteHeader(int(status.Code))
	_, _ = s.w.Write(body) // of a client that has gone, nobody needs to know
}
