// SPDX-License-Identifier: Apache-2.0

// Package serve is the HTTP side of convoy-observer: GET /preview/, /diff/, /health/,
// /history/ and /values/ + {namespace}/{name}. It answers with typed objects of
// core/v1alpha1, and with metav1.Status where it fails. Authorization is the apiserver's,
// which is the only one that may ask.
package serve

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/observer"
	"kumodo.io/convoy/render"
)

const (
	// answerTimeout is how long an answer may take; it is below the minute at which the API
	// server in front gives up, so that people get the cause.
	answerTimeout = 45 * time.Second
	// readTimeout is how long a client may take to read its answer.
	readTimeout = 30 * time.Second
	// maxAnswer is how many bytes an answer has at most: what convoy-apiserver passes on.
	maxAnswer = 64 << 20
)

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

// Rules finds the rules of health that hold for a Release; an *observer.Rules does.
type Rules interface {
	For(release *corev1alpha1.Release) (assessor *health.Assessor, version string)
}

// Server answers the five requests.
type Server struct {
	Host    observer.Host
	Desired Renders
	Health  Reporter
	Values  Explainer
	// Rules judge what objects of a Release own; nil: only what is built in does.
	Rules Rules
	// AsCaller has objects of targets read as whoever asks, in place of the Release's identity,
	// where convoy-apiserver says who that is: then nobody is shown what he may not read.
	AsCaller bool

	questions questions
}

// Handler returns the handler of all paths. What it works on and keeps is bounded, whoever
// asks; see gate, questions, rates and requests.
func (s *Server) Handler() http.Handler {
	renders, reports := newGate(concurrentRenders, unreadRenders), newGate(concurrentReports, unreadReports)
	always := func(query) bool { return true }
	h := &handler{Server: s, rates: newRates()}
	mux := http.NewServeMux()
	for path, e := range map[string]endpoint{
		"preview": {"ReleasePreview", []string{"revision", "force"}, renders, always, s.preview},
		"diff":    {"ReleaseDiff", []string{"from", "to"}, renders, always, s.diff},
		"health":  {"ReleaseHealth", []string{"tree"}, reports, always, s.health},
		"values":  {"ReleaseValues", []string{"revision"}, renders, always, s.values},
	} {
		mux.Handle("GET /"+path+"/{namespace}/{name}", h.handle(e))
	}
	past := func(q query) bool { return q["id"] != "" }
	whole := h.handle(endpoint{"ReleaseHistory", []string{"id"}, renders, always, s.history})
	listed := h.handle(endpoint{"ReleaseHistory", []string{"id"}, reports, past, s.history})
	mux.HandleFunc("GET /history/{namespace}/{name}", func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("id") != "" {
			whole.ServeHTTP(w, req)
			return
		}
		listed.ServeHTTP(w, req)
	})
	return mux
}

// endpoint is one kind of question.
type endpoint struct {
	// kind of the answers.
	kind string
	// parameters of the query string, besides output.
	parameters []string
	// gate of the answers.
	gate *gate
	// waits tells whether the answer to a query has to wait for a place in it.
	waits func(q query) bool
	// answer gives the answer.
	answer func(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error)
}

// query is the query string of a request, every name known and given once.
type query map[string]string

// flag reads a parameter that is true or false.
func (q query) flag(name string) (bool, error) {
	text, ok := q[name]
	if !ok {
		return false, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, apierrors.NewBadRequest(fmt.Sprintf("query parameter %q is neither true nor false", name))
	}
	return value, nil
}

// reply is a typed object with the metadata of the Release.
type reply interface {
	runtime.Object
	metav1.Object
}

// handler is a Server with what it counts.
type handler struct {
	*Server
	rates    *rates
	requests requests
}

func (h *handler) handle(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), answerTimeout)
		defer cancel()
		caller := callerOf(req)
		gone, err := h.requests.enter(nameOf(caller))
		if err != nil {
			writeError(ctx, w, e.kind, err)
			return
		}
		defer gone()
		body, format, leave, err := h.ask(ctx, req, e, caller)
		if err != nil {
			writeError(ctx, w, e.kind, err)
			return
		}
		defer leave()
		write(ctx, w, http.StatusOK, format.contentType(), body)
	})
}

// ask gives an answer as it is written. Nothing else of it is held afterwards, however long
// the client takes to read.
func (h *handler) ask(ctx context.Context, req *http.Request, e endpoint, caller rest.ImpersonationConfig) ([]byte, format, func(), error) {
	q, err := parseQuery(req.URL.RawQuery, append([]string{"output"}, e.parameters...))
	if err != nil {
		return nil, "", nil, err
	}
	format, err := formatOf(req.Header.Values("Accept"), q["output"], e.kind)
	if err != nil {
		return nil, "", nil, err
	}
	delete(q, "output")
	name := types.NamespacedName{Namespace: req.PathValue("namespace"), Name: req.PathValue("name")}
	// What does not exist costs nothing more.
	if _, err := h.Host.Releases.Releases(name.Namespace).Get(name.Name); err != nil {
		return nil, "", nil, err
	}
	asked := question{kind: e.kind, release: name, query: q.encode(), format: format}
	user := nameOf(caller)
	if h.AsCaller {
		if user == "" {
			return nil, "", nil, apierrors.NewUnauthorized("objects of targets are read as who asks, and nothing says who does: convoy-apiserver tells it over mutual TLS")
		}
		asked.reader = user
		ctx = asCaller(ctx, caller)
	}
	body, leave, err := h.questions.ask(ctx, asked, func() error { return h.rates.admit(user) },
		func(ctx context.Context, begin func()) ([]byte, func(), error) {
			return h.make(ctx, e, name, user, q, format, begin)
		})
	return body, format, leave, err
}

// make makes an answer when it is its turn.
func (h *handler) make(ctx context.Context, e endpoint, name types.NamespacedName, user string, q query, format format, begin func()) ([]byte, func(), error) {
	release, err := h.Host.Releases.Releases(name.Namespace).Get(name.Name)
	if err != nil {
		return nil, nil, err
	}
	if e.waits(q) {
		leave, err := e.gate.enter(ctx, asker{user: user, cluster: types.NamespacedName{Namespace: name.Namespace, Name: release.Spec.ClusterRef.Name}})
		if err != nil {
			return nil, nil, err
		}
		defer leave()
	}
	begin()
	if release, err = h.Host.Releases.Releases(name.Namespace).Get(name.Name); err != nil {
		return nil, nil, err
	}
	object, err := e.answer(ctx, release.DeepCopy(), q)
	if err != nil {
		return nil, nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(corev1alpha1.SchemeGroupVersion.WithKind(e.kind))
	object.SetNamespace(release.Namespace)
	object.SetName(release.Name)
	body, err := format.encode(object)
	if err != nil {
		return nil, nil, err
	}
	if len(body) > maxAnswer {
		return nil, nil, tooLong()
	}
	drop, err := e.gate.hold(ctx, user, len(body))
	return body, drop, err
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

// encode gives equal texts for equal queries only.
func (q query) encode() string {
	values := url.Values{}
	for name, value := range q {
		values.Set(name, value)
	}
	return values.Encode()
}

func write(ctx context.Context, w http.ResponseWriter, code int, contentType string, body []byte) {
	// A client that does not read ends here; one that does not support it is a test's.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(readTimeout))
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	if _, err := w.Write(body); err != nil {
		klog.FromContext(ctx).V(2).Info("Answer not written", "err", err)
	}
}
