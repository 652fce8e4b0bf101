// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// longestPause is the longest time between two questions.
const longestPause = questionPause * (1 + questionJitter)

// eventually is how long the tests wait for what happens at once.
const eventually = 20 * time.Second

// line is a server that does with requests and questions as it is told, behind a breaker.
type line struct {
	*WithT
	*breaker
	clock *clocktesting.FakeClock

	mu        sync.Mutex
	requests  int
	questions int
	closings  int  // of idle connections
	silent    bool // nothing is answered
	refuses   error
	status    int
	told      []bool // whether there was an outage, each time that changed was called
}

func newLine(t *testing.T) *line {
	l := &line{WithT: NewWithT(t), clock: newFakeClock(), status: http.StatusOK}
	l.breaker = newBreaker(lineEnd{l}, l.clock, "https://cluster.test", "", func() {
		out := l.outageOver() != nil
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told = append(l.told, out)
	})
	t.Cleanup(l.close)
	return l
}

// lineEnd is the transport under the breaker.
type lineEnd struct{ *line }

func (e lineEnd) RoundTrip(r *http.Request) (*http.Response, error) { return e.serve(r) }

func (e lineEnd) CloseIdleConnections() { e.set(func(l *line) { l.closings++ }) }

func (l *line) serve(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	if r.URL.Path == questionPath {
		l.questions++
	} else {
		l.requests++
	}
	silent, refuses, status := l.silent, l.refuses, l.status
	l.mu.Unlock()
	if silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if refuses != nil {
		return nil, refuses
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader("ok"))}, nil
}

func (l *line) set(change func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// seen gives how many requests and questions arrived, and what was told.
func (l *line) seen() (requests, questions int, told []bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests, l.questions, append([]bool{}, l.told...)
}

func (l *line) asked() int {
	_, questions, _ := l.seen()
	return questions
}

// request sends a request and reads the answer.
func (l *line) request(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://cluster.test/api", nil)
	if err != nil {
		return err
	}
	response, err := l.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.ReadAll(response.Body)
	return errors.Join(err, response.Body.Close())
}

// rests says whether no question is asked, or to be asked.
func (l *line) rests() bool {
	l.breaker.mu.Lock()
	defer l.breaker.mu.Unlock()
	return !l.asking
}

// fails has the line refuse, and waits for the outage.
func (l *line) fails() {
	l.set(func(l *line) { l.refuses = errors.New("connection refused") })
	l.Expect(l.request(context.Background())).To(HaveOccurred())
	l.Eventually(l.outageOver).WithTimeout(eventually).ShouldNot(BeNil())
	l.Eventually(l.clock.HasWaiters).WithTimeout(eventually).Should(BeTrue())
}

func beOutage() OmegaMatcher {
	return WithTransform(func(err error) bool {
		var outage *OutageError
		return errors.As(err, &outage) && errors.Is(err, ErrUnreachable)
	}, BeTrue())
}

func TestATroubleIsAskedAbout(t *testing.T) {
	for _, test := range []struct {
		name  string
		given func(*line)
		asked int
		want  bool // an outage
	}{
		{"well", func(*line) {}, 0, false},
		{"refused", func(l *line) { l.refuses = errors.New("refused") }, 1, true},
		{"nothing behind the load balancer", func(l *line) { l.status = http.StatusBadGateway }, 1, true},
		{"cannot serve", func(l *line) { l.status = http.StatusServiceUnavailable }, 1, true},
		{"does not accept the credentials", func(l *line) { l.status = http.StatusUnauthorized }, 0, false},
		{"an error inside", func(l *line) { l.status = http.StatusInternalServerError }, 0, false},
		{"busy", func(l *line) { l.status = http.StatusTooManyRequests }, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLine(t)
			l.set(test.given)
			_ = l.request(t.Context())
			l.Eventually(func() bool { return l.rests() != test.want && (l.outageOver() != nil) == test.want }).WithTimeout(eventually).Should(BeTrue())
			l.Expect(l.asked()).To(Equal(test.asked))
		})
	}
}

func TestATroubleThatPassesIsNoOutage(t *testing.T) {
	l := newLine(t)
	once := true
	l.delegate = roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != questionPath && once {
			once = false
			return nil, io.EOF
		}
		return l.serve(r)
	})
	l.Expect(l.request(t.Context())).To(MatchError(io.EOF))
	l.Eventually(l.rests).WithTimeout(eventually).Should(BeTrue())
	l.Expect(l.request(t.Context())).To(Succeed())
	requests, questions, told := l.seen()
	l.Expect([]int{requests, questions}).To(Equal([]int{1, 1}))
	l.Expect(told).To(BeEmpty())
}

func TestSilenceIsAnOutage(t *testing.T) {
	l := newLine(t)
	l.set(func(l *line) { l.silent = true })
	const many = 20
	results := make(chan error, many)
	for range many {
		go func() { results <- l.request(t.Context()) }()
	}
	l.Eventually(l.clock.Waiters).WithTimeout(eventually).Should(Equal(many))
	l.clock.Step(patience - 1)
	l.Expect(l.asked()).To(BeZero(), "an answer may take its time")
	l.clock.Step(1)
	l.Eventually(l.clock.Waiters).WithTimeout(eventually).Should(Equal(many+1), "they are patient again, and the question has its time")
	l.Expect(results).To(BeEmpty(), "a server that is slow is not given up")
	l.clock.Step(questionTimeout)
	for range many {
		l.Eventually(results).WithTimeout(eventually).Should(Receive(beOutage()))
	}
	requests, questions, told := l.seen()
	l.Expect([]int{requests, questions}).To(Equal([]int{many, 1}), "one question, however many are in trouble")
	l.Expect(told).To(Equal([]bool{true}))
	l.Expect(l.request(t.Context())).To(MatchError(`target cluster is unreachable: Get "https://cluster.test/livez": no answer within 5s`))
	l.Expect(l.request(t.Context())).To(beOutage())
	requests, _, _ = l.seen()
	l.Expect(requests).To(Equal(many), "nothing is sent any more")
}

func TestASlowServerIsNotGivenUp(t *testing.T) {
	l := newLine(t)
	proceed := make(chan struct{})
	l.delegate = roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != questionPath {
			<-proceed
		}
		return l.serve(r)
	})
	result := make(chan error)
	go func() { result <- l.request(t.Context()) }()
	for i := range 3 {
		l.Eventually(func() bool { return l.clock.HasWaiters() && l.rests() }).WithTimeout(eventually).Should(BeTrue())
		l.clock.Step(patience)
		l.Eventually(l.asked).WithTimeout(eventually).Should(Equal(i+1), "asked again and again")
	}
	l.Eventually(l.rests).WithTimeout(eventually).Should(BeTrue())
	close(proceed)
	l.Expect(<-result).To(Succeed())
	_, _, told := l.seen()
	l.Expect(told).To(BeEmpty())
}

func TestAnOutageEndsByItself(t *testing.T) {
	l := newLine(t)
	l.fails()
	over := l.outageOver()
	l.Expect(l.asked()).To(Equal(1))
	for i := range 3 {
		l.clock.Step(questionPause - 1)
		l.Expect(l.clock.Waiters()).To(Equal(1), "a server that is down is not stormed")
		l.clock.Step(longestPause)
		l.Eventually(l.asked).WithTimeout(eventually).Should(Equal(i + 2))
		l.Eventually(l.clock.HasWaiters).WithTimeout(eventually).Should(BeTrue())
		l.set(func(l *line) { l.Expect(l.closings).To(Equal(i+1), "over a new connection") })
	}
	l.Expect(over).NotTo(BeClosed())

	l.set(func(l *line) { l.refuses = nil })
	l.Expect(l.request(t.Context())).To(beOutage(), "only an answer ends it")
	l.clock.Step(longestPause)
	l.Eventually(over).WithTimeout(eventually).Should(BeClosed())
	l.Expect(l.request(t.Context())).To(Succeed())
	l.Eventually(func() []bool { _, _, told := l.seen(); return told }).WithTimeout(eventually).Should(Equal([]bool{true, false}))
	l.Expect(l.rests()).To(BeTrue())
	l.Eventually(l.clock.HasWaiters).WithTimeout(eventually).Should(BeFalse())

	l.fails()
	l.Expect(l.outageOver()).NotTo(BeNil(), "another one may follow")
}

func TestACallerThatGivesUpIsNoTrouble(t *testing.T) {
	l := newLine(t)
	l.set(func(l *line) { l.silent = true })
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- l.request(ctx) }()
	l.Eventually(l.clock.HasWaiters).WithTimeout(eventually).Should(BeTrue())
	cancel()
	l.Expect(<-result).To(MatchError(context.Canceled))
	l.Expect(l.rests()).To(BeTrue())
	l.Eventually(l.clock.HasWaiters).WithTimeout(eventually).Should(BeFalse())
}

func TestATargetThatIsGivenUpIsNotAskedAboutAnyMore(t *testing.T) {
	l := newLine(t)
	l.fails()
	over := l.outageOver()
	l.close()
	l.Expect(over).To(BeClosed())
	l.Eventually(l.clock.HasWaiters).WithTimeout(eventually).Should(BeFalse())
	l.Expect(l.request(t.Context())).To(MatchError("connection refused"))
	l.Expect(l.asked()).To(Equal(1))
	_, _, told := l.seen()
	l.Expect(told).To(Equal([]bool{true}), "it is nobody's outage any more")
}

// A cluster whose packets are lost, or which hangs up, through all that a Connector puts
// together: connections of all identities see one outage, and are well again after it.
func TestOutageOfACluster(t *testing.T) {
	for _, test := range []struct {
		name   string
		before bool // connections are open when it begins
		breaks func(net.Conn)
	}{
		{"packets are lost", false, loses},
		{"packets are lost on open connections", true, loses},
		{"connections are closed", true, hangsUp},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			network, through := newNetwork(t, f)
			told := make(chan types.NamespacedName, 10)
			clock := newFakeClock()
			connector := New(Options{
				Secrets: kubeconfigSecret(f.kubeconfig(t, canary, through)), Clock: clock,
				Changed: func(cluster types.NamespacedName) { told <- cluster },
			})
			connection, err := connector.Connect(t.Context(), agentless())
			g.Expect(err).NotTo(HaveOccurred())
			other, err := connector.ConnectRelease(t.Context(), agentless(), release(func(r *corev1alpha1.Release) { r.Spec.ServiceAccountName = "a" }))
			g.Expect(err).NotTo(HaveOccurred())
			if test.before {
				_, err = connection.Probe(t.Context())
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(connector.Unreachable("web", "edge")).To(BeFalse())

			network.breaks(test.breaks)
			result := make(chan error, 1)
			go func() {
				_, err := connection.Probe(t.Context())
				result <- err
			}()
			g.Eventually(func() bool {
				clock.Step(time.Second)
				return connector.Unreachable("web", "edge")
			}).WithTimeout(eventually).Should(BeTrue())
			g.Eventually(result).WithTimeout(eventually).Should(Receive(MatchError(ErrUnreachable)))
			g.Eventually(told).WithTimeout(eventually).Should(Receive(Equal(types.NamespacedName{Namespace: "web", Name: "edge"})))
			g.Expect(connection.Outage()).NotTo(BeNil())
			_, _, err = other.Capabilities(t.Context())
			if !test.before {
				g.Expect(err).To(beOutage())
				g.Expect(err.Error()).NotTo(ContainSubstring(canary))
			} else {
				g.Expect(err).NotTo(HaveOccurred(), "what a cluster serves is known yet")
			}
			opened := network.opened()
			for range 10 {
				_, err = other.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Get(t.Context(), "c", metav1.GetOptions{})
				g.Expect(err).To(beOutage())
			}
			g.Expect(network.opened()).To(Equal(opened), "nothing is sent")

			network.works()
			g.Eventually(func() <-chan struct{} {
				clock.Step(longestPause)
				return connection.Outage()
			}).WithTimeout(eventually).WithPolling(time.Second).Should(BeNil(), "a question has time to be answered")
			g.Eventually(told).WithTimeout(eventually).Should(Receive())
			g.Expect(connection.Probe(t.Context())).To(HaveField("Version", "v1.37.2"))
			g.Expect(other.Mapping(t.Context(), configMap)).NotTo(BeNil(), "that it failed a moment ago does not matter")
		})
	}
}

// A watch over which nothing comes any more ends with the outage, not minutes later.
func TestAnOutageEndsWatches(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	network, through := newNetwork(t, f)
	f.handle = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			f.discover(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	clock := newFakeClock()
	connection, err := New(Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary, through)), Clock: clock}).Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	watch, err := connection.Metadata().Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Watch(t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	defer watch.Stop()

	network.breaks(loses)
	go func() { _, _ = connection.Probe(t.Context()) }()
	g.Eventually(func() <-chan struct{} {
		clock.Step(time.Second)
		return connection.Outage()
	}).WithTimeout(eventually).ShouldNot(BeNil())
	g.Eventually(watch.ResultChan()).WithTimeout(eventually).Should(BeClosed())
}

// Old connections are closed as soon as nobody uses them any more, and not before.
func TestReplacedConnectionsAreDrained(t *testing.T) {
	for _, test := range []struct {
		name string
		busy bool
	}{{"idle", false}, {"with a request under way", true}} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			network, through := newNetwork(t, f)
			arrived, proceed := make(chan struct{}), make(chan struct{})
			f.handle = func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/configmaps/slow") {
					close(arrived)
					<-proceed
					writeJSON(w, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "slow"}})
					return
				}
				f.discover(w, r)
			}
			secrets := kubeconfigSecret(f.kubeconfig(t, canary, through))
			clock := newFakeClock()
			connector := New(Options{Secrets: secrets, Clock: clock})
			before, err := connector.Connect(t.Context(), agentless())
			g.Expect(err).NotTo(HaveOccurred())
			_, err = before.Probe(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			result := make(chan error, 1)
			if test.busy {
				go func() {
					_, err := before.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Get(t.Context(), "slow", metav1.GetOptions{})
					result <- err
				}()
				<-arrived
			}

			secrets.set("target", map[string][]byte{"kubeconfig": f.kubeconfig(t, "another", through)})
			clock.Step(recheckInterval)
			after, err := connector.Connect(t.Context(), agentless())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(after).NotTo(BeIdenticalTo(before))
			_, err = after.Probe(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(network.opened()).To(Equal(2))
			if test.busy {
				g.Expect(network.closed).NotTo(Receive())
				close(proceed)
				g.Expect(<-result).NotTo(HaveOccurred(), "it is not disturbed")
			}
			g.Eventually(network.closed).WithTimeout(eventually).Should(Receive(Equal(1)))
		})
	}
}

// What leads to a cluster that does not answer may be mended in the Secret.
func TestANewKubeconfigEndsAnOutage(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	network, through := newNetwork(t, f)
	network.breaks(hangsUp)
	secrets := kubeconfigSecret(f.kubeconfig(t, canary, through))
	clock := newFakeClock()
	connector := New(Options{Secrets: secrets, Clock: clock})
	before, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = before.Probe(t.Context())
	g.Expect(err).To(MatchError(ErrUnreachable))
	g.Eventually(before.Outage).WithTimeout(eventually).ShouldNot(BeNil())
	over := before.Outage()

	secrets.set("target", map[string][]byte{"kubeconfig": f.kubeconfig(t, canary)})
	clock.Step(recheckInterval)
	after, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(connector.Unreachable("web", "edge")).To(BeFalse())
	g.Expect(over).To(BeClosed(), "who waits for it need not wait any more")
	g.Expect(after.Probe(t.Context())).To(HaveField("Version", "v1.37.2"))
}
