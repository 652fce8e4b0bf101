// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// recordedSource is a source of some kind that can be shut.
type recordedSource struct {
	*testsource.Recorder
	want fetch.Want
	// question is in the paths of the requests that ask for what moves.
	question string
}

func (s recordedSource) shut() { s.Allow(func(*http.Request) bool { return false }, "") }
func (s recordedSource) open() { s.Allow(nil, "") }

func gitSource(t *testing.T) recordedSource {
	want, recorder, _ := repository(t, 1)
	return recordedSource{recorder, want(0), "info/refs"}
}

func helmSource(t *testing.T) recordedSource {
	chart := testsource.Chart(t, "web", "1.0.0")
	h := serveHelm(t, map[string][]byte{"index.yaml": []byte("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz]}\n"), "web.tgz": chart})
	return recordedSource{h.Recorder, helmWant(h.URL+"/charts", "", "web", "1.0.0"), "index.yaml"}
}

func ociSource(t *testing.T) recordedSource {
	registry := testsource.ServeOCI(t, false)
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "latest")
	registry.Reset()
	return recordedSource{registry.Recorder, ociWant("oci://"+registry.Host(), "", artifactRef("app", corev1alpha1.OCIRef{})), "manifests/latest"}
}

func ociChartSource(t *testing.T) recordedSource {
	registry := testsource.ServeOCI(t, false)
	registry.Push("web", []testsource.Layer{{MediaType: chartLayer, Content: testsource.Chart(t, "web", "1.0.0")}}, "1.0.0")
	registry.Reset()
	return recordedSource{registry.Recorder, insecureHelm("oci://"+registry.Host(), "web", "^1"), "tags/list"}
}

var sourcesOfAllKinds = map[string]func(*testing.T) recordedSource{"git": gitSource, "helm": helmSource, "oci": ociSource, "chart in a registry": ociChartSource}

func TestFailureIsNotGivenToWhoAskedAfterIt(t *testing.T) {
	for name, serve := range sourcesOfAllKinds {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, r := serve(t), newRig(t, fetch.Options{})
			resolve := func(age time.Duration) error {
				w := s.want
				w.MaxAge = age
				_, err := r.get(t, w)
				return err
			}
			s.shut()
			g.Expect(resolve(time.Hour)).To(HaveOccurred())
			s.open()
			r.clock.Step(5 * time.Second)
			g.Expect(resolve(time.Hour)).To(HaveOccurred(), "who is not in a hurry is given it for a while")
			g.Expect(resolve(5*time.Second)).To(HaveOccurred(), "it is as old as it may be")
			g.Expect(resolve(4 * time.Second)).NotTo(HaveOccurred())
		})
	}
}

func TestFailureOfFetchingIsNotGivenToWhoAskedAfterIt(t *testing.T) {
	for name, serve := range sourcesOfAllKinds {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, r := serve(t), newRig(t, fetch.Options{})
			revision, _, err := r.Resolve(t.Context(), s.want)
			g.Expect(err).NotTo(HaveOccurred())
			if name == "helm" {
				// That one has the archive already, from learning its digest.
				r = newRig(t, fetch.Options{})
			}
			fetchIt := func(age time.Duration) error {
				w := s.want
				w.MaxAge = age
				_, err := r.Fetch(t.Context(), w, revision)
				return err
			}
			s.shut()
			g.Expect(fetchIt(time.Hour)).To(HaveOccurred())
			s.open()
			r.clock.Step(5 * time.Second)
			g.Expect(fetchIt(time.Hour)).To(HaveOccurred())
			g.Expect(fetchIt(5 * time.Second)).To(HaveOccurred())
			g.Expect(fetchIt(4 * time.Second)).NotTo(HaveOccurred())
		})
	}
}

func TestFailureIsNotGivenToWhoReadsValuesAfterIt(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"r0/a.yaml": "0"})}}, "1")
	inRegistry := recordedSource{Recorder: registry.Recorder, want: ociWant("oci://"+registry.Host(), "", corev1alpha1.OCISource{})}
	for name, tc := range map[string]struct {
		source recordedSource
		ref    corev1alpha1.ValuesReference
	}{
		"git": {gitSource(t), corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "src", Path: "r0/a.yaml", Ref: "main"}},
		"oci": {inRegistry, corev1alpha1.ValuesReference{Kind: "OCIRegistry", Name: "src", Path: "r0/a.yaml", Ref: "app:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{})
			readIt := func(age time.Duration) (string, error) {
				data, err := fetch.ReadFile(t.Context(), r, "team", tc.source.want.Source, tc.ref, age, 1<<20)
				return string(data), err
			}
			tc.source.shut()
			_, err := readIt(time.Hour)
			g.Expect(err).To(HaveOccurred())
			tc.source.open()
			r.clock.Step(5 * time.Second)
			_, err = readIt(time.Hour)
			g.Expect(err).To(HaveOccurred())
			g.Expect(readIt(4 * time.Second)).To(Equal("0"))
		})
	}
}

func TestUnusableContentIsFetchedAgainForWhoInsists(t *testing.T) {
	g := NewWithT(t)
	chart := testsource.Chart(t, "web", "1.0.0")
	index := fmt.Sprintf("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz], digest: %s}\n", testsource.SHA256(chart))
	h := serveHelm(t, map[string][]byte{"index.yaml": []byte(index), "web.tgz": []byte("damaged")})
	r := newRig(t, fetch.Options{})
	get := func(age time.Duration) error {
		w := helmWant(h.URL+"/charts", "", "web", "1.0.0")
		w.MaxAge = age
		_, err := r.get(t, w)
		return err
	}
	g.Expect(errors.Is(get(time.Hour), fetch.ErrContent)).To(BeTrue())
	r.clock.Step(time.Minute)
	for _, age := range []time.Duration{time.Hour, 10 * time.Second} {
		g.Expect(errors.Is(get(age), fetch.ErrContent)).To(BeTrue())
	}
	g.Expect(h.Count("web.tgz")).To(Equal(1), "tries that are repeated by themselves download it once")
	g.Expect(errors.Is(get(9*time.Second), fetch.ErrContent)).To(BeTrue())
	g.Expect(h.Count("web.tgz")).To(Equal(2))
	r.clock.Step(8 * time.Second)
	g.Expect(errors.Is(get(9*time.Second), fetch.ErrContent)).To(BeTrue())
	g.Expect(h.Count("web.tgz")).To(Equal(2), "it was fetched since the request")
	h.set("web.tgz", chart)
	g.Expect(get(0)).NotTo(HaveOccurred())
}

// movedChart serves a chart whose archive moves after r has read the index.
func movedChart(t *testing.T, r *rig) (h *helmRepository, want fetch.Want, revision string) {
	t.Helper()
	one, two := testsource.Chart(t, "web", "1.0.0"), testsource.Chart(t, "web", "2.0.0")
	index := func(directory string) []byte {
		return []byte(fmt.Sprintf("entries:\n  web:\n  - {version: 1.0.0, urls: [%[1]s/1.tgz], digest: %[2]s}\n  - {version: 2.0.0, urls: [%[1]s/2.tgz], digest: %[3]s}\n",
			directory, testsource.SHA256(one), testsource.SHA256(two)))
	}
	h = serveHelm(t, map[string][]byte{"index.yaml": index("old"), "new/1.tgz": one, "new/2.tgz": two})
	want = helmWant(h.URL+"/charts", "", "web", "1.0.0")
	revision, _, err := r.Resolve(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	h.set("index.yaml", index("new"))
	return h, want, revision
}

func TestOldIndexIsNotBelievedAgain(t *testing.T) {
	g := NewWithT(t)
	r := newRig(t, fetch.Options{})
	h, want, revision := movedChart(t, r)
	want.Revision = revision
	want.MaxAge = time.Hour
	_, err := r.get(t, want)
	g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
	g.Expect(h.Count("index.yaml")).To(Equal(1), "a pin needs no new index")
	r.clock.Step(5 * time.Second)
	_, err = r.get(t, want)
	g.Expect(err).To(HaveOccurred())
	want.MaxAge = time.Second
	_, err = r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.Count("index.yaml")).To(Equal(2))
}

func TestPinNeedsNoNewIndex(t *testing.T) {
	g := NewWithT(t)
	s, r := helmSource(t), newRig(t, fetch.Options{})
	revision, _, err := r.Resolve(t.Context(), s.want)
	g.Expect(err).NotTo(HaveOccurred())
	r.clock.Step(time.Hour)
	s.want.Revision, s.want.MaxAge = revision, time.Second
	_, err = r.get(t, s.want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Count("index.yaml")).To(Equal(1))
}

func TestOldIndexIsNotBelievedByWhoInsists(t *testing.T) {
	g := NewWithT(t)
	r := newRig(t, fetch.Options{})
	_, want, revision := movedChart(t, r)
	r.clock.Step(time.Minute)
	want.Revision = revision
	want.MaxAge = time.Second
	_, err := r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
}

// TestFlightThatAnswersFromMemoryIsNotEnough lets somebody who insists join a fetch that
// goes by an index from before the request.
func TestFlightThatAnswersFromMemoryIsNotEnough(t *testing.T) {
	g := NewWithT(t)
	r := newRig(t, fetch.Options{})
	h, want, revision := movedChart(t, r)
	r.clock.Step(5 * time.Second)
	arrived, proceed := make(chan struct{}, 1), make(chan struct{})
	h.Before(func(request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "old/1.tgz") {
			arrived <- struct{}{}
			<-proceed
		}
	})
	get := func(age time.Duration) chan error {
		w, done := want, make(chan error, 1)
		w.MaxAge = age
		go func() { _, err := r.Fetch(t.Context(), w, revision); done <- err }()
		return done
	}
	patient := get(time.Hour)
	<-arrived
	hasty, now := get(time.Second), get(0)
	g.Eventually(func() int { return r.Stats().Waiting }).Should(Equal(3))
	close(proceed)
	g.Expect(errors.Is(<-patient, fetch.ErrNotFound)).To(BeTrue())
	g.Expect(<-hasty).NotTo(HaveOccurred())
	g.Expect(<-now).NotTo(HaveOccurred())
	g.Expect(h.Count("index.yaml")).To(Equal(2))
	g.Expect(h.Count("new/1.tgz")).To(Equal(1), "those who insist share")
}

func TestBrokenIndexDoesNotMakeContentUnusable(t *testing.T) {
	g := NewWithT(t)
	chart := testsource.Chart(t, "web", "1.0.0")
	h := serveHelm(t, map[string][]byte{"index.yaml": []byte("<html>"), "web.tgz": chart})
	r := newRig(t, fetch.Options{})
	want := helmWant(h.URL+"/charts", "", "web", "1.0.0")
	want.MaxAge = time.Hour
	revision := "1.0.0@sha256:" + testsource.SHA256(chart)
	_, err := r.Fetch(t.Context(), want, revision)
	g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
	h.set("index.yaml", []byte("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz]}\n"))
	r.clock.Step(20 * time.Second)
	_, err = r.Fetch(t.Context(), want, revision)
	g.Expect(err).NotTo(HaveOccurred())
}

// held makes the first request that asks for what moves wait until it may proceed.
func held(s recordedSource) (arrived, proceed chan struct{}) {
	arrived, proceed = make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.Before(func(request *http.Request) {
		if strings.Contains(request.URL.Path, s.question) {
			once.Do(func() { close(arrived); <-proceed })
		}
	})
	return arrived, proceed
}

func TestManyWhoInsistAtOnceShare(t *testing.T) {
	for name, serve := range sourcesOfAllKinds {
		for _, age := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprintf("%s, %s", name, age), func(t *testing.T) {
				g := NewWithT(t)
				s, r := serve(t), newRig(t, fetch.Options{})
				arrived, proceed := held(s)
				resolve := func() error {
					w := s.want
					w.MaxAge = age
					_, _, err := r.Resolve(t.Context(), w)
					return err
				}
				const many = 50
				errs := make(chan error, many)
				for range many {
					go func() { errs <- resolve() }()
				}
				<-arrived
				g.Eventually(func() int { return r.Stats().Waiting }).Should(Equal(many))
				close(proceed)
				for range many {
					g.Expect(<-errs).NotTo(HaveOccurred())
				}
				g.Expect(s.Count(s.question)).To(Equal(1))
			})
		}
	}
}

func TestManyWhoInsistDoNotShareWhatWasAskedBefore(t *testing.T) {
	for name, serve := range sourcesOfAllKinds {
		for _, age := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprintf("%s, %s", name, age), func(t *testing.T) {
				g := NewWithT(t)
				s, r := serve(t), newRig(t, fetch.Options{})
				arrived, proceed := held(s)
				resolve := func(age time.Duration) (checkedAt time.Time, err error) {
					w := s.want
					w.MaxAge = age
					_, checkedAt, err = r.Resolve(t.Context(), w)
					return checkedAt, err
				}
				patient := make(chan error, 1)
				go func() { _, err := resolve(time.Hour); patient <- err }()
				<-arrived
				r.clock.Step(5 * time.Second)
				const many = 50
				now := r.clock.Now()
				times, errs := make(chan time.Time, many), make(chan error, many)
				for range many {
					go func() {
						at, err := resolve(age)
						times <- at
						errs <- err
					}()
				}
				g.Eventually(func() int { return r.Stats().Waiting }).Should(Equal(many + 1))
				close(proceed)
				g.Expect(<-patient).NotTo(HaveOccurred())
				for range many {
					g.Expect(<-errs).NotTo(HaveOccurred())
					g.Expect(<-times).To(Equal(now))
				}
				g.Expect(s.Count(s.question)).To(Equal(2))
			})
		}
	}
}

func TestFailureOfAFlightIsSharedByWhoJoinedIt(t *testing.T) {
	for name, age := range map[string]time.Duration{"who asks now": 0, "who asked a moment ago": time.Second, "who has time": time.Hour} {
		t.Run(name, func(t *testing.T) {
			s, r := gitSource(t), newRig(t, fetch.Options{})
			s.want.MaxAge = age
			revision, _, err := r.Resolve(t.Context(), s.want)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			s.shut()
			r.clock.Step(2 * time.Hour)
			for _, ask := range []func() error{
				func() error { _, _, err := r.Resolve(t.Context(), s.want); return err },
				func() error { _, err := r.Fetch(t.Context(), s.want, revision); return err },
			} {
				g := NewWithT(t)
				s.Reset()
				arrived, proceed := held(s)
				errs := make(chan error, 20)
				for range cap(errs) {
					go func() { errs <- ask() }()
				}
				<-arrived
				g.Eventually(func() int { return r.Stats().Waiting }).Should(Equal(cap(errs)))
				close(proceed)
				for range cap(errs) {
					g.Expect(errors.Is(<-errs, fetch.ErrUnauthorized)).To(BeTrue())
				}
				g.Expect(s.Count(s.question)).To(Equal(1))
			}
		})
	}
}
