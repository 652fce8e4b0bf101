// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// repository serves one repository with as many directories as there are Releases.
func repository(t *testing.T, directories int) (want func(i int) fetch.Want, recorder *testsource.Recorder, commit func(map[string]string) string) {
	t.Helper()
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	files := map[string]string{}
	for i := range directories {
		files[fmt.Sprintf("r%d/a.yaml", i)] = fmt.Sprint(i)
	}
	repo.Commit(files)
	server, recorder := testsource.ServeGit(t, root, false)
	return func(i int) fetch.Want {
		return gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: fmt.Sprintf("r%d", i%directories)})
	}, recorder, repo.Commit
}

func TestHundredAskAndOneFetches(t *testing.T) {
	g := NewWithT(t)
	want, recorder, commit := repository(t, 100)
	r := newRig(t, fetch.Options{})
	all := func() map[string]int {
		var wg sync.WaitGroup
		var mu sync.Mutex
		digests := map[string]int{}
		for i := range 100 {
			wg.Go(func() {
				w := want(i)
				w.MaxAge = time.Minute
				revision, _, err := r.Resolve(t.Context(), w)
				if err != nil {
					t.Error(err)
					return
				}
				a, err := r.Fetch(t.Context(), w, revision)
				if err != nil {
					t.Error(err)
					return
				}
				if content, err := read(a, fmt.Sprintf("r%d/a.yaml", i)); err != nil || !strings.HasPrefix(content, fmt.Sprint(i)) {
					t.Errorf("%q, %v", content, err)
				}
				mu.Lock()
				digests[a.Digest]++
				mu.Unlock()
			})
		}
		wg.Wait()
		return digests
	}
	before := all()
	g.Expect(before).To(HaveLen(100))
	g.Expect(recorder.Count("git-upload-pack")).To(Equal(1), "one fetch")
	g.Expect(recorder.Count("info/refs")).To(Equal(2), "one look at the references, one within the fetch")
	held := r.Stats().Bytes

	commit(map[string]string{"r7/a.yaml": "7 changed"})
	r.clock.Step(2 * time.Minute)
	after := all()
	g.Expect(recorder.Count("git-upload-pack")).To(Equal(2))
	changed := 0
	for digest := range after {
		if before[digest] == 0 {
			changed++
		}
	}
	g.Expect(changed).To(Equal(1), "one subtree has another digest")
	stats := r.Stats()
	g.Expect(stats.Fetches).To(Equal(int64(2)))
	g.Expect(stats.Questions).To(Equal(int64(2)))
	g.Expect(stats.Artifacts).To(Equal(2))
	g.Expect(stats.Bytes).To(BeNumerically(">", held))
}

func TestWhoeverLeavesDoesNotEndItForTheOthers(t *testing.T) {
	g := NewWithT(t)
	want, recorder, _ := repository(t, 1)
	arrived, proceed := make(chan struct{}, 10), make(chan struct{})
	r := newRig(t, fetch.Options{})
	revision, _, err := r.Resolve(t.Context(), want(0))
	g.Expect(err).NotTo(HaveOccurred())
	recorder.Before(func(request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "git-upload-pack") {
			arrived <- struct{}{}
			<-proceed
		}
	})
	impatient, leave := context.WithCancel(t.Context())
	left, stayed := make(chan error, 1), make(chan error, 1)
	go func() { _, err := r.Fetch(impatient, want(0), revision); left <- err }()
	<-arrived
	go func() { _, err := r.Fetch(t.Context(), want(0), revision); stayed <- err }()
	g.Eventually(func() int { return r.Stats().Waiting }).Should(Equal(2))
	leave()
	g.Expect(errors.Is(<-left, context.Canceled)).To(BeTrue())
	close(proceed)
	g.Expect(<-stayed).NotTo(HaveOccurred())
	g.Expect(recorder.Count("git-upload-pack")).To(Equal(1))
}

func TestWorkEndsWhenAllHaveLeft(t *testing.T) {
	g := NewWithT(t)
	want, recorder, _ := repository(t, 1)
	r := newRig(t, fetch.Options{})
	revision, _, err := r.Resolve(t.Context(), want(0))
	g.Expect(err).NotTo(HaveOccurred())
	arrived, gone := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	recorder.Before(func(request *http.Request) {
		// A server sees its client leave once it has read the whole request: a GET.
		if once.CompareAndSwap(false, true) {
			close(arrived)
			<-request.Context().Done()
			close(gone)
		}
	})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := r.Fetch(ctx, want(0), revision); left <- err }()
	<-arrived
	leave()
	g.Expect(errors.Is(<-left, context.Canceled)).To(BeTrue())
	<-gone
	_, err = r.Fetch(t.Context(), want(0), revision)
	g.Expect(err).NotTo(HaveOccurred(), "the end of one try is not the end of the next")
}

func TestMaxAge(t *testing.T) {
	g := NewWithT(t)
	want, recorder, commit := repository(t, 1)
	r := newRig(t, fetch.Options{})
	resolve := func(age time.Duration) string {
		w := want(0)
		w.MaxAge = age
		revision, _, err := r.Resolve(t.Context(), w)
		g.Expect(err).NotTo(HaveOccurred())
		return revision
	}
	old := resolve(time.Minute)
	fresh := "main@sha1:" + commit(map[string]string{"r0/a.yaml": "0 new"})
	g.Expect(resolve(time.Minute)).To(Equal(old))
	r.clock.Step(time.Minute)
	g.Expect(resolve(time.Minute)).To(Equal(old), "as old as it may be")
	g.Expect(recorder.Count("info/refs")).To(Equal(1))
	g.Expect(resolve(0)).To(Equal(fresh), "0 asks now")
	g.Expect(resolve(time.Minute)).To(Equal(fresh))
	r.clock.Step(time.Minute + time.Second)
	g.Expect(resolve(time.Minute)).To(Equal(fresh))
	g.Expect(recorder.Count("info/refs")).To(Equal(3))
}

func TestCheckRefreshesWhatResolveKnows(t *testing.T) {
	g := NewWithT(t)
	want, _, commit := repository(t, 1)
	r := newRig(t, fetch.Options{})
	w := want(0)
	w.MaxAge = time.Hour
	_, _, err := r.Resolve(t.Context(), w)
	g.Expect(err).NotTo(HaveOccurred())
	id := commit(map[string]string{"r0/a.yaml": "0 new"})
	_, err = r.Check(t.Context(), "team", w.Source)
	g.Expect(err).NotTo(HaveOccurred())
	revision, _, err := r.Resolve(t.Context(), w)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revision).To(HaveSuffix(id))
}

func TestFailuresStandForAShortTime(t *testing.T) {
	g := NewWithT(t)
	want, recorder, _ := repository(t, 1)
	recorder.Allow(func(*http.Request) bool { return false }, "")
	r := newRig(t, fetch.Options{})
	resolve := func(age time.Duration) error {
		w := want(0)
		w.MaxAge = age
		_, _, err := r.Resolve(t.Context(), w)
		return err
	}
	for range 3 {
		g.Expect(errors.Is(resolve(time.Hour), fetch.ErrUnauthorized)).To(BeTrue())
	}
	g.Expect(recorder.Count("info/refs")).To(Equal(1))
	g.Expect(resolve(0)).To(HaveOccurred())
	g.Expect(recorder.Count("info/refs")).To(Equal(2), "who insists is not given an old failure")
	recorder.Allow(nil, "")
	g.Expect(resolve(time.Hour)).To(HaveOccurred())
	r.clock.Step(20 * time.Second)
	g.Expect(resolve(time.Hour)).NotTo(HaveOccurred())
}

// A look that hangs, and fails after the source is well again, says nothing to who asked
// while it hung.
func TestFailureOfAnOlderLookIsNoAnswerToARequest(t *testing.T) {
	g := NewWithT(t)
	want, recorder, _ := repository(t, 1)
	r := newRig(t, fetch.Options{})
	recorder.Allow(func(*http.Request) bool { return false }, "")
	recorder.Before(func(*http.Request) { r.clock.Step(20 * time.Second) }) // it takes its time
	resolve := func(w fetch.Want) error {
		_, _, err := r.Resolve(t.Context(), w)
		return err
	}
	began := r.clock.Now()
	g.Expect(resolve(want(0))).To(HaveOccurred())
	recorder.Before(nil)
	recorder.Allow(nil, "")

	request := want(0)
	request.MaxAge = 10 * time.Second
	g.Expect(resolve(request)).To(HaveOccurred(), "the failure is a moment old")
	request.Since = began.Add(3 * time.Second)
	g.Expect(resolve(request)).To(Succeed(), "a person asked after that look began")
	g.Expect(recorder.Count("info/refs")).To(Equal(2))
	request.Since = r.clock.Now().Add(time.Hour)
	g.Expect(resolve(request)).To(Succeed(), "another machine's clock is ahead")
}

func TestABranchThatIsNewIsLookedFor(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Commit(map[string]string{"a.yaml": "a"})
	server, recorder := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{})
	want := gitWant(server.URL+"/app.git", "", branchRef("new"))
	want.MaxAge = time.Hour
	resolve := func() error {
		_, _, err := r.Resolve(t.Context(), want)
		return err
	}
	g.Expect(errors.Is(resolve(), fetch.ErrNotFound)).To(BeTrue())
	repo.Git("branch", "new")
	repo.Push()
	g.Expect(errors.Is(resolve(), fetch.ErrNotFound)).To(BeTrue())
	g.Expect(recorder.Count("info/refs")).To(Equal(1))
	r.clock.Step(20 * time.Second)
	g.Expect(resolve()).NotTo(HaveOccurred(), "an answer that does not suffice is no answer for an hour")
}

func TestSourcesAreToldApartByTheirCredentials(t *testing.T) {
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	repo.Commit(map[string]string{"a.yaml": "a"})
	server, recorder := testsource.ServeGit(t, root, false)
	recorder.Allow(testsource.BasicAuth("u", "right"), "")
	all := secrets{"right": {"username": "u", "password": "right"}, "same": {"username": "u", "password": "right"}, "wrong": {"username": "u", "password": "wrong"}}
	r := newRig(t, fetch.Options{Secrets: all})
	get := func(name, secret string) error {
		want := gitWant(server.URL+"/app.git", secret, branchRef("main"))
		want.MaxAge = time.Hour
		want.Source.(*sourcev1alpha1.GitRepository).Name = name
		_, err := r.get(t, want)
		return err
	}
	g.Expect(get("one", "right")).NotTo(HaveOccurred())
	g.Expect(get("two", "same")).NotTo(HaveOccurred())
	g.Expect(recorder.Count("git-upload-pack")).To(Equal(1), "equal access shares")
	err := get("three", "wrong")
	g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "what others may read is not given to who may not")
	g.Expect(err.Error()).To(ContainSubstring("team/three"))
	all["wrong"]["password"] = "right"
	g.Expect(get("three", "wrong")).NotTo(HaveOccurred(), "a changed Secret is used at once")
}

func TestArtifactsStayValidWhenTheStoreIsFull(t *testing.T) {
	g := NewWithT(t)
	want, recorder, commit := repository(t, 1)
	r := newRig(t, fetch.Options{CacheBytes: 30_000})
	commit(map[string]string{"r0/big": strings.Repeat("1", 20_000)})
	first, err := r.get(t, want(0))
	g.Expect(err).NotTo(HaveOccurred())
	commit(map[string]string{"r0/big": strings.Repeat("2", 20_000)})
	_, err = r.get(t, want(0))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Stats().Artifacts).To(Equal(1))
	g.Expect(r.Stats().Bytes).To(BeNumerically("<=", 30_000))
	g.Expect(read(first, "r0/big")).To(Equal(strings.Repeat("1", 20_000)))
	_, err = r.Fetch(t.Context(), want(0), first.Revision)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(recorder.Count("git-upload-pack")).To(Equal(2), "what is in use is not fetched again")
}

// TestHostsThatHangDoNotHoldUpTheOthers however many they are; each has half of the slots at most.
func TestHostsThatHangDoNotHoldUpTheOthers(t *testing.T) {
	for _, hosts := range []int{1, 6} {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{MaxConcurrent: 4})
			proceed := make(chan struct{})
			var asked sync.WaitGroup
			defer asked.Wait()
			defer close(proceed)
			fine, _, _ := repository(t, 1)
			for range hosts {
				var waiting atomic.Int32
				stuck, recorder, _ := repository(t, 1)
				recorder.Before(func(*http.Request) { waiting.Add(1); <-proceed })
				for i := range 10 {
					asked.Go(func() {
						want := stuck(0)
						want.Source.(*sourcev1alpha1.GitRepository).Spec.URL += strings.Repeat("/", i+1)
						_, _, _ = r.Resolve(t.Context(), want)
					})
				}
				g.Eventually(waiting.Load).WithTimeout(time.Minute).Should(Equal(int32(2)))
			}
			_, err := r.get(t, fine(0))
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// TestHostsThatBeginToAnswerAndHang hold up nobody either, whatever they have sent.
func TestHostsThatBeginToAnswerAndHang(t *testing.T) {
	for _, size := range []int{100, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{MaxConcurrent: 2})
			var asked sync.WaitGroup
			defer asked.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			received := func() int64 { return r.Stats().Kinds["HelmRegistry"].Received }
			for i := range 3 {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = w.Write(bytes.Repeat([]byte("#\n"), size/2))
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				}))
				t.Cleanup(server.Close)
				asked.Go(func() { _, _, _ = r.Resolve(ctx, helmWant(server.URL, "", "web", "")) })
				g.Eventually(received).WithTimeout(time.Minute).Should(BeEquivalentTo((i + 1) * size))
			}
			g.Eventually(func() int { return r.Stats().Running }).WithTimeout(time.Minute).Should(BeZero())
			fine, _, _ := repository(t, 1)
			_, err := r.get(t, fine(0))
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

func TestWantsThatMakeNoSense(t *testing.T) {
	r := newRig(t, fetch.Options{})
	git, helm := gitWant("https://host/x", "", corev1alpha1.GitSource{}), helmWant("https://host/x", "", "c", "")
	for name, want := range map[string]fetch.Want{
		"other content": {Namespace: "team", Source: git.Source, Content: helm.Content},
		"no content":    {Namespace: "team", Source: git.Source},
		"no source":     {Namespace: "team", Content: git.Content},
		"other kind":    {Namespace: "team", Source: &sourcev1alpha1.GitRepositoryList{}, Content: git.Content},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := r.Resolve(t.Context(), want)
			NewWithT(t).Expect(errors.Is(err, fetch.ErrInvalid)).To(BeTrue(), "%v", err)
		})
	}
	t.Run("revision", func(t *testing.T) {
		for _, revision := range []string{"", "main", "main@sha1:abc", "main@sha256:" + strings.Repeat("a", 64)} {
			_, err := r.Fetch(t.Context(), git, revision)
			NewWithT(t).Expect(errors.Is(err, fetch.ErrInvalid)).To(BeTrue(), "%v", err)
		}
	})
}
