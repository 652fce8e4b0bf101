// SPDX-License-Identifier: Apache-2.0

// Package serve is the HTTP side of convoy-observer: GET /preview/, /diff/, /health/,
// /history/ and /values/ + {namespace}/{name}. It answers with typed objects of
// core/v1alpha1, and with metav1.Status where it fails. Authorization is the apiserver's,
// which is the only one that may ask.
package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/observer"
	"kumodo.io/convoy/render"
)

// answerTimeout is how long an answer may take; it is below the minute at which the API
// server in front gives up, so that people get the cause.
const answerTimeout = 45 * time.Second

// Reporter judges the live objects of a Release.
type Reporter interface {
	Report(ctx context.Context, release *corev1alpha1.Release) (*corev1alpha1.ReleaseHealth, error)
}

// Renders finds renders; a *desired.Resolver does.
type Renders interface {
	Current(ctx context.Context, release *corev1alpha1.Release, target render.Cluster) (*desired.Desired, error)
	At(ctx context.Context, release *corev1alpha1.Release, target render.Cluster, revision string) (*desired.Desired, error)
	Past(ctx context.Context, release *corev1alpha1.Release, target render.Cluster, revision, digest string) (*desired.Desired, error)
	Stored(ctx context.Context, release *corev1alpha1.Release, digest string) (*desired.Desired, error)
}

// Explainer tells the values of charts; a *desired.Resolver does.
type Explainer interface {
	Values(ctx context.Context, release *corev1alpha1.Release, target render.Cluster, revision string) (*desired.Values, error)
}

// Server answers the five requests.
type Server struct {
	Host    observer.Host
	Desired Renders
	Health  Reporter
	Values  Explainer
}

// Handler returns the handler of all paths. What it works on at a time is bounded, whoever
// asks; see gate.
func (s *Server) Handler() http.Handler {
	renders, reports := newGate(concurrentRenders), newGate(concurrentReports)
	always := func(g *gate) func(query) *gate { return func(query) *gate { return g } }
	mux := http.NewServeMux()
	mux.Handle("GET /preview/{namespace}/{name}", s.handle(endpoint{"ReleasePreview", []string{"revision"}, always(renders), s.preview}))
	mux.Handle("GET /diff/{namespace}/{name}", s.handle(endpoint{"ReleaseDiff", []string{"from", "to"}, always(renders), s.diff}))
	mux.Handle("GET /health/{namespace}/{name}", s.handle(endpoint{"ReleaseHealth", nil, always(reports), s.health}))
	mux.Handle("GET /history/{namespace}/{name}", s.handle(endpoint{"ReleaseHistory", []string{"id"}, func(q query) *gate {
		if q["id"] == "" {
			return nil
		}
		return renders
	}, s.history}))
	mux.Handle("GET /values/{namespace}/{name}", s.handle(endpoint{"ReleaseValues", []string{"revision"}, always(renders), s.values}))
	return mux
}

// endpoint is one kind of question.
type endpoint struct {
	// kind of the answers.
	kind string
	// parameters of the query string.
	parameters []string
	// gate that the answer to a query has to pass; nil: none.
	gate func(q query) *gate
	// answer gives the answer.
	answer func(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error)
}

// query is the query string of a request, every name known and given once.
type query map[string]string

// reply is a typed object with the metadata of the Release.
type reply interface {
	runtime.Object
	metav1.Object
}

func (s *Server) handle(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), answerTimeout)
		defer cancel()
		body, err := s.ask(ctx, req, e)
		if err != nil {
			writeError(ctx, w, e.kind, err)
			return
		}
		write(ctx, w, http.StatusOK, body)
	})
}

// ask gives the JSON of an answer. Nothing else of it is held afterwards, however long the
// client takes to read.
func (s *Server) ask(ctx context.Context, req *http.Request, e endpoint) ([]byte, error) {
	q, err := parseQuery(req.URL.RawQuery, e.parameters)
	if err != nil {
		return nil, err
	}
	release, err := s.Host.Releases.Releases(req.PathValue("namespace")).Get(req.PathValue("name"))
	if err != nil {
		return nil, err
	}
	leave, err := e.gate(q).enter(ctx, types.NamespacedName{Namespace: release.Namespace, Name: release.Spec.ClusterRef.Name})
	if err != nil {
		return nil, err
	}
	defer leave()
	object, err := e.answer(ctx, release.DeepCopy(), q)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(corev1alpha1.SchemeGroupVersion.WithKind(e.kind))
	object.SetNamespace(release.Namespace)
	object.SetName(release.Name)
	return json.Marshal(object)
}

// parseQuery reads a query string; what is unknown, twice there or not well formed is a bad
// request, lest somebody be answered a question that he did not ask.
func parseQuery(raw string, allowed []string) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, apierrors.NewBadRequest("the query string is not well formed")
	}
	q := query{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(allowed, name) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("unknown query parameter %q", name))
		}
		if len(values[name]) > 1 {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("query parameter %q is given more than once", name))
		}
		q[name] = values[name][0]
	}
	return q, nil
}

func write(ctx context.Context, w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if _, err := w.Write(body); err != nil {
		klog.FromContext(ctx).V(2).Info("Answer not written", "err", err)
	}
}
