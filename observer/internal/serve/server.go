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
	ofReports := newRoom(unreadReports, 0)
	renders, reports, trees := newGate(concurrentRenders, newRoom(unreadRenders, 0)), newGate(concurrentReports, ofReports), newGate(concurrentTrees, ofReports)
	always := func(query) (*gate, int64) { return renders, 1 }
	h := &handler{Server: s, rates: newRates()}
	mux := http.NewServeMux()
	for path, e := range map[string]endpoint{
		"preview": {"ReleasePreview", []string{"revision"}, []string{"force"}, nil, always, s.preview},
		"diff":    {"ReleaseDiff", []string{"from", "to"}, nil, query{"from": sideLive, "to": sideDesired}, always, s.diff},
		"health": {"ReleaseHealth", nil, []string{"tree"}, nil, func(q query) (*gate, int64) {
			if q.flag("tree") {
				return trees, 1
			}
			return reports, 1
		}, s.health},
		"history": {"ReleaseHistory", []string{"id"}, nil, nil, func(q query) (*gate, int64) {
			if q["id"] != "" {
				return renders, 1
			}
			return reports, 0
		}, s.history},
		"values": {"ReleaseValues", []string{"revision"}, nil, nil, always, s.values},
	} {
		mux.Handle("GET /"+path+"/{namespace}/{name}", h.handle(e))
	}
	return mux
}

// endpoint is one kind of question.
type endpoint struct {
	// kind of the answers.
	kind string
	// parameters of the query string, besides output, and those that are true or false.
	parameters, flags []string
	// defaults are what parameters mean when they are not given, unless that is the empty text.
	defaults query
	// gate of the answer to a query, and how many places in it the answer takes.
	gate func(q query) (*gate, int64)
	// answer gives the answer.
	answer func(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error)
}

// query is the query string of a request, every name known and given once. What means the same
// is the same: flags are there when they are true, and what goes without saying is not said.
type query map[string]string

// flag tells whether a parameter that is true or false is true.
func (q query) flag(name string) bool { return q[name] != "" }

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
		gone, err := h.requests.enter(caller.UserName)
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
	q, err := parseQuery(req.URL.RawQuery, slices.Concat([]string{"output"}, e.parameters, e.flags))
	if err != nil {
		return nil, "", nil, err
	}
	wanted, err := formatOf(req.Header.Values("Accept"), q["output"], e.kind)
	if err != nil {
		return nil, "", nil, err
	}
	delete(q, "output")
	if err := q.simplify(e.flags, e.defaults); err != nil {
		return nil, "", nil, err
	}
	name := types.NamespacedName{Namespace: req.PathValue("namespace"), Name: req.PathValue("name")}
	// What does not exist costs nothing more.
	release, err := h.Host.Release(ctx, name)
	if err != nil {
		return nil, "", nil, err
	}
	asked := question{kind: e.kind, release: name, query: q.encode()}
	user := caller.UserName
	if h.AsCaller {
		if user == "" {
			return nil, "", nil, apierrors.NewUnauthorized("objects of targets are read as who asks, and nothing says who does: convoy-apiserver tells it over mutual TLS")
		}
		asked.reader = identityOf(caller)
		ctx = asCaller(ctx, caller)
	}
	gate, places := e.gate(q)
	body, leave, err := h.questions.ask(ctx, asked, asking{
		who:    asker{user: user, cluster: types.NamespacedName{Namespace: name.Namespace, Name: release.Spec.ClusterRef.Name}},
		format: wanted, gate: gate, places: places,
		admit: func() error { return h.rates.admit(user) },
		work: func(ctx context.Context, formats []format) (map[format]written, error) {
			return h.make(ctx, e, name, q, formats)
		},
	})
	return body, wanted, leave, err
}

// make makes an answer, now that it is its turn.
func (h *handler) make(ctx context.Context, e endpoint, name types.NamespacedName, q query, formats []format) (map[format]written, error) {
	release, err := h.Host.Release(ctx, name)
	if err != nil {
		return nil, err
	}
	object, err := e.answer(ctx, release.DeepCopy(), q)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(corev1alpha1.SchemeGroupVersion.WithKind(e.kind))
	object.SetNamespace(release.Namespace)
	object.SetName(release.Name)
	answers := map[format]written{}
	for _, one := range formats {
		body, err := one.encode(ctx, object)
		if err == nil && len(body) > maxAnswer {
			body, err = nil, tooLong()
		}
		answers[one] = written{body, err}
	}
	return answers, nil
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

// simplify brings what means the same to the same form. The error is that of a bad request.
func (q query) simplify(flags []string, defaults query) error {
	for _, name := range flags {
		text, given := q[name]
		if !given {
			continue
		}
		value, err := strconv.ParseBool(text)
		if err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("query parameter %q is neither true nor false", name))
		}
		if q[name] = "true"; !value {
			delete(q, name)
		}
	}
	maps.DeleteFunc(q, func(name, value string) bool { return value == "" || value == defaults[name] })
	return nil
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
