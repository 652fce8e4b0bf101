// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestCPUTime(t *testing.T) {
	for _, test := range []struct {
		name, given string
		want        time.Duration
		fails       bool
	}{
		{name: "plain", given: "7 (etcd) S 1 7 7 0 -1 4194560 10 0 0 0 250 50 0 0 20 0 9 0 4711 1 1", want: 3 * time.Second},
		{name: "a name with spaces", given: "7 (a b) c) S 1 7 7 0 -1 4194560 10 0 0 0 1 2 0 0 20 0 9 0 4711 1 1", want: 30 * time.Millisecond},
		{name: "cut off", given: "7 (etcd) S 1 7", fails: true},
		{name: "no number", given: "7 (etcd) S 1 7 7 0 -1 4194560 10 0 0 0 x 50 0 0", fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := cpuTime(test.given)
			g.Expect(err != nil).To(Equal(test.fails))
			g.Expect(got).To(Equal(test.want))
		})
	}
}

func TestMemory(t *testing.T) {
	g := NewWithT(t)
	status := "Name:\tetcd\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nRssAnon:\t     512 kB\n"
	g.Expect(memory(status, "VmRSS")).To(BeEquivalentTo(1 << 20))
	g.Expect(memory(status, "RssAnon")).To(BeEquivalentTo(512 << 10))
	g.Expect(memory(status, "VmHWM")).To(BeEquivalentTo(2 << 20))
	g.Expect(memory(status, "VmSwap")).To(BeZero())
}

func TestUsageOfThisProcess(t *testing.T) {
	g := NewWithT(t)
	usage, err := ReadUsage(os.Getpid())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(usage.Resident).To(BeNumerically(">", 1<<20))
	g.Expect(usage.Peak).To(BeNumerically(">=", usage.Resident))
	_, err = ReadUsage(-1)
	g.Expect(err).To(MatchError(os.ErrNotExist))
}

const exposition = `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200",path="/a\"b,}="} 3
requests_total{code="200",path="/c"} 4.5
requests_total{code="500",path="/c"} 1e+02
requests_total_more{code="200"} 1000
plain 7
plain_more 1000
`

func TestSum(t *testing.T) {
	g := NewWithT(t)
	values, err := sum(strings.NewReader(exposition), []Counter{
		{Metric: "requests_total"},
		{Metric: "requests_total", Labels: map[string]string{"code": "200"}},
		{Metric: "requests_total", Labels: map[string]string{"code": "200", "path": `/a"b,}=`}},
		{Metric: "requests_total", Labels: map[string]string{"none": "x"}},
		{Metric: "plain", Scale: 0.5},
		{Metric: "absent"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(values).To(Equal([]float64{107.5, 7.5, 3, 0, 3.5, 0}))

	for _, broken := range []string{"m{a=1} 2\n", "m{a} 2\n", "m{a=\"b\"}\n", "m x\n"} {
		_, err := sum(strings.NewReader(broken), []Counter{{Metric: "m"}})
		g.Expect(err).To(HaveOccurred(), broken)
	}
}

// counting serves a counter that rises by ten with each reading, and by what add says.
func counting(t *testing.T) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var total atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "made_total %d\n", total.Add(10))
	}))
	t.Cleanup(server.Close)
	return server, &total
}

func TestMeasure(t *testing.T) {
	g := NewWithT(t)
	server, total := counting(t)
	m, err := New(t.Context(), Process{Name: "self", PID: os.Getpid(), MetricsURL: server.URL, Client: server.Client(),
		Counters: []Counter{{What: "made", Metric: "made_total"}}})
	g.Expect(err).NotTo(HaveOccurred())

	costs, err := m.Measure(t.Context(), func() error { total.Add(5); return nil })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(costs).To(HaveKeyWithValue(Key{Of: "self", What: "made"}, 5.0), "what reading costs is taken off")
	g.Expect(costs).To(HaveKey(Key{Of: "self", What: "CPU", Unit: "ms"}))

	memory, err := m.Memory()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(memory["self"].Resident).To(BeNumerically(">", 0))

	failed := errors.New("failed")
	_, err = m.Measure(t.Context(), func() error { return failed })
	g.Expect(err).To(MatchError(failed))
	server.Close()
	_, err = m.Measure(t.Context(), func() error { return nil })
	g.Expect(err).To(MatchError(ContainSubstring("self")))
}

func TestWire(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	wire := &Wire{}
	client := &http.Client{Transport: &http.Transport{DialContext: wire.Dial}}
	body := strings.Repeat("x", 100_000)
	response, err := client.Post(server.URL, "text/plain", strings.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	for _, bytes := range wire.Totals() {
		g.Expect(bytes).To(And(BeNumerically(">", 100_000), BeNumerically("<", 110_000)))
	}
}
