// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/fake"
)

func TestOptions(t *testing.T) {
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"defaults", nil, ""},
		{"no shards", []string{"--shards=0"}, "--shards"},
		{"a slash in the installation", []string{"--installation=a/b"}, "--installation"},
		{"no workers", []string{"--workers=0"}, "--workers"},
		{"a resync too short", []string{"--resync=1ms"}, "--resync"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			options := NewOptions()
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			options.AddFlags(flags)
			g.Expect(flags.Parse(c.args)).To(Succeed())
			err := errors.Join(options.Validate()...)
			if c.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func TestInstallationIsTheHostsUIDUnlessGiven(t *testing.T) {
	g := NewWithT(t)
	client := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "the-uid"}})
	g.Expect(Installation(t.Context(), client, "")).To(Equal("the-uid"))
	g.Expect(Installation(t.Context(), client, "mine")).To(Equal("mine"))
	_, err := Installation(t.Context(), fake.NewClientset(), "")
	g.Expect(err).To(MatchError(ContainSubstring("--installation")))
}

func TestIdentityIsUniqueAndADNSName(t *testing.T) {
	g := NewWithT(t)
	g.Expect(validation.IsDNS1123Subdomain(Identity())).To(BeEmpty())
	g.Expect(Identity()).NotTo(Equal(Identity()))
}

func TestReadyNamesWhatIsNot(t *testing.T) {
	g := NewWithT(t)
	endpoints := NewEndpoints("", prometheus.NewRegistry())
	failing := errors.New("not yet")
	endpoints.AddReadyCheck("cache", func(context.Context) error { return failing })
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		endpoints.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	g.Expect(get("/livez").Code).To(Equal(http.StatusOK))
	g.Expect(get("/readyz").Code).To(Equal(http.StatusServiceUnavailable))
	g.Expect(get("/readyz").Body.String()).To(ContainSubstring("cache: not yet"))
	failing = nil
	g.Expect(get("/readyz").Code).To(Equal(http.StatusOK))
}

func TestRunAll(t *testing.T) {
	wait := func(ended *bool) func(context.Context) error {
		return func(ctx context.Context) error { <-ctx.Done(); *ended = true; return nil }
	}
	t.Run("ends all parts when one fails", func(t *testing.T) {
		g := NewWithT(t)
		ended, boom := false, errors.New("boom")
		err := RunAll(t.Context(), time.Minute, Runnable{"waits", wait(&ended)}, Runnable{"fails", func(context.Context) error { return boom }})
		g.Expect(err).To(MatchError(boom))
		g.Expect(err).To(MatchError(ContainSubstring("fails")))
		g.Expect(ended).To(BeTrue())
	})
	t.Run("calls a part that ends by itself a failure", func(t *testing.T) {
		g := NewWithT(t)
		err := RunAll(t.Context(), time.Minute, Runnable{"short", func(context.Context) error { return nil }})
		g.Expect(err).To(MatchError("short: ended by itself"))
	})
	t.Run("ends well when it is told to", func(t *testing.T) {
		g := NewWithT(t)
		ended := false
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g.Expect(RunAll(ctx, time.Minute, Runnable{"waits", wait(&ended)})).To(Succeed())
		g.Expect(ended).To(BeTrue())
	})
	t.Run("does not wait for ever", func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stuck := make(chan struct{})
		defer close(stuck)
		err := RunAll(ctx, time.Millisecond, Runnable{"stuck", func(context.Context) error { <-stuck; return nil }})
		g.Expect(err).To(MatchError(ContainSubstring("did not end")))
	})
}
