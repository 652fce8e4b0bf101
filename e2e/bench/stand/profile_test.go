// SPDX-License-Identifier: Apache-2.0

package stand

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// profiled is a server that answers with what it was asked for.
func profiled(t *testing.T, asked *atomic.Int64) Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/metrics" {
			fmt.Fprintln(w, "go_memstats_alloc_bytes 42")
			return
		}
		fmt.Fprint(w, r.URL)
	}))
	t.Cleanup(server.Close)
	return Server{Name: "one", URL: server.URL, Client: server.Client()}
}

func TestProfile(t *testing.T) {
	g := NewWithT(t)
	var asked, worked atomic.Int64
	server := profiled(t, &asked)
	dir := filepath.Join(t.TempDir(), "profiles")
	err := Profile(t.Context(), dir, "get", 3*time.Second, []Server{server}, func(context.Context) error { worked.Add(1); return nil })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked.Load()).To(BeEquivalentTo(2))
	for ending, want := range map[string]string{"cpu": "/debug/pprof/profile?seconds=3", "allocs": "/debug/pprof/allocs?seconds=3"} {
		data, err := os.ReadFile(filepath.Join(dir, "get-one."+ending))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(data)).To(Equal(want))
	}

	failed := errors.New("failed")
	err = Profile(t.Context(), dir, "get", time.Second, []Server{server}, func(context.Context) error { return failed })
	if err != nil { // the profiles may be there before the work is begun
		g.Expect(err).To(MatchError(failed))
	}
	server.URL += "/x\n"
	g.Expect(Profile(t.Context(), dir, "get", time.Second, []Server{server}, func(context.Context) error { return nil })).NotTo(Succeed())
}

func TestHeap(t *testing.T) {
	g := NewWithT(t)
	var asked atomic.Int64
	server := profiled(t, &asked)
	dir := filepath.Join(t.TempDir(), "profiles")
	g.Expect(Heap(t.Context(), dir, "idle", []Server{server})).To(Succeed())
	g.Expect(os.ReadFile(filepath.Join(dir, "idle-one.heap"))).To(BeEquivalentTo("/debug/pprof/heap?gc=1"))
	server.URL += "/x\n"
	g.Expect(Heap(t.Context(), dir, "idle", []Server{server})).NotTo(Succeed())
}

func TestLiveHeap(t *testing.T) {
	g := NewWithT(t)
	var asked atomic.Int64
	bytes, err := profiled(t, &asked).LiveHeap(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes).To(Equal(42.0))
	g.Expect(asked.Load()).To(BeEquivalentTo(2), "garbage is collected first")
}
