// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/bench/report"
)

// against gives a subject whose server is a handler.
func against(t *testing.T, handler http.HandlerFunc) *subject {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s, err := newSubject("one", "example.com", &rest.Config{Host: server.URL})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return s
}

// packed compresses as API servers do, so that who unpacks a stream need not see what comes
// after the text.
func packed(text string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Flush()
	_ = w.Close()
	return out.Bytes()
}

func TestSend(t *testing.T) {
	g := NewWithT(t)
	s := against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			http.Error(w, "it is full", http.StatusConflict)
			return
		}
		g.Expect(r.Header.Get("Accept-Encoding")).To(Equal("gzip"))
		fmt.Fprint(w, r.Method, r.URL, r.Header.Get("Accept"))
	})
	answer := bytes.NewBufferString("before")
	g.Expect(s.send(t.Context(), request{path: s.path("ns", "a", "status"), query: "q=1"}, answer)).To(Succeed())
	g.Expect(answer.String()).To(Equal("GET/apis/example.com/v1alpha1/namespaces/ns/releases/a/status?q=1application/json"))
	g.Expect(s.send(t.Context(), request{method: http.MethodPut, path: "/p"}, answer)).To(MatchError(And(ContainSubstring("409"), ContainSubstring("it is full"))))
	g.Expect(s.wire.Totals()[meter.Key{Of: "client", What: "received", Unit: "bytes"}]).To(BeNumerically(">", 50))
}

func TestWalk(t *testing.T) {
	g := NewWithT(t)
	var asked []string
	pages := map[string][]byte{
		"limit=2":                    []byte(`{"metadata":{"continue":"second=","resourceVersion":"1"},"items":[{}]}`),
		"continue=second%3D&limit=2": packed(`{"items":[{}],"metadata":{"continue":"third"}}`),
		"continue=third&limit=2":     []byte(`{"items":[{}],"metadata":{"continue":"","resourceVersion":"1"}}`),
		"":                           []byte(`{"metadata":{"continue":"never asked for"},"items":[]}`),
	}
	s := against(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		_, _ = w.Write(pages[r.URL.RawQuery])
	})
	times, err := walk(t.Context(), s, 2, "", &bytes.Buffer{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(times).To(HaveLen(1))
	g.Expect(asked).To(Equal([]string{"limit=2", "continue=second%3D&limit=2", "continue=third&limit=2"}))

	asked = nil
	_, err = walk(t.Context(), s, 0, "", &bytes.Buffer{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked).To(Equal([]string{""}))
}

func TestWatchList(t *testing.T) {
	g := NewWithT(t)
	event := func(kind string) string { return `{"type":"` + kind + `","object":{}}` + "\n" }
	for _, encoding := range []string{"", "gzip"} {
		s := against(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", encoding)
			for _, text := range []string{event("ADDED"), event("BOOKMARK")} {
				if encoding == "gzip" {
					text = string(packed(text))
				}
				_, _ = w.Write([]byte(text))
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done() // a watch goes on
		})
		_, err := watchList(t.Context(), s, nil, 0)
		g.Expect(err).NotTo(HaveOccurred(), encoding)
	}
	s := against(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, event("ADDED")) })
	_, err := watchList(t.Context(), s, nil, 0)
	g.Expect(err).To(MatchError(ContainSubstring("watch-list")), "it ended without the bookmark")
}

func TestFanOut(t *testing.T) {
	g := NewWithT(t)
	const watchers = 3
	events := make(chan string, watchers)
	s := against(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPatch:
			for range watchers {
				events <- `{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"8"}}}`
			}
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"8"}}`)
		case r.URL.Query().Get("watch") == "":
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"7"},"items":[]}`)
		default:
			g.Expect(r.URL.Query().Get("resourceVersion")).To(Equal("7"))
			fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8"}}}`)
			w.(http.Flusher).Flush()
			select {
			case event := <-events:
				fmt.Fprintln(w, event)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
			}
			<-r.Context().Done()
		}
	})
	f := &fanOut{watchers: watchers, audiences: map[*subject]*audience{}}
	end, err := f.setUp(t.Context(), s)
	g.Expect(err).NotTo(HaveOccurred())
	times, err := f.change(t.Context(), s, request{method: http.MethodPatch, path: "/p"}, &bytes.Buffer{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(times).To(HaveLen(4))
	g.Expect(times[0]).To(BeNumerically("<=", times[1]), "the median is not after the last")
	g.Expect(times[3]).To(BeNumerically(">=", times[1]), "the request is before the answer")
	end()
	_, err = f.change(t.Context(), s, request{method: http.MethodPatch, path: "/p"}, &bytes.Buffer{})
	g.Expect(err).To(MatchError(ContainSubstring("a watch ended")))
}

func TestRelease(t *testing.T) {
	g := NewWithT(t)
	one, err := release("example.com", objectName(1), 1)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(one).NotTo(ContainSubstring("NAME"))
	object, changed := map[string]any{}, map[string]any{}
	g.Expect(json.Unmarshal(one, &object)).To(Succeed())
	g.Expect(object["apiVersion"]).To(Equal("example.com/v1alpha1"))
	g.Expect(object).To(HaveKey("spec"))
	g.Expect(object).NotTo(HaveKey("status"))

	other, err := waved("example.com", objectName(1), 1, 99)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(other, &changed)).To(Succeed())
	object["spec"].(map[string]any)["wave"] = 99.0
	g.Expect(changed).To(Equal(object), "nothing else differs")

	patch, err := status(objectName(1), 1)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(patch).NotTo(ContainSubstring("DIGEST"))
	g.Expect(string(patch)).To(HavePrefix(`{"status":`))
}

// What follows on an object must change it, whatever the number of objects is.
func TestWavesDiffer(t *testing.T) {
	g := NewWithT(t)
	for _, quick := range []bool{true, false} {
		z := sizesOf(quick)
		for n := range 2000 {
			g.Expect(wave(n)).NotTo(Equal(wave(n + z.objects)))
			g.Expect(wave(n)).NotTo(Equal(wave(n + z.applied)))
		}
	}
}

func TestSidesTakeTurns(t *testing.T) {
	g := NewWithT(t)
	s := sides{ours: &subject{name: "ours"}, reference: &subject{name: "reference"}}
	g.Expect(s.both(0)).To(Equal([]*subject{s.ours, s.reference}))
	g.Expect(s.both(1)).To(Equal([]*subject{s.reference, s.ours}))
}

func TestCompared(t *testing.T) {
	g := NewWithT(t)
	key := meter.Key{Of: "etcd", What: "CPU", Unit: "ms"}
	ours := &record{samples: []report.Samples{{{2}}, {{4}}},
		costs: []meter.Costs{{key: 3}, {key: 90}, {key: 2}}}
	reference := &record{samples: []report.Samples{{{1}}, {{1}}}, costs: []meter.Costs{{key: -5}}}
	got := compared(operation{name: "get", measures: []measure{{"answer", target}, {"more", 0}}}, ours, reference)
	g.Expect(got).To(HaveLen(2))
	g.Expect(got[0].P50).To(Equal(2.0))
	g.Expect(got[0].Missed()).To(BeTrue())
	g.Expect(got[0].Costs).To(Equal([]report.Cost{{Of: "etcd", What: "CPU", Unit: "ms", Ours: 3}}))
	g.Expect(got[1].Work + " " + got[1].Measure).To(Equal("get more"))
	g.Expect(got[1].Missed()).To(BeFalse())
	g.Expect(got[1].Costs).To(BeEmpty(), "they are told once")
}
