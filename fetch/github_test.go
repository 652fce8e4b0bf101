// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func appWant(url string) fetch.Want {
	want := gitWant(url, "app", corev1alpha1.GitSource{})
	want.Source.(*sourcev1alpha1.GitRepository).Spec.Provider = sourcev1alpha1.GitProviderGitHub
	return want
}

func TestGitHubApp(t *testing.T) {
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Commit(map[string]string{"a.yaml": "a"})
	all := secrets{}
	var logs bytes.Buffer
	var mu sync.Mutex
	r := newRig(t, fetch.Options{Secrets: all})
	api := testsource.ServeGitHub(t, r.clock.Now)
	server, recorder := testsource.ServeGit(t, root, true)
	server.Config.ErrorLog = testsource.Quiet()
	recorder.Allow(api.Allow, "")
	all["app"] = map[string]string{"githubAppID": "12", "githubAppInstallationID": "34\n", "githubAppPrivateKey": api.PrivateKey, "githubAppBaseURL": api.URL + "/api/v3/",
		"ca.crt": string(testsource.Certificate(server)) + string(testsource.Certificate(api.Server))}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(10), textlogger.Output(lockedWriter{&mu, &logs})))
	get := func(want fetch.Want) error {
		ctx := klog.NewContext(t.Context(), logger)
		revision, _, err := r.Resolve(ctx, want)
		if err == nil {
			_, err = r.Fetch(ctx, want, revision)
		}
		return err
	}
	want := appWant(server.URL + "/app.git")

	g := NewWithT(t)
	g.Expect(get(want)).To(Succeed())
	repo.Commit(map[string]string{"a.yaml": "b"})
	g.Expect(get(want)).To(Succeed())
	g.Expect(api.Tokens()).To(Equal(1), "a token is used as long as it lasts")
	r.clock.Step(54 * time.Minute)
	g.Expect(get(want)).To(Succeed())
	g.Expect(api.Tokens()).To(Equal(1))
	r.clock.Step(2 * time.Minute)
	g.Expect(get(want)).To(Succeed())
	g.Expect(api.Tokens()).To(Equal(2), "shortly before its end it is not used any more")

	api.Revoke()
	err := get(want)
	g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "%v", err)
	g.Expect(get(want)).To(Succeed(), "a token that is refused is not kept")
	g.Expect(api.Tokens()).To(Equal(3))

	for _, tc := range []struct {
		name     string
		change   map[string]string
		status   int
		header   map[string]string
		want     error
		wantText string
	}{
		{name: "no id", change: map[string]string{"githubAppID": ""}, want: fetch.ErrSecret, wantText: "no key githubAppID"},
		{name: "no installation", change: map[string]string{"githubAppInstallationID": ""}, want: fetch.ErrSecret, wantText: "no key githubAppInstallationID"},
		{name: "odd installation", change: map[string]string{"githubAppInstallationID": "34/../1"}, want: fetch.ErrSecret, wantText: "is no number"},
		{name: "no key", change: map[string]string{"githubAppPrivateKey": ""}, want: fetch.ErrSecret, wantText: "no key githubAppPrivateKey"},
		{name: "odd key", change: map[string]string{"githubAppPrivateKey": "canary"}, want: fetch.ErrSecret, wantText: "no RSA private key"},
		{name: "odd address", change: map[string]string{"githubAppBaseURL": "http://canary"}, want: fetch.ErrSecret, wantText: "no https URL"},
		{name: "another App", change: map[string]string{"githubAppID": "13"}, want: fetch.ErrUnauthorized, wantText: "do not belong together"},
		{name: "another installation", change: map[string]string{"githubAppInstallationID": "35"}, want: fetch.ErrUnauthorized, wantText: "knows no installation"},
		{name: "another clock", change: map[string]string{"x": "2"}, status: http.StatusUnauthorized, header: map[string]string{"Date": "Wed, 31 Dec 2025 23:00:00 GMT"}, want: fetch.ErrUnauthorized, wantText: "its clock and this machine's are more than 1m0s apart"},
		{name: "asked too often", change: map[string]string{"x": "3"}, status: http.StatusForbidden, header: map[string]string{"X-RateLimit-Remaining": "0"}, want: fetch.ErrUnreachable, wantText: "asked too often"},
		{name: "asked too fast", change: map[string]string{"x": "4"}, status: http.StatusForbidden, header: map[string]string{"Retry-After": "60"}, want: fetch.ErrUnreachable, wantText: "asked too often"},
		{name: "asked too often, newer", change: map[string]string{"x": "5"}, status: http.StatusTooManyRequests, want: fetch.ErrUnreachable, wantText: "asked too often"},
		{name: "suspended", change: map[string]string{"x": "6"}, status: http.StatusForbidden, header: map[string]string{"X-RateLimit-Remaining": "4999"}, want: fetch.ErrUnauthorized, wantText: "may be suspended"},
		{name: "failure", change: map[string]string{"x": "1"}, status: http.StatusBadGateway, want: fetch.ErrUnreachable, wantText: "status 502"},
		{name: "nobody there", change: map[string]string{"githubAppBaseURL": "https://nobody.invalid/api/v3"}, want: fetch.ErrUnreachable, wantText: "nobody.invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			api.Status, api.Header = tc.status, tc.header
			defer func() { api.Status, api.Header = 0, nil }()
			before := all["app"]
			defer func() { all["app"] = before }()
			all["app"] = maps.Clone(before)
			maps.Copy(all["app"], tc.change)
			err := get(want)
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary")), Not(ContainSubstring("Bearer"))))
		})
	}
	t.Run("no Secret", func(t *testing.T) {
		g := NewWithT(t)
		without := appWant(server.URL + "/app.git")
		without.Source.(*sourcev1alpha1.GitRepository).Spec.SecretRef = nil
		err := get(without)
		g.Expect(errors.Is(err, fetch.ErrInvalid)).To(BeTrue(), "%v", err)
	})
	t.Run("without TLS", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(get(appWant("http://host.test/app.git"))).To(MatchError(ContainSubstring("needs an https url")))
	})
	t.Run("the App's keys with another provider", func(t *testing.T) {
		g := NewWithT(t)
		err := get(gitWant(server.URL+"/app.git", "app", corev1alpha1.GitSource{}))
		g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "%v", err)
	})
	t.Run("many at once", func(t *testing.T) {
		g := NewWithT(t)
		before := api.Tokens()
		r.clock.Step(2 * time.Hour)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { g.Expect(get(want)).To(Succeed()) })
		}
		all.Wait()
		g.Expect(api.Tokens()).To(Equal(before + 1))
	})
	mu.Lock()
	defer mu.Unlock()
	g.Expect(logs.String()).To(ContainSubstring("Fetching content"))
	g.Expect(strings.Contains(logs.String(), "canary") || strings.Contains(logs.String(), "Bearer")).To(BeFalse(), "no token in a log")
}

type lockedWriter struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
