// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/render"
)

// files is a source with the same files at every revision.
type files fstest.MapFS

func (files) Resolve(_ context.Context, want fetch.Want) (string, time.Time, error) {
	if want.Revision != "" {
		return want.Revision, time.Time{}, nil
	}
	return "main@sha1:1", time.Time{}, nil
}

func (f files) Fetch(_ context.Context, _ fetch.Want, revision string) (*fetch.Artifact, error) {
	return &fetch.Artifact{Revision: revision, Root: fstest.MapFS(f), Path: ".", Digest: "sha256:1", RootDigest: "sha256:1"}, nil
}

// draw has the Release drawn from a source, and rendered for real.
func (w *world) draw(content files) *render.Renderer {
	w.release.Spec.Source.Git = &corev1alpha1.GitSource{RepositoryRef: corev1alpha1.LocalReference{Name: "repo"}}
	indexer := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	git := indexer()
	w.Expect(git.Add(&sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "repo"}})).To(Succeed())
	lookup := sources.Lookup{
		GitRepositories: sourcelisters.NewGitRepositoryLister(git),
		HelmRegistries:  sourcelisters.NewHelmRegistryLister(indexer()), OCIRegistries: sourcelisters.NewOCIRegistryLister(indexer()),
	}
	renderer := render.New(render.Options{})
	w.server.Desired = &desired.Resolver{Sources: lookup, Fetch: content, Renderer: renderer, References: desired.References{Fetch: content, Sources: lookup}}
	return renderer
}

// waiting is how many wait for the answer to the Release's preview that comes next.
func (w *world) waiting() int {
	qs := &w.server.questions
	qs.mu.Lock()
	defer qs.mu.Unlock()
	n := 0
	for _, m := range qs.last {
		if !m.begun {
			n += m.askers
		}
	}
	return n
}

func TestAThousandPreviewsCostOneRender(t *testing.T) {
	const asking, objects = 1000, 20
	w := newWorld(t)
	content := files{}
	for i := range objects {
		content[fmt.Sprintf("%d.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-%d}}", i)}
	}
	renderer := w.draw(content)
	// The target answers when all have asked.
	proceed := make(chan struct{})
	answerNow := sync.OnceFunc(func() { close(proceed) })
	defer answerNow()
	begun := make(chan struct{}, objects)
	for i := range objects {
		path := w.cluster.Path(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm-%d}}", i))
		w.cluster.Handle("GET "+path, func(rw http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			<-proceed
			w.cluster.Handle("GET "+path, nil)
			w.cluster.ServeHTTP(rw, r) // which notes it once more
		})
	}
	handler := w.server.Handler()
	answers := make(chan *httptest.ResponseRecorder, asking)
	ask := func() {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/preview/ns/app", nil))
		answers <- recorder
	}
	go ask()
	<-begun // who asks from now on waits for the next answer
	for range asking - 1 {
		go ask()
	}
	w.Eventually(w.waiting, time.Minute).Should(Equal(asking - 1))
	answerNow()
	plans := map[string]int{}
	for range asking {
		answer := <-answers
		w.Expect(answer.Code).To(Equal(http.StatusOK), answer.Body.String())
		plans[answer.Body.String()]++
	}
	w.Expect(plans).To(HaveLen(1), "all get the same answer")
	w.Expect(renderer.Stats().Renders).To(BeEquivalentTo(1))
	w.Expect(w.cluster.Asked()).To(HaveLen(2*2*objects+objects), "a read and a dry run of each object, for the first who asked and for all others; and the reads that waited")
	w.Expect(w.server.questions.last).To(BeEmpty(), "nothing is kept")
}

// Who asks after a change must not be shown what was before it.
func TestAnswersBeginAfterTheirQuestions(t *testing.T) {
	w := newWorld(t)
	w.put(configMap)
	w.current = rendered("d", configMap)
	w.proceed = make(chan struct{})
	handler := w.server.Handler()
	ask := func(to chan<- string) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/diff/ns/app", nil))
		to <- recorder.Body.String()
	}
	first, second := make(chan string, 1), make(chan string, 1)
	go ask(first)
	w.Eventually(w.arrived.Load, time.Minute).Should(BeEquivalentTo(1))
	w.current = rendered("d", changed)
	go ask(second)
	w.Eventually(w.waiting, time.Minute).Should(Equal(1))
	close(w.proceed)
	<-first
	w.Expect(<-second).To(ContainSubstring(`"changed":true`))
	w.Expect(w.arrived.Load()).To(BeEquivalentTo(2))
}

func TestAnAnswerGoesOnForThoseWhoStay(t *testing.T) {
	w := newWorld(t)
	w.current = rendered("d")
	synctest.Test(t, func(*testing.T) {
		w.proceed = make(chan struct{})
		handler := w.server.Handler()
		ask := func(ctx context.Context) chan int {
			code := make(chan int, 1)
			go func() {
				recorder := httptest.NewRecorder()
				handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/preview/ns/app", nil).WithContext(ctx))
				code <- recorder.Code
			}()
			synctest.Wait()
			return code
		}
		leaving, leave := context.WithCancel(context.Background())
		first := ask(context.Background())
		gone, stays := ask(leaving), ask(context.Background())
		leave()
		w.Expect(<-gone).To(Equal(http.StatusServiceUnavailable))
		close(w.proceed)
		w.Expect(<-first).To(Equal(http.StatusOK))
		w.Expect(<-stays).To(Equal(http.StatusOK))
		w.Expect(w.arrived.Load()).To(BeEquivalentTo(2))
	})
}

func TestAPanicIsAnAnswer(t *testing.T) {
	w := newWorld(t)
	w.server.Health = panics{}
	code, body := w.get("/health/ns/app")
	w.Expect(code).To(Equal(http.StatusInternalServerError))
	w.Expect(body).NotTo(ContainSubstring("canary"))
	w.health = &corev1alpha1.ReleaseHealth{Objects: []corev1alpha1.ObjectHealthDetail{}}
	w.server.Health = w
	answer[corev1alpha1.ReleaseHealth](w, "/health/ns/app")
}

type panics struct{}

func (panics) Report(context.Context, *corev1alpha1.Release) (*corev1alpha1.ReleaseHealth, error) {
	panic("canary")
}

// as gives a request of a user, on a connection of convoy-apiserver.
func as(user, target string) *http.Request {
	req := httptest.NewRequest(http.MethodGet, target, nil)
	req.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
	req.Header.Set("X-Remote-User", user)
	return req
}

// crowd asks as many users, each many different questions, and counts the answers by code.
type crowd struct {
	mu    sync.Mutex
	codes map[int]int
	wg    sync.WaitGroup
}

func (c *crowd) ask(handler http.Handler, req *http.Request) {
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, req)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.codes == nil {
			c.codes = map[int]int{}
		}
		c.codes[recorder.Code]++
	}()
}

func (c *crowd) count(code int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.codes[code]
}

func TestAHostileCrowdIsRefused(t *testing.T) {
	w := newWorld(t)
	w.current, w.health = rendered("d"), &corev1alpha1.ReleaseHealth{Objects: []corev1alpha1.ObjectHealthDetail{}}
	synctest.Test(t, func(*testing.T) {
		w.proceed = make(chan struct{})
		handler := w.server.Handler()
		before := runtime.NumGoroutine()
		var hostile crowd
		const users, questions = 20, 500
		for user := range users {
			for i := range questions {
				hostile.ask(handler, as(fmt.Sprintf("mallory-%d", user), fmt.Sprintf("/preview/ns/app?revision=%d-%d", user, i)))
			}
		}
		synctest.Wait()
		w.Expect(w.arrived.Load()).To(BeEquivalentTo(concurrentRenders/2), "one Cluster has half of the places")
		waiting := users*questions - hostile.count(http.StatusTooManyRequests)
		w.Expect(waiting).To(BeNumerically("<=", maxWaiting/2+concurrentRenders), "the others are refused at once")
		w.Expect(runtime.NumGoroutine()-before).To(BeNumerically("<=", 2*waiting+10), "and cost nothing any more")

		// Who asks about another Cluster, or for what needs no render, is answered meanwhile.
		other := w.release.DeepCopy()
		other.Name, other.Spec.ClusterRef.Name = "elsewhere", "far"
		w.Expect(w.releases.Add(other)).To(Succeed())
		w.Expect(w.clusters.Add(&corev1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "far"}, Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster},
		})).To(Succeed())
		held := w.proceed
		w.proceed = nil
		for _, path := range []string{"/preview/ns/elsewhere", "/health/ns/app", "/history/ns/app", "/health/ns/app?tree=true"} {
			recorder := httptest.NewRecorder()
			start := time.Now()
			handler.ServeHTTP(recorder, as("alice", path))
			w.Expect(recorder.Code).To(Equal(http.StatusOK), path)
			w.Expect(time.Since(start)).To(BeZero(), "in the time of the bubble")
		}
		// And what becomes free in the line of the Cluster is for who has nothing in it.
		var patient crowd
		w.proceed = held
		held <- struct{}{}
		synctest.Wait()
		patient.ask(handler, as("alice", "/preview/ns/app"))
		synctest.Wait()
		w.Expect(patient.codes).To(BeEmpty())
		close(held)
		patient.wg.Wait()
		w.Expect(patient.count(http.StatusOK)).To(Equal(1))
		hostile.wg.Wait()
		w.Expect(hostile.count(http.StatusOK) + hostile.count(http.StatusTooManyRequests)).To(Equal(users * questions))
	})
	w.Expect(w.server.questions.last).To(BeEmpty())
}

func TestOneUserIsAnsweredAtARate(t *testing.T) {
	w := newWorld(t)
	w.current = rendered("d")
	synctest.Test(t, func(*testing.T) {
		handler := w.server.Handler()
		ask := func(req *http.Request) *httptest.ResponseRecorder {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, req)
			return recorder
		}
		for i := range answersAtOnce {
			w.Expect(ask(as("mallory", fmt.Sprintf("/preview/ns/app?revision=%d", i))).Code).To(Equal(http.StatusOK))
		}
		refused := ask(as("mallory", "/preview/ns/app?revision=more"))
		w.Expect(refused.Code).To(Equal(http.StatusTooManyRequests))
		w.Expect(refused.Header().Get("Retry-After")).To(Equal("2"))
		w.Expect(refused.Body.String()).To(And(ContainSubstring(`"reason":"TooManyRequests"`), ContainSubstring("ask again later")))
		another := as("mallory", "/preview/ns/app?revision=more")
		another.Header.Set("X-Remote-Extra-Authentication.kubernetes.io%2Fcredential-Id", "JTI=1")
		w.Expect(ask(another).Code).To(Equal(http.StatusTooManyRequests), "another token makes nobody another user")
		w.Expect(ask(as("alice", "/preview/ns/app?revision=more")).Code).To(Equal(http.StatusOK), "others are")
		anybody := as("mallory", "/preview/ns/app?revision=more")
		anybody.TLS = nil
		w.Expect(ask(anybody).Code).To(Equal(http.StatusOK), "who shows no certificate is not believed to be somebody")
		time.Sleep(2 * time.Second)
		w.Expect(ask(as("mallory", "/preview/ns/app?revision=more")).Code).To(Equal(http.StatusOK))
	})
}

// Each token of a service account has an extra of its own.
func TestAnotherTokenMakesNobodyAnotherUser(t *testing.T) {
	for _, asCaller := range []bool{false, true} {
		t.Run(fmt.Sprint(asCaller), func(t *testing.T) {
			w := newWorld(t)
			w.server.AsCaller = asCaller
			w.current = rendered("d")
			synctest.Test(t, func(*testing.T) {
				w.proceed = make(chan struct{})
				handler := w.server.Handler()
				token := func(i int, path string) *http.Request {
					req := as("system:serviceaccount:ns:ci", path)
					req.Header.Set("X-Remote-Extra-Authentication.kubernetes.io%2Fcredential-Id", fmt.Sprintf("JTI=%d", i))
					return req
				}
				var account, bob crowd
				for i := range maxWaiting {
					account.ask(handler, token(i, fmt.Sprintf("/preview/ns/app?revision=%d", i)))
				}
				synctest.Wait()
				w.Expect(w.arrived.Load()).To(BeEquivalentTo(concurrentRenders/4), "in work")
				w.Expect(account.count(http.StatusTooManyRequests)).To(Equal(maxWaiting-maxWaiting/4-concurrentRenders/4), "in line")
				for i := range maxRequests {
					account.ask(handler, token(i%50, "/preview/ns/app?revision=0"))
				}
				synctest.Wait()
				bob.ask(handler, as("bob", "/preview/ns/app"))
				close(w.proceed)
				bob.wg.Wait()
				w.Expect(bob.count(http.StatusOK)).To(Equal(1), "others find room")
				account.wg.Wait()
			})
		})
	}
}

func TestRequestsAreCounted(t *testing.T) {
	g := NewWithT(t)
	var r requests
	var leaves []func()
	for range maxRequests / 2 {
		leave, err := r.enter("mallory")
		g.Expect(err).NotTo(HaveOccurred())
		leaves = append(leaves, leave)
	}
	_, err := r.enter("mallory")
	g.Expect(err).To(MatchError(ContainSubstring("of one user")))
	for range maxRequests / 2 {
		leave, err := r.enter("")
		g.Expect(err).NotTo(HaveOccurred())
		leaves = append(leaves, leave)
	}
	_, err = r.enter("alice")
	g.Expect(err).To(MatchError(ContainSubstring("are here already")))
	for _, leave := range leaves {
		leave()
	}
	g.Expect(r.all).To(BeZero())
	g.Expect(r.byUser).To(BeEmpty())
}

func TestUnreadAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gate := newGate(4, newRoom(8<<20, 0))
		hold := func(user string, size int) (drop func(), held bool) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			turn := gate.places.claim(0)
			g.Expect(turn.join(asker{user: user})).To(Succeed())
			kept := gate.keep(turn, size)
			if kept == nil {
				return func() {}, true
			}
			drop, err := kept.take(ctx)
			if err != nil {
				g.Expect(err).To(MatchError(errBusy))
			}
			return drop, err == nil
		}
		first, held := hold("mallory", 3<<20)
		g.Expect(held).To(BeTrue())
		_, held = hold("mallory", 3<<20)
		g.Expect(held).To(BeFalse(), "one user has half")
		small, held := hold("mallory", smallAnswer)
		g.Expect(held).To(BeTrue(), "a small one is always kept")
		large, held := hold("alice", 100<<20)
		g.Expect(held).To(BeTrue(), "one that is larger than all counts as half")
		_, held = hold("bob", 2<<20)
		g.Expect(held).To(BeFalse())
		for _, drop := range []func(){first, small, large} {
			drop()
		}
		g.Expect(gate.unread.lanes).To(BeEmpty())
	})
}

// deadline records until when an answer may be read.
type deadline struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadline) SetWriteDeadline(until time.Time) error {
	d.until = until
	return nil
}

func TestClientsHaveToRead(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(*testing.T) {
		for _, path := range []string{"/history/ns/app", "/history/ns/another"} {
			writer := &deadline{ResponseRecorder: httptest.NewRecorder()}
			w.server.Handler().ServeHTTP(writer, httptest.NewRequest(http.MethodGet, path, nil))
			w.Expect(writer.until).To(Equal(time.Now().Add(readTimeout)))
		}
	})
}

// lazy is a client that does not read its answer until it is told to.
type lazy struct {
	*httptest.ResponseRecorder
	reading *atomic.Int32
	read    chan struct{}
}

func (l *lazy) Write(data []byte) (int, error) {
	l.reading.Add(1)
	<-l.read
	return len(data), nil
}

func TestSlowReadersLeaveRoom(t *testing.T) {
	const answerBytes, readers = 8 << 20, 24
	w := newWorld(t)
	w.byDigest["sha256:large"] = rendered("sha256:large",
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm}, data: {a: '"+strings.Repeat("x", answerBytes)+"'}}")
	for id := range readers {
		w.release.Status.History = append(w.release.Status.History, corev1alpha1.HistoryEntry{ID: int64(id), Render: "sha256:large"})
	}
	synctest.Test(t, func(*testing.T) {
		handler := w.server.Handler()
		var reading atomic.Int32
		read := make(chan struct{})
		var wg sync.WaitGroup
		for id := range readers {
			wg.Go(func() {
				writer := &lazy{httptest.NewRecorder(), &reading, read}
				handler.ServeHTTP(writer, as(fmt.Sprintf("user-%d", id), fmt.Sprintf("/history/ns/app?id=%d", id)))
			})
		}
		synctest.Wait()
		held := reading.Load()
		w.Expect(held).To(BeNumerically("<=", unreadRenders/answerBytes), "no more is kept than there is room for")
		w.Expect(held).To(BeNumerically(">", unreadRenders/answerBytes/2))
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, as("alice", "/history/ns/app"))
		w.Expect(recorder.Code).To(Equal(http.StatusOK), "what is short, or of another kind, is given")
		close(read)
		wg.Wait()
		w.Expect(reading.Load()).To(BeEquivalentTo(readers), "all come to their turn")
	})
}

func TestTooLongAnswersAreNotGiven(t *testing.T) {
	w := newWorld(t)
	large := make([]string, 9)
	for i := range large {
		large[i] = fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cm-%d}, data: {a: '%s'}}", i, strings.Repeat("x", 8<<20))
	}
	w.byDigest["sha256:large"] = rendered("sha256:large", large...)
	w.release.Status.History = []corev1alpha1.HistoryEntry{{ID: 1, Render: "sha256:large"}}
	code, body := w.get("/history/ns/app?id=1")
	w.Expect(code).To(Equal(http.StatusRequestEntityTooLarge), body)
	w.Expect(body).To(ContainSubstring("more than 67108864 bytes"))
}
