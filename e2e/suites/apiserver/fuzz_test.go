// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kumodo.io/convoy/e2e/framework/manifests"
)

// How long it goes on, and with what seed; both have defaults.
const (
	fuzzVariable = "CONVOY_E2E_FUZZ"
	seedVariable = "CONVOY_E2E_FUZZ_SEED"
	fuzzTime     = 20 * time.Second
)

const (
	fuzzWorkers = 4
	// answerTime is how long an answer is waited for: longer than the server itself gives a
	// request. What may rightly take for ever, such as a watch, is cut off much sooner.
	answerTime = 90 * time.Second
	cutOff     = 5 * time.Second
	// memory that the process may hold in the end.
	memory = 700 << 20
)

var _ = Describe("Nonsense at every endpoint", func() {
	It("is refused with an answer, and harms nothing", func(ctx SpecContext) {
		length, err := time.ParseDuration(os.Getenv(fuzzVariable))
		if err != nil {
			length = fuzzTime
		}
		seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
		if err != nil {
			seed = uint64(GinkgoRandomSeed())
		}
		AddReportEntry("seed", fmt.Sprintf("%s=%d makes the same requests", seedVariable, seed))
		target := suite.extraReplica(ctx, apiServer+"-fuzzed", "audit-log-path=")

		before := vitals(ctx, target)
		r := suite.fuzz(ctx, target, seed, length)
		Expect(r.requests).To(BeNumerically(">", 100))
		Eventually(ctx, func() error { return vitals(ctx, target).soundAfter(before) }).Should(Succeed())
		after := vitals(ctx, target)
		AddReportEntry("fuzzing", fmt.Sprintf("%s\nbefore %+v\nafter  %+v", r, before, after))
		for fault, example := range r.faults {
			fmt.Fprintf(GinkgoWriter, "FAULT %s\n  %s\n", fault, example)
		}
		Expect(target.Err()).To(Succeed())
		for _, one := range append(suite.replicas, target) {
			Expect(panics(one.log())).To(BeEmpty(), one.Name())
		}
		Expect(slices.Sorted(maps.Keys(r.faults))).To(BeEmpty(), "each with an example above")
		Expect(r.notReady).To(BeZero(), "probes that failed")
	}, NodeTimeout(time.Hour))
})

// fuzzResult is what was seen.
type fuzzResult struct {
	mu       sync.Mutex
	requests int
	notReady int
	codes    map[int]int
	faults   map[string]string // by what is wrong: the first request that showed it
}

func (r *fuzzResult) String() string {
	return fmt.Sprintf("%d requests, answers by code %v", r.requests, r.codes)
}

// fuzz sends requests to a replica, the first worker's by way of the host.
func (r *rig) fuzz(ctx context.Context, target *replica, seed uint64, length time.Duration) *fuzzResult {
	GinkgoHelper()
	endpoints, corpus, namespace := r.endpoints(ctx), readCorpus(), r.namespace(ctx)
	r.checkCorpus(ctx, endpoints, corpus, namespace)
	result := &fuzzResult{codes: map[int]int{}, faults: map[string]string{}}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var workers sync.WaitGroup
	for i := range fuzzWorkers {
		asker := r.admin.at(target)
		if i == 0 {
			asker = r.admin
		}
		workers.Go(func() {
			f := newFuzzer(seed, uint64(i), endpoints, corpus, namespace)
			for number := 0; ctx.Err() == nil; number++ {
				result.try(ctx, asker, f.next(), fmt.Sprintf("worker %d, request %d", i, number))
			}
		})
	}
	workers.Go(func() { result.probe(ctx, r.anonymous().at(target)) })
	workers.Wait()
	return result
}

func (r *fuzzResult) try(ctx context.Context, c *client, request call, which string) {
	limit := answerTime
	if waits(request) {
		limit = cutOff
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	started := time.Now()
	got, err := c.try(ctx, request)
	took := time.Since(started)
	fault := judge(request, got, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	r.codes[got.code]++
	if _, known := r.faults[fault]; fault != "" && !known && len(r.faults) < 40 {
		r.faults[fault] = fmt.Sprintf("%s: %s %.400s (%s %v) %.700q\n  answer after %s: %.400s", which, request.method, request.path, request.contentType, request.header, request.body, took, got)
	}
}

// waits tells whether a request may rightly go on for ever: a watch, or one that waits for a
// version that does not come.
func waits(request call) bool {
	return strings.Contains(request.path, "watch=") || strings.Contains(request.path, "/watch/") || strings.Contains(request.path, "resourceVersion=")
}

// judge tells what is wrong with an answer; nothing when it is empty. Who gives a request
// next to no time may get no answer.
func judge(request call, got answer, err error) string {
	switch {
	case strings.Contains(request.path, "timeout=") && (err != nil || got.code >= 500):
		return ""
	case errors.Is(err, context.DeadlineExceeded) && waits(request):
		return ""
	case err != nil:
		return "no answer: " + digits.ReplaceAllString(err.Error(), "N")
	case got.code < 500 || request.method == http.MethodHead:
		return ""
	}
	status, ok := got.status()
	switch {
	case !ok:
		return fmt.Sprintf("%d that is no Status", got.code)
	case got.code == http.StatusGatewayTimeout && waits(request) && status.Reason == metav1.StatusReasonTimeout, likeBuiltIn(got.code, status.Message):
		return ""
	}
	return digits.ReplaceAllString(fmt.Sprintf("%d %s: %.120s", got.code, status.Reason, status.Message), "N")
}

// status reads the answer as a failure, in JSON or in YAML.
func (a answer) status() (metav1.Status, bool) {
	var status metav1.Status
	err := json.Unmarshal([]byte(a.body), &status)
	if err != nil {
		err = yaml.Unmarshal([]byte(a.body), &status)
	}
	return status, err == nil && status.Status == metav1.StatusFailure && status.Message != ""
}

var digits = regexp.MustCompile(`[0-9]+`)

// probe asks all the time whether the server is ready.
func (r *fuzzResult) probe(ctx context.Context, c *client) {
	for ctx.Err() == nil {
		if got, err := c.try(context.WithoutCancel(ctx), call{method: http.MethodGet, path: "/readyz"}); err != nil || got.code != http.StatusOK {
			r.mu.Lock()
			r.notReady++
			r.mu.Unlock()
		}
		keepOn(ctx, 200*time.Millisecond)
	}
}

// vital signs of a replica.
type vital struct {
	Memory, Peak int64 // bytes
	Goroutines   int
}

func (v vital) soundAfter(before vital) error {
	if v.Memory > memory {
		return fmt.Errorf("it holds %d MiB", v.Memory>>20)
	}
	if v.Goroutines > 2*before.Goroutines+200 {
		return fmt.Errorf("it has %d goroutines, and had %d before", v.Goroutines, before.Goroutines)
	}
	return nil
}

func vitals(ctx context.Context, target *replica) vital {
	GinkgoHelper()
	var v vital
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", target.PID()))
	Expect(err).NotTo(HaveOccurred())
	for _, line := range strings.Split(string(data), "\n") {
		name, value, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			v.Memory = kib << 10
		case "VmHWM":
			v.Peak = kib << 10
		}
	}
	for _, line := range strings.Split(suite.admin.at(target).get(ctx, "/metrics").body, "\n") {
		_, _ = fmt.Sscanf(line, "go_goroutines %d", &v.Goroutines)
	}
	return v
}

// endpoints are all that discovery tells of.
func (r *rig) endpoints(ctx context.Context) []endpoint {
	GinkgoHelper()
	var endpoints []endpoint
	for _, path := range groupPaths {
		var list metav1.APIResourceList
		Expect(json.Unmarshal([]byte(r.admin.get(ctx, path).body), &list)).To(Succeed())
		group, _, _ := strings.Cut(list.GroupVersion, "/")
		for _, resource := range list.APIResources {
			plural, subresource, _ := strings.Cut(resource.Name, "/")
			e := endpoint{group: group, plural: plural, subresource: subresource, kind: resource.Kind, namespaced: resource.Namespaced}
			for _, verb := range resource.Verbs {
				e.methods = append(e.methods, methodOf[verb]...)
			}
			endpoints = append(endpoints, e)
		}
	}
	Expect(len(endpoints)).To(BeNumerically(">=", 8*2+8))
	return endpoints
}

// checkCorpus checks that what is mutated was valid before.
func (r *rig) checkCorpus(ctx context.Context, endpoints []endpoint, corpus map[string]object, namespace string) {
	GinkgoHelper()
	var invalid []string
	for _, e := range endpoints {
		path := "/apis/" + e.group + "/v1alpha1/"
		if e.namespaced {
			path += "namespaces/" + namespace + "/"
		}
		if e.subresource != "" {
			continue
		}
		if got := r.admin.post(ctx, path+e.plural+"?dryRun=All", corpus[e.kind]); got.code != http.StatusCreated {
			invalid = append(invalid, got.message())
		}
	}
	Expect(invalid).To(BeEmpty(), "testdata/corpus.yaml")
}

func readCorpus() map[string]object {
	GinkgoHelper()
	data, err := os.ReadFile("testdata/corpus.yaml")
	Expect(err).NotTo(HaveOccurred())
	parsed, err := manifests.Parse(data)
	Expect(err).NotTo(HaveOccurred())
	corpus := map[string]object{}
	for _, o := range parsed {
		corpus[o.GetKind()] = o.Object
	}
	return corpus
}
