// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestClassify(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	onTheWay := func(err error) error { return &url.Error{Op: "Get", URL: "https://cluster.test", Err: err} }
	for _, test := range []struct {
		name  string
		given error
		want  error // nil: as it was
	}{
		{"nothing", nil, nil},
		{"401", apierrors.NewUnauthorized("no"), ErrUnauthenticated},
		{"403", apierrors.NewForbidden(resource, "c", errors.New("no")), ErrForbidden},
		{"wrapped 403", fmt.Errorf("applying: %w", apierrors.NewForbidden(resource, "c", errors.New("no"))), ErrForbidden},
		{"404", apierrors.NewNotFound(resource, "c"), nil},
		{"409", apierrors.NewConflict(resource, "c", errors.New("no")), nil},
		{"429", apierrors.NewTooManyRequests("later", 1), nil},
		{"500", apierrors.NewInternalError(errors.New("no")), nil},
		{"502", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusBadGateway}}, ErrUnreachable},
		{"503", apierrors.NewServiceUnavailable("starting"), ErrUnreachable},
		{"504", apierrors.NewTimeoutError("slow", 0), ErrUnreachable},
		{"refused", onTheWay(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), ErrUnreachable},
		{"closed", onTheWay(errors.New("EOF")), ErrUnreachable},
		{"broken while reading", fmt.Errorf("reading: %w", &net.OpError{Op: "read", Err: errors.New("reset")}), ErrUnreachable},
		{"too slow", context.DeadlineExceeded, ErrUnreachable},
		{"given up", onTheWay(context.Canceled), nil},
		{"read-only", onTheWay(fmt.Errorf("%w: POST", ErrReadOnly)), nil},
		{"has a class", fmt.Errorf("%w: %w", ErrInvalid, apierrors.NewUnauthorized("no")), nil},
		{"group unavailable", &GroupUnavailableError{Err: apierrors.NewServiceUnavailable("no")}, nil},
		{"something else", errors.New("something else"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got := Classify(test.given)
			if test.want == nil {
				g.Expect(got == test.given).To(BeTrue(), "%v", got)
				return
			}
			g.Expect(got).To(MatchError(test.want))
			g.Expect(errors.Is(got, test.given)).To(BeTrue(), "the error itself is kept")
			g.Expect(Classify(got)).To(BeIdenticalTo(got))
		})
	}
}

func TestClassifyAnOutage(t *testing.T) {
	g := NewWithT(t)
	outage := &OutageError{Err: errors.New("no answer")}
	g.Expect(Classify(&url.Error{Op: "Patch", URL: "https://cluster.test/api/v1/namespaces/n", Err: outage})).To(BeIdenticalTo(outage))
	wrapped := fmt.Errorf("reading: %w", outage)
	g.Expect(Classify(wrapped)).To(BeIdenticalTo(wrapped))
	g.Expect(Reason(outage)).To(Equal(corev1alpha1.ReasonTargetUnreachable))
}

// Wherever a request fails, its error must not hold what is in the credentials.
func TestCredentialsAreInNoError(t *testing.T) {
	var elsewhere *httptest.Server
	for _, test := range []struct {
		name   string
		handle http.HandlerFunc
		want   string
	}{
		{"401", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, ""},
		{"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, ""},
		{"connection closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ""},
		{"not now", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, ""},
		{"redirect to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/login?token="+canary, http.StatusTemporaryRedirect)
		}, "the server answers with a redirect (307 Temporary Redirect)"},
		{"redirect to itself", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login?token="+canary, http.StatusFound)
		}, "the server answers with a redirect (302 Found)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			strayed := make(chan *http.Request, 8)
			elsewhere = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { strayed <- r }))
			t.Cleanup(elsewhere.Close)
			f := newFakeCluster(t)
			f.handle = test.handle
			connection, _ := connect(t, f)
			configMaps := connection.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})

			_, getErr := configMaps.Get(t.Context(), "c", metav1.GetOptions{})
			_, probeErr := connection.Probe(t.Context())
			_, _, capabilitiesErr := connection.Capabilities(t.Context())

			for _, err := range []error{getErr, probeErr, capabilitiesErr} {
				g.Expect(err).To(HaveOccurred())
				g.Expect(err).To(MatchError(ContainSubstring(test.want)))
				g.Expect(fmt.Sprintf("%v %+v %#v", err, err, err)).NotTo(ContainSubstring(canary))
				g.Expect(fmt.Sprintf("%+v", Classify(err))).NotTo(ContainSubstring(canary))
			}
			g.Expect(strayed).To(BeEmpty(), "no request may reach another host")
		})
	}
}

func TestConfigHoldsNoCredentials(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connection, _ := connect(t, f)

	config := connection.Config()

	g.Expect(config.BearerToken).To(BeEmpty())
	g.Expect(config.TLSClientConfig).To(Equal(rest.TLSClientConfig{}))
	g.Expect(config.Username + config.Password).To(BeEmpty())
	config.Host = "https://changed.test"
	g.Expect(connection.Server()).To(Equal(f.URL), "the configuration is the caller's to change")
}
