// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// heldChart serves a chart of some MiB that does not compress, the end of which comes when it may.
func heldChart(t *testing.T, mib int, end <-chan struct{}) *httptest.Server {
	t.Helper()
	chart := testsource.TarGz(t, map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "web/noise": noise(1, mib<<20)})
	index := fmt.Sprintf("apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, urls: [web.tgz], digest: %s}\n", testsource.SHA256(chart))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/index.yaml") {
			_, _ = w.Write([]byte(index))
			return
		}
		last := len(chart) - 1
		_, _ = w.Write(chart[:last])
		w.(http.Flusher).Flush()
		select {
		case <-end:
		case <-r.Context().Done():
		}
		_, _ = w.Write(chart[last:])
	}))
	t.Cleanup(server.Close)
	return server
}

// TestWhatIsBeingFetchedIsBoundedTogether has many artifacts, of which none comes to its end
// before all have come as far as they may.
func TestWhatIsBeingFetchedIsBoundedTogether(t *testing.T) {
	const mib, artifacts = 1 << 20, 8
	g := NewWithT(t)
	r := newRig(t, fetch.Options{CacheBytes: 4 * mib, MaxConcurrent: 2 * artifacts})
	end := make(chan struct{})
	var all sync.WaitGroup
	errs := make([]error, artifacts)
	for i := range artifacts {
		want := helmWant(heldChart(t, 2, end).URL, "", "web", "1.0.0")
		want.Source.(*sourcev1alpha1.HelmRegistry).Spec.Timeout = &metav1.Duration{Duration: 10 * time.Minute}
		all.Go(func() {
			// What has not come to its end for long gives way to the others, and is tried again.
			for again := true; again; {
				_, errs[i] = r.get(t, want)
				again = errs[i] != nil && strings.Contains(errs[i].Error(), "the server sent next to nothing")
			}
		})
	}
	fetches := func() int64 { return r.Stats().Fetches }
	running := func() int { return r.Stats().Running }
	g.Eventually(fetches).WithTimeout(time.Minute).Should(BeNumerically(">=", artifacts))
	g.Eventually(running).WithTimeout(time.Minute).Should(BeZero(), "who waits for room, or for the end, holds up nobody")
	g.Expect(r.Stats().TakingBytes).To(And(BeNumerically(">", 2*mib), BeNumerically("<", 7*mib)))
	close(end)
	all.Wait()
	g.Expect(errs).To(HaveEach(BeNil()))
	g.Expect(r.Stats().TakingBytes).To(BeZero())
}

// TestContentOfManyPartsNeedsNoRoomTwice has a commit with large objects of Git LFS and a large
// submodule that has some, too, wanted by several at once, and no room for any of them.
func TestContentOfManyPartsNeedsNoRoomTwice(t *testing.T) {
	const large = 300 << 10
	g := NewWithT(t)
	lfs := testsource.NewLFS(t)
	root := t.TempDir()
	server, _ := testsource.ServeGit(t, root, false, lfs.Serve)
	lib := testsource.NewGitRepository(t, root, "lib.git")
	commit := lib.Commit(map[string]string{"large.yaml": noise(1, large), "object.yaml": lfs.Add(noise(2, large))})
	r := newRig(t, fetch.Options{CacheBytes: 1, MaxConcurrent: 2})
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		name := fmt.Sprintf("app%d.git", i)
		app := testsource.NewGitRepository(t, root, name)
		app.Write(map[string]string{"object.yaml": lfs.Add(noise(byte(3+i), large))})
		app.Git("add", "--all")
		app.Submodule("lib", "../lib.git", commit)
		app.CommitIndex()
		all.Go(func() {
			a, err := r.get(t, recursive(server.URL+"/"+name, "", "."))
			if err == nil {
				_, err = read(a, "lib/object.yaml")
			}
			errs[i] = err
		})
	}
	all.Wait()
	g.Expect(errs).To(HaveEach(BeNil()))
	g.Expect(r.Stats().TakingBytes).To(BeZero())
}

// TestObjectsOfRepositoriesOfOneHostLetOneAnotherGoOn has several repositories with objects of Git
// LFS, each of which is an operation, and room for few: who holds some wants the next ones.
func TestObjectsOfRepositoriesOfOneHostLetOneAnotherGoOn(t *testing.T) {
	const repositories, objects, size = 8, 6, 400 << 10
	g := NewWithT(t)
	lfs := testsource.NewLFS(t)
	root := t.TempDir()
	server, _ := testsource.ServeGit(t, root, false, lfs.Serve)
	r := newRig(t, fetch.Options{CacheBytes: 4 << 20})
	for i := range repositories {
		files := map[string]string{}
		for o := range objects {
			files[fmt.Sprintf("o%d.yaml", o)] = lfs.Add(noise(byte(i*objects+o+1), size))
		}
		testsource.NewGitRepository(t, root, fmt.Sprintf("app%d.git", i)).Commit(files)
	}
	var all sync.WaitGroup
	errs := make([]error, repositories)
	for i := range errs {
		all.Go(func() { _, errs[i] = r.get(t, recursive(fmt.Sprintf("%s/app%d.git", server.URL, i), "", ".")) })
	}
	all.Wait()
	g.Expect(errs).To(HaveEach(BeNil()))
	g.Expect(r.Stats().TakingBytes).To(BeZero())
}
