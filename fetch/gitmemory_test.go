// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"math/rand/v2"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// heapPeak returns by how much the heap grew at most while work ran; percent is how much of
// it may be garbage, as in GOGC.
func heapPeak(percent int, work func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	live := func() int64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	rest := live()
	done, sampled := make(chan struct{}), make(chan int64)
	go func() {
		peak := int64(0)
		for {
			select {
			case <-done:
				sampled <- peak
				return
			default:
				peak = max(peak, live())
				runtime.Gosched()
			}
		}
	}()
	work()
	close(done)
	return <-sampled - rest
}

// TestGitMemory fetches a path of 1 MiB from a repository with a history of 200 MiB, of
// which the last commit holds 9 MiB besides.
func TestGitMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MiB")
	}
	const mib = 1 << 20
	g := NewWithT(t)
	root := t.TempDir()
	repo := testsource.NewGitRepository(t, root, "app.git")
	random := rand.NewChaCha8([32]byte{1})
	noise := func(n int) []byte {
		b := make([]byte, n)
		_, _ = random.Read(b)
		return b
	}
	repo.Import(func(commit func(name string, content []byte)) {
		for range 22 {
			commit("data/blob.bin", noise(9*mib))
		}
		commit("app/a.yaml", noise(mib))
	})
	var sent atomic.Int64
	server, _ := testsource.ServeGit(t, root, false)
	handler := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(counted{w, &sent}, r)
	})
	r := newRig(t, fetch.Options{})
	want := gitWant(server.URL+"/app.git", "", corev1alpha1.GitSource{Path: "app"})
	var artifact *fetch.Artifact
	peak := heapPeak(5, func() {
		var err error
		artifact, err = r.get(t, want)
		g.Expect(err).NotTo(HaveOccurred())
	})
	const commit = 10 * mib
	kept := r.Stats().Bytes
	t.Logf("sent %.1f MiB, peak %.1f MiB, kept %.1f MiB", float64(sent.Load())/mib, float64(peak)/mib, float64(kept)/mib)
	g.Expect(artifact.Path).To(Equal("app"))
	g.Expect(sent.Load()).To(BeNumerically("<", commit+mib), "the history stays where it is")
	g.Expect(peak).To(BeNumerically("<=", 2*commit))
	g.Expect(kept).To(BeNumerically("<", commit+mib))
}

type counted struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}
