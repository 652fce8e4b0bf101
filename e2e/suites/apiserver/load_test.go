// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// pace is the pause between the requests of one worker.
const pace = 5 * time.Millisecond

// failure is a request that was not answered as it should be.
type failure struct {
	at   time.Time
	text string
}

// load is reads and writes of Releases through the host, without a break, until it is ended.
// Its clients do what kubectl and client-go do: they send a request again when the answer says
// when to, by Retry-After, and else never.
type load struct {
	stop    context.CancelFunc
	workers sync.WaitGroup
	sent    atomic.Int64
	again   atomic.Int64 // how often a client was told to try again

	mu       sync.Mutex
	failures []failure
	written  []int // the annotation "count", where the request said that it was written
	longest  time.Duration
}

// startLoad starts the load on a namespace, which gets a Release "app".
func (r *rig) startLoad(namespace string) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{stop: stop}
	for _, kind := range []func(i int) call{
		func(int) call { return call{method: http.MethodGet, path: releasePath(namespace, "app")} },
		func(int) call { return call{method: http.MethodGet, path: releasesPath(namespace) + "?limit=10"} },
		func(i int) call {
			return call{method: http.MethodPatch, path: releasePath(namespace, "app"), contentType: mergePatch, body: fmt.Sprintf(`{"metadata":{"annotations":{"count":"%d"}}}`, i)}
		},
		func(int) call { return call{method: http.MethodPost, path: releasePath(namespace, "app", "sync")} },
		func(i int) call {
			name := fmt.Sprintf("app-%d", i/2)
			if i%2 == 0 {
				return call{method: http.MethodPost, path: releasesPath(namespace), body: newRelease(namespace, name)}
			}
			return call{method: http.MethodDelete, path: releasePath(namespace, name)}
		},
	} {
		l.workers.Go(func() { l.work(ctx, r.admin, kind) })
	}
	return l
}

func (l *load) work(ctx context.Context, c *client, next func(int) call) {
	for i := 0; ctx.Err() == nil; i++ {
		request := next(i)
		started := time.Now()
		// The request is not cut off when the load ends: that would look like a failure.
		got, err := l.send(context.WithoutCancel(ctx), c, request)
		l.note(i, request, got, err, time.Since(started))
		select {
		case <-ctx.Done():
		case <-time.After(pace):
		}
	}
}

func (l *load) send(ctx context.Context, c *client, request call) (answer, error) {
	for {
		got, err := c.try(ctx, request)
		seconds, bad := strconv.Atoi(got.header.Get("Retry-After"))
		if err != nil || bad != nil || got.code < http.StatusTooManyRequests {
			return got, err
		}
		l.again.Add(1)
		time.Sleep(time.Duration(seconds) * time.Second)
	}
}

func (l *load) note(i int, request call, got answer, err error, took time.Duration) {
	l.sent.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, took)
	text := ""
	switch {
	case err != nil:
		text = err.Error()
	case got.code >= 300:
		text = fmt.Sprintf("%d %.300s", got.code, got.body)
	case request.method == http.MethodPatch:
		l.written = append(l.written, i)
		return
	default:
		return
	}
	l.failures = append(l.failures, failure{time.Now(), fmt.Sprintf("%s %s: %s", request.method, request.path, text)})
}

// end ends the load and returns what failed.
func (l *load) end() []failure {
	l.stop()
	l.workers.Wait()
	return l.failures
}

// String tells how it went.
func (l *load) String() string {
	return fmt.Sprintf("%d requests, of which %d failed and %d were told to try again; the longest took %s", l.sent.Load(), len(l.failures), l.again.Load(), l.longest.Round(time.Millisecond))
}

func texts(failures []failure) []string {
	var result []string
	for _, f := range failures {
		result = append(result, f.at.Format("05.000")+" "+f.text)
	}
	return result
}

// watcher follows a Release through the host by watches, each from where the last one ended.
type watcher struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	counts  []int    // the annotation "count", as it was seen to change
	unclean []string // how watches ended that did not end as watches should
	watches int
}

func (r *rig) startWatcher(namespace, version string) *watcher {
	ctx, stop := context.WithCancel(context.Background())
	w := &watcher{stop: stop}
	w.done.Go(func() {
		for ctx.Err() == nil {
			version = w.follow(ctx, r.admin, namespace, version)
		}
	})
	return w
}

// follow watches from a version on until the watch ends, and returns the version then.
func (w *watcher) follow(ctx context.Context, c *client, namespace, version string) string {
	response, err := c.open(ctx, call{method: http.MethodGet, path: releasesPath(namespace) + "?watch=true&fieldSelector=metadata.name%3Dapp&resourceVersion=" + version})
	if err != nil || response.StatusCode != http.StatusOK {
		if err == nil {
			response.Body.Close()
		}
		time.Sleep(pace) // not served for now
		return version
	}
	defer response.Body.Close()
	w.note(func() { w.watches++ })
	reader := bufio.NewReader(response.Body)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			if ctx.Err() == nil && (!errors.Is(err, io.EOF) || len(line) > 0) {
				w.note(func() { w.unclean = append(w.unclean, err.Error()) })
			}
			return version
		}
		version = w.event(line, version)
	}
}

func (w *watcher) event(line []byte, version string) string {
	var event struct {
		Type   string
		Object struct {
			Message  string
			Metadata struct {
				ResourceVersion string
				Annotations     map[string]string
			}
		}
	}
	if err := json.Unmarshal(line, &event); err != nil || event.Type == "ERROR" {
		w.note(func() { w.unclean = append(w.unclean, fmt.Sprintf("%v %s", err, line)) })
		return version
	}
	var count int
	_, _ = fmt.Sscan(event.Object.Metadata.Annotations["count"], &count)
	w.note(func() {
		if len(w.counts) == 0 || w.counts[len(w.counts)-1] != count {
			w.counts = append(w.counts, count)
		}
	})
	return event.Object.Metadata.ResourceVersion
}

func (w *watcher) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// end ends the watching once it has caught up with what was written, and checks what was seen:
// every change, once and in order.
func (w *watcher) end(ctx context.Context, written []int) {
	GinkgoHelper()
	seen := func() []int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(w.counts)
	}
	Eventually(ctx, seen).Should(ContainElement(written[len(written)-1]), "the watch catches up")
	w.stop()
	w.done.Wait()
	Expect(slices.IsSorted(w.counts)).To(BeTrue(), "in order: %v", w.counts)
	Expect(slices.Compact(slices.Clone(w.counts))).To(Equal(w.counts), "once")
	for _, count := range written {
		Expect(slices.Contains(w.counts, count)).To(BeTrue(), "change %d is seen", count)
	}
}
