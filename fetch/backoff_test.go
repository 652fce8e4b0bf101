// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
)

// busyHost serves an index at any path, unless it is told what to answer in its place.
type busyHost struct {
	*httptest.Server
	asked  atomic.Int32
	answer atomic.Pointer[func(http.ResponseWriter)]
}

func serveBusy(t *testing.T) *busyHost {
	h := &busyHost{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h.asked.Add(1)
		if answer := h.answer.Load(); answer != nil {
			(*answer)(w)
			return
		}
		_, _ = w.Write([]byte("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz], digest: " + strings.Repeat("ab", 32) + "}\n"))
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *busyHost) says(status int, retryAfter string) {
	answer := func(w http.ResponseWriter) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
	}
	h.answer.Store(&answer)
}

func (h *busyHost) want(path, secret string, age time.Duration) fetch.Want {
	want := helmWant(h.URL+"/"+path, secret, "web", "")
	want.MaxAge = age
	return want
}

// taken counts the requests since the last time.
func (h *busyHost) taken() int { return int(h.asked.Swap(0)) }

func TestBusyHostIsLeftAloneForLongerAndLonger(t *testing.T) {
	g := NewWithT(t)
	h, r := serveBusy(t), newRig(t, fetch.Options{})
	resolve := func(path string, age time.Duration) error {
		_, _, err := r.Resolve(t.Context(), h.want(path, "", age))
		return err
	}
	h.says(http.StatusTooManyRequests, "")
	first := r.clock.Now()
	var asked []time.Duration
	for range 20 * 60 / 5 { // every five seconds for twenty minutes
		g.Expect(errors.Is(resolve(fmt.Sprintf("repository-%d", len(asked)), time.Hour), fetch.ErrUnreachable)).To(BeTrue())
		if h.taken() > 0 {
			asked = append(asked, r.clock.Since(first))
		}
		r.clock.Step(5 * time.Second)
	}
	g.Expect(asked).To(Equal([]time.Duration{0, 15 * time.Second, 45 * time.Second, 105 * time.Second, 225 * time.Second,
		465 * time.Second, 765 * time.Second, 1065 * time.Second}), "whichever of its repositories is wanted")

	err := resolve("another", time.Hour)
	g.Expect(err).To(MatchError(And(ContainSubstring("takes no requests now: it is asked too often (status 429)"), ContainSubstring("/another"), Not(ContainSubstring("repository-")))))
	h.answer.Store(nil)
	g.Expect(resolve("another", 0)).To(Succeed(), "a person is not held off")
	g.Expect(resolve("second", time.Hour)).To(Succeed(), "it is well again")
	h.says(http.StatusTooManyRequests, "")
	g.Expect(resolve("third", time.Hour)).NotTo(Succeed())
	h.answer.Store(nil)
	r.clock.Step(15 * time.Second)
	g.Expect(resolve("third", time.Hour)).To(Succeed(), "and it begins with a short time")
}

func TestHostSaysHowLongItIsLeftAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		status     int
		retryAfter string
		want       time.Duration
	}{
		"seconds":             {http.StatusTooManyRequests, "120", 2 * time.Minute},
		"unavailable":         {http.StatusServiceUnavailable, "120", 2 * time.Minute},
		"less than our own":   {http.StatusTooManyRequests, "1", 15 * time.Second},
		"more than we follow": {http.StatusTooManyRequests, "86400", 10 * time.Minute},
		"nonsense":            {http.StatusTooManyRequests, "soon", 15 * time.Second},
		"a time":              {http.StatusTooManyRequests, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			h, r := serveBusy(t), newRig(t, fetch.Options{})
			h.says(tc.status, tc.retryAfter)
			_, _, err := r.Resolve(t.Context(), h.want("a", "", time.Hour))
			g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
			h.answer.Store(nil)
			r.clock.Step(tc.want - time.Second)
			_, _, err = r.Resolve(t.Context(), h.want("b", "", time.Hour))
			g.Expect(err).To(HaveOccurred())
			r.clock.Step(time.Second)
			_, _, err = r.Resolve(t.Context(), h.want("b", "", time.Hour))
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// TestBusyGitServerIsLeftAloneByAllReleases has a server that is asked too often while many
// Releases of one repository look at it, or fetch from it.
func TestBusyGitServerIsLeftAloneByAllReleases(t *testing.T) {
	for _, request := range []string{"info/refs", "git-upload-pack"} {
		t.Run(request, func(t *testing.T) {
			const releases = 20
			g := NewWithT(t)
			want, recorder, _ := repository(t, releases)
			server := want(0).Source.(*sourcev1alpha1.GitRepository).Spec.URL
			var busy atomic.Bool
			busy.Store(true)
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if busy.Load() && strings.HasSuffix(r.URL.Path, request) {
					w.Header().Set("Retry-After", "60")
					recorder.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })).ServeHTTP(w, r)
					return
				}
				to, err := url.Parse(server)
				g.Expect(err).NotTo(HaveOccurred())
				httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host}).ServeHTTP(w, r)
			}))
			t.Cleanup(front.Close)
			r := newRig(t, fetch.Options{})
			all := func() (errs []error) {
				for i := range releases {
					w := want(i)
					w.Source.(*sourcev1alpha1.GitRepository).Spec.URL = front.URL + "/app.git"
					w.MaxAge = time.Hour
					_, err := r.get(t, w)
					errs = append(errs, err)
				}
				return errs
			}
			for range 11 { // five seconds apart
				for _, err := range all() {
					g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
				}
				r.clock.Step(5 * time.Second)
			}
			g.Expect(recorder.Count(request)).To(Equal(1), "within the minute that it asks for")
			busy.Store(false)
			r.clock.Step(5 * time.Second)
			g.Expect(all()).To(HaveEach(BeNil()))
			g.Expect(recorder.Count("git-upload-pack")).To(Equal(1 + strings.Count(request, "upload-pack")))
		})
	}
}

func TestWhatIsNoFaultOfTheHost(t *testing.T) {
	g := NewWithT(t)
	h := serveBusy(t)
	all := secrets{"a": {"username": "u", "password": "one"}, "b": {"username": "u", "password": "two"}}
	r := newRig(t, fetch.Options{Secrets: all})
	resolve := func(path, secret string) error {
		_, _, err := r.Resolve(t.Context(), h.want(path, secret, time.Hour))
		return err
	}
	for _, status := range []int{http.StatusNotFound, http.StatusInternalServerError, http.StatusForbidden, http.StatusServiceUnavailable} {
		h.says(status, "")
		g.Expect(resolve(fmt.Sprintf("bad-%d", status), "")).NotTo(Succeed())
		h.answer.Store(nil)
		g.Expect(resolve(fmt.Sprintf("good-%d", status), "")).To(Succeed(), "one repository is no other one")
	}
	h.says(http.StatusTooManyRequests, "")
	g.Expect(resolve("x", "a")).NotTo(Succeed())
	h.answer.Store(nil)
	g.Expect(resolve("y", "a")).NotTo(Succeed())
	g.Expect(resolve("y", "b")).To(Succeed(), "who is asked too often is one account")
}

func TestHostThatIsGone(t *testing.T) {
	g := NewWithT(t)
	h, r := serveBusy(t), newRig(t, fetch.Options{})
	h.Close()
	_, _, err := r.Resolve(t.Context(), h.want("a", "", time.Hour))
	g.Expect(err).To(MatchError(ContainSubstring("connection refused")))
	_, _, err = r.Resolve(t.Context(), h.want("b", "", time.Hour))
	g.Expect(err).To(MatchError(And(ContainSubstring("takes no requests now"), ContainSubstring("connection refused"))))
	g.Expect(r.Stats().Questions).To(Equal(int64(1)))
}

// TestFailuresAtOnceCountAsOne has many operations fail that began together.
func TestFailuresAtOnceCountAsOne(t *testing.T) {
	g := NewWithT(t)
	h, r := serveBusy(t), newRig(t, fetch.Options{MaxConcurrent: 16})
	arrived, proceed := make(chan struct{}, 8), make(chan struct{})
	answer := func(w http.ResponseWriter) {
		arrived <- struct{}{}
		<-proceed
		r.clock.Step(time.Millisecond)
		w.WriteHeader(http.StatusTooManyRequests)
	}
	h.answer.Store(&answer)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { _, _, _ = r.Resolve(t.Context(), h.want(fmt.Sprint(i), "", time.Hour)) })
	}
	for range 8 {
		<-arrived
	}
	close(proceed)
	wg.Wait()
	h.answer.Store(nil)
	r.clock.Step(15 * time.Second)
	_, _, err := r.Resolve(t.Context(), h.want("later", "", time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
}
