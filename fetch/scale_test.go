// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestManyReleasesOfOneRepository starts 500 Releases with a subtree each at once.
func TestManyReleasesOfOneRepository(t *testing.T) {
	const many, perFile = 500, 4 << 10
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	files, size := map[string]string{}, 0
	for i := range many {
		for _, name := range []string{"a.yaml", "b.yaml"} {
			content := strings.Repeat(fmt.Sprintf("%s %d\n", name, i), perFile/10)
			files[fmt.Sprintf("apps/r%d/%s", i, name)] = content
			size += len(content)
		}
	}
	repo.Commit(files)
	server, recorder := testsource.ServeGit(t, root, false)
	r := newRig(t, fetch.Options{})
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	files = nil
	rest := heap()
	artifacts := make([]*fetch.Artifact, many)
	all := func() map[string]bool {
		digests := map[string]bool{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				w := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: fmt.Sprintf("apps/r%d", i)})
				w.MaxAge = time.Minute
				a, err := r.get(t, w)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				artifacts[i] = a
				digests[a.Digest] = true
			})
		}
		wg.Wait()
		return digests
	}
	before := all()
	g.Expect(before).To(HaveLen(many))
	g.Expect(recorder.Count("git-upload-pack")).To(Equal(1))
	g.Expect(recorder.Count("info/refs")).To(BeNumerically("<=", 2))
	held, stats := heap()-rest, r.Stats()
	t.Logf("the tree has %d bytes; counted are %d (%.2f), the heap grew by %d (%.2f)", size, stats.Bytes, float64(stats.Bytes)/float64(size), held, float64(held)/float64(size))
	g.Expect(stats.Bytes).To(BeNumerically("<=", size*12/10))
	g.Expect(stats.Artifacts).To(Equal(1))
	runtime.KeepAlive(artifacts)

	repo.Commit(map[string]string{"apps/r7/a.yaml": "changed"})
	r.clock.Step(2 * time.Minute)
	after := all()
	g.Expect(recorder.Count("git-upload-pack")).To(Equal(2))
	changed := 0
	for digest := range after {
		if !before[digest] {
			changed++
		}
	}
	g.Expect(changed).To(Equal(1))
	g.Expect(r.Stats().Bytes).To(BeNumerically("<=", size*12/10), "two commits share what they have in common")
}

// TestTreesInUseOutliveTheCache holds trees while the cache overflows many times.
func TestTreesInUseOutliveTheCache(t *testing.T) {
	const trees, held, size = 40, 5, 20_000
	g := NewWithT(t)
	files := map[string][]byte{}
	index := "entries:\n  web:\n"
	content := func(i int) string { return strings.Repeat(fmt.Sprintf("%04d", i), size/4) }
	for i := range trees {
		version := fmt.Sprintf("1.%d.0", i)
		chart := testsource.TarGz(t, map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: " + version + "\n", "web/big": content(i)})
		files[version+".tgz"] = chart
		index += fmt.Sprintf("  - {version: %s, urls: [%s.tgz], digest: %s}\n", version, version, testsource.SHA256(chart))
	}
	files["index.yaml"] = []byte(index)
	h := serveHelm(t, files)
	r := newRig(t, fetch.Options{CacheBytes: 3 * size})
	get := func(i int) *fetch.Artifact {
		a, err := r.get(t, helmWant(h.URL+"/charts", "", "web", fmt.Sprintf("1.%d.0", i)))
		g.Expect(err).NotTo(HaveOccurred())
		return a
	}
	var used []*fetch.Artifact
	for i := range held {
		used = append(used, get(i))
	}
	for i := held; i < trees; i++ {
		get(i)
		g.Expect(r.Stats().Bytes).To(BeNumerically("<=", 3*size))
	}
	runtime.GC()
	runtime.GC()
	g.Expect(r.Stats().Evicted).To(BeNumerically(">=", trees-3))
	for i := range held {
		again := get(i)
		g.Expect(read(used[i], "big")).To(Equal(content(i)))
		g.Expect(again.RootDigest).To(Equal(used[i].RootDigest))
		g.Expect(h.Count(fmt.Sprintf("1.%d.0.tgz", i))).To(Equal(1), "what is in use is not fetched again")
	}
	get(held)
	g.Expect(h.Count(fmt.Sprintf("1.%d.0.tgz", held))).To(Equal(2), "what was forgotten is")
	runtime.KeepAlive(used)
}

// TestHelmIndexMemory takes one chart of an index of 60 MB.
func TestHelmIndexMemory(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("reads 120 MB of YAML")
	}
	const mib, size = 1 << 20, 60 * 1000 * 1000
	chart := testsource.Chart(t, "chart-100", "1.5.0")
	for name, description := range map[string]int{"of entries as they usually are": 600, "of the smallest entries": 0} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			sent := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, ".tgz") {
					_, _ = w.Write(chart)
					return
				}
				sent = writeIndex(w, size, strings.Repeat("words ", description/6), testsource.SHA256(chart))
			}))
			t.Cleanup(server.Close)
			r := newRig(t, fetch.Options{})
			var artifact *fetch.Artifact
			peak := heapPeak(100, func() {
				var err error
				artifact, err = r.get(t, helmWant(server.URL, "", "chart-100", "1.5.x"))
				g.Expect(err).NotTo(HaveOccurred())
			})
			t.Logf("an index of %d MB: peak %.1f MiB over rest, answers kept %.1f MiB", sent/1000/1000, float64(peak)/mib, float64(r.Stats().AnswerBytes)/mib)
			g.Expect(artifact.Revision).To(HavePrefix("1.5.0@"))
			g.Expect(sent).To(BeNumerically(">=", size))
			g.Expect(peak).To(BeNumerically("<=", 64*mib))
		})
	}
}

// TestHelmIndexMemoryOfURLs takes one chart of an index of 60 MB that has URLs without end.
func TestHelmIndexMemoryOfURLs(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("reads 60 MB of YAML")
	}
	const mib, size = 1 << 20, 60 * 1000 * 1000
	urls := strings.Repeat("    - "+strings.Repeat("u", 8000)+"\n", 16)
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, "entries:\n  web:\n")
		for i, sent := 0, 0; sent < size && err == nil; i++ {
			n := 0
			n, err = fmt.Fprintf(w, "  - version: 1.0.%d\n    urls:\n%s", i, urls)
			sent += n
		}
	}))
	t.Cleanup(server.Close)
	r := newRig(t, fetch.Options{})
	peak := heapPeak(100, func() {
		_, err := r.get(t, helmWant(server.URL, "", "web", "1.0.0"))
		g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
	})
	t.Logf("peak %.1f MiB over rest", float64(peak)/mib)
	g.Expect(peak).To(BeNumerically("<=", 64*mib))
}

// writeIndex writes an index as Helm does, with 20 versions of each chart.
func writeIndex(w io.Writer, size int, description, digest string) (written int) {
	write := func(format string, args ...any) {
		n, _ := fmt.Fprintf(w, format, args...)
		written += n
	}
	write("apiVersion: v1\nentries:\n")
	for i := 0; written < size; i++ {
		write("  chart-%d:\n", i)
		for j := range 20 {
			sum := digest
			if i != 100 {
				sum = fmt.Sprintf("%032x%032x", i, j)
			}
			write("  - apiVersion: v2\n    appVersion: 1.%d.0\n    created: \"2026-01-01T00:00:00.000000000Z\"\n    description: %s\n    digest: %s\n    name: chart-%d\n    type: application\n    urls:\n    - files/of-this-repository/chart-%d-1.%d.0.tgz\n    version: 1.%d.0\n",
				j, description, sum, i, i, j, j)
		}
	}
	write("generated: \"2026-01-01T00:00:00.000000000Z\"\n")
	return written
}
