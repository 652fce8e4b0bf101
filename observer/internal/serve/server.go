// SPDX-License-Identifier: Apache-2.0

// Package serve is the HTTP side of convoy-observer: GET /preview/, /diff/, /health/ and
// /history/ + {namespace}/{name}. It answers with typed objects of core/v1alpha1, and with
// metav1.Status where it fails. Authorization is the apiserver's, which is the only one
// that may ask.
package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/observer"
)

// answerTimeout is how long an answer may take; it is below the minute at which the API
// server in front gives up, so that people get the cause.
const answerTimeout = 45 * time.Second

// Reporter judges the live objects of a Release.
type Reporter interface {
	Report(ctx context.Context, release *corev1alpha1.Release) (*corev1alpha1.ReleaseHealth, error)
}

// Server answers the four requests.
type Server struct {
	Host    observer.Host
	Desired *desired.Resolver
	Health  Reporter
}

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /preview/{namespace}/{name}", s.answer("ReleasePreview", []string{"revision"}, s.preview))
	mux.Handle("GET /diff/{namespace}/{name}", s.answer("ReleaseDiff", []string{"from", "to"}, s.diff))
	mux.Handle("GET /health/{namespace}/{name}", s.answer("ReleaseHealth", nil, s.health))
	mux.Handle("GET /history/{namespace}/{name}", s.answer("ReleaseHistory", []string{"id"}, s.history))
	return mux
}

// query is the query string of a request, every name known and given once.
type query map[string]string

// reply is a typed object with the metadata of the Release.
type reply interface {
	runtime.Object
	metav1.Object
}

type answerer func(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error)

func (s *Server) answer(kind string, allowed []string, answer answerer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), answerTimeout)
		defer cancel()
		object, err := s.ask(ctx, req, allowed, answer)
		if err != nil {
			writeError(ctx, w, kind, err)
			return
		}
		object.GetObjectKind().SetGroupVersionKind(corev1alpha1.SchemeGroupVersion.WithKind(kind))
		object.SetNamespace(req.PathValue("namespace"))
		object.SetName(req.PathValue("name"))
		writeJSON(ctx, w, http.StatusOK, object)
	})
}

func (s *Server) ask(ctx context.Context, req *http.Request, allowed []string, answer answerer) (reply, error) {
	q, err := parseQuery(req.URL.Query(), allowed)
	if err != nil {
		return nil, err
	}
	release, err := s.Host.Releases.Releases(req.PathValue("namespace")).Get(req.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return answer(ctx, release.DeepCopy(), q)
}

func parseQuery(values map[string][]string, allowed []string) (query, error) {
	q := query{}
	for name, given := range values {
		if len(given) > 1 {
			return nil, apierrors.NewBadRequest("query parameter " + name + " is given more than once")
		}
		known := false
		for _, one := range allowed {
			known = known || one == name
		}
		if !known {
			return nil, apierrors.NewBadRequest("unknown query parameter " + name)
		}
		q[name] = given[0]
	}
	return q, nil
}

func writeJSON(ctx context.Context, w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(object); err != nil {
		klog.FromContext(ctx).V(2).Info("answer not written", "err", err)
	}
}
