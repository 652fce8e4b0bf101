// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/desired"
)

// about is a question about a Cluster, of nobody in particular.
func about(cluster string) asker {
	return asker{cluster: types.NamespacedName{Namespace: "ns", Name: cluster}}
}

// enter claims a place, and takes it.
func enter(ctx context.Context, g *gate, who asker) (leave func(), err error) {
	turn := g.places.claim(1)
	if err := turn.join(who); err != nil {
		return nil, err
	}
	free, err := turn.take(ctx)
	if err != nil {
		return nil, turn.why(who)
	}
	return func() { turn.leave(who); free() }, nil
}

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gate := newGate(4, newRoom(1<<20, 0))
		var mu sync.Mutex
		inside, entered := map[string]int{}, 0
		var leaves []func()
		enter := func(cluster string) {
			go func() {
				leave, err := enter(t.Context(), gate, about(cluster))
				mu.Lock()
				defer mu.Unlock()
				g.Expect(err).NotTo(HaveOccurred())
				inside[cluster]++
				entered++
				leaves = append(leaves, func() {
					mu.Lock()
					inside[cluster]--
					mu.Unlock()
					leave()
				})
			}()
		}
		for range 10 {
			enter("slow")
		}
		synctest.Wait()
		g.Expect(inside).To(Equal(map[string]int{"slow": 2}), "one Cluster takes half of the places")
		enter("other")
		synctest.Wait()
		g.Expect(inside).To(HaveKeyWithValue("other", 1), "and leaves room for the others")
		for i := range 9 {
			enter(fmt.Sprintf("other-%d", i%5))
		}
		synctest.Wait()
		g.Expect(leaves).To(HaveLen(4))
		for len(leaves) > 0 {
			leave := leaves[0]
			leaves = leaves[1:]
			leave()
			synctest.Wait()
			g.Expect(len(leaves)).To(BeNumerically("<=", 4))
			g.Expect(inside["slow"]).To(BeNumerically("<=", 2))
		}
		g.Expect(entered).To(Equal(20), "all come to their turn")
		g.Expect(gate.places.lanes).To(BeEmpty(), "nothing is kept of Clusters that nobody asks about")
	})
}

func TestWaitingEndsWithTheRequest(t *testing.T) {
	for _, test := range []struct {
		name  string
		taken []string // Clusters whose answers are under way
		want  string
	}{
		{"for the Cluster", []string{"edge", "edge"}, "2 of Cluster edge are worked on at a time"},
		{"for all", []string{"a", "b", "c", "edge"}, "4 are worked on at a time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				gate := newGate(4, newRoom(1<<20, 0))
				var leaves []func()
				for _, cluster := range test.taken {
					leave, err := enter(t.Context(), gate, about(cluster))
					g.Expect(err).NotTo(HaveOccurred())
					leaves = append(leaves, leave)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				_, err := enter(ctx, gate, about("edge"))
				g.Expect(time.Since(start)).To(Equal(time.Minute), "in the time of the bubble")
				g.Expect(err).To(MatchError(errBusy))
				g.Expect(err).To(MatchError(ContainSubstring(test.want)))
				leaves[0]()
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				leave, err := enter(ctx, gate, about("edge"))
				g.Expect(err).NotTo(HaveOccurred(), "who gave up takes no place")
				for _, leave := range append(leaves[1:], leave) {
					leave()
				}
				g.Expect(gate.places.lanes).To(BeEmpty())
			})
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	for _, test := range []struct {
		path string
		// limit for one Cluster; 0: none
		limit int
	}{
		{"/preview/ns/app", concurrentRenders / 2},
		{"/preview/ns/app?revision=v1", concurrentRenders / 2},
		{"/diff/ns/app", concurrentRenders / 2},
		{"/history/ns/app?id=4", concurrentRenders / 2},
		{"/values/ns/app", concurrentRenders / 2},
		{"/health/ns/app", concurrentReports / 2},
		{"/health/ns/app?tree=true", concurrentTrees / 2},
		{"/history/ns/app", 0},
	} {
		t.Run(test.path, func(t *testing.T) {
			w := newWorld(t)
			w.current, w.health = rendered("d"), &corev1alpha1.ReleaseHealth{Objects: []corev1alpha1.ObjectHealthDetail{}}
			w.values = &desired.Values{}
			w.release.Status.History = []corev1alpha1.HistoryEntry{{ID: 4, Render: "sha256:old"}}
			w.byDigest["sha256:old"] = rendered("sha256:old")
			synctest.Test(t, func(*testing.T) { w.askTooMuch(test.path, test.limit) })
		})
	}
}

// askTooMuch asks for more answers than are worked on at a time.
func (w *world) askTooMuch(path string, limit int) {
	w.proceed = make(chan struct{})
	proceed := sync.OnceFunc(func() { close(w.proceed) })
	defer proceed()
	handler := w.server.Handler()
	answers := make(chan *httptest.ResponseRecorder, 2*concurrentReports)
	var asked atomic.Int32
	ask := func(ctx context.Context) {
		recorder := httptest.NewRecorder()
		// Each of another Release of the Cluster: equal questions are answered together.
		another := strings.Replace(path, "/app", "/"+w.another(int(asked.Add(1))), 1)
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, another, nil).WithContext(ctx))
		answers <- recorder
	}
	if limit == 0 {
		for range 2 * concurrentReports {
			go ask(context.Background())
			w.Expect((<-answers).Code).To(Equal(http.StatusOK))
		}
		return
	}
	for range limit {
		go ask(context.Background())
	}
	synctest.Wait()
	w.Expect(w.arrived.Load()).To(BeEquivalentTo(limit))

	cancelled, cancel := context.WithCancel(context.Background())
	limited, end := context.WithTimeout(context.Background(), time.Second)
	defer end()
	for _, end := range []struct {
		ctx  context.Context
		when func()
		code int
	}{
		{cancelled, cancel, http.StatusServiceUnavailable},
		{limited, func() { time.Sleep(time.Second) }, http.StatusGatewayTimeout},
	} {
		go ask(end.ctx)
		synctest.Wait()
		w.Expect(answers).To(BeEmpty(), "it waits")
		w.Expect(w.arrived.Load()).To(BeEquivalentTo(limit), "it is not worked on")
		end.when()
		answer := <-answers
		w.Expect(answer.Code).To(Equal(end.code))
		w.Expect(answer.Body.String()).To(ContainSubstring(fmt.Sprintf("%d of Cluster edge are worked on at a time; ask again later", limit)))
		w.Expect(answer.Body.String()).To(ContainSubstring(`"kind":"Status"`))
	}

	proceed()
	for range limit {
		w.Expect((<-answers).Code).To(Equal(http.StatusOK))
	}
	go ask(context.Background())
	w.Expect((<-answers).Code).To(Equal(http.StatusOK), "the places are given back")
}

// office is a gate with those who have come in, in their order.
type office struct {
	*WithT
	*gate
	in    []string
	leave map[string][]func()
}

// comes has somebody come as often as that, and gives how often he was refused.
func (o *office) comes(ctx context.Context, times int, who asker) (refused int) {
	for range times {
		turn := o.places.claim(1)
		if err := turn.join(who); err != nil {
			refused++
			continue
		}
		go func() {
			free, err := turn.take(ctx)
			if err != nil {
				return
			}
			o.in = append(o.in, who.user)
			o.leave[who.user] = append(o.leave[who.user], func() { turn.leave(who); free() })
		}()
		synctest.Wait()
	}
	return refused
}

// goes has somebody go who is in.
func (o *office) goes(user string) {
	leave := o.leave[user][0]
	o.leave[user] = o.leave[user][1:]
	leave()
	synctest.Wait()
}

func TestAUserLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{WithT: NewWithT(t), gate: newGate(8, newRoom(1, 0)), leave: map[string][]func(){}}
		of := func(user string) asker {
			who := about("edge")
			who.user = user
			return who
		}
		o.Expect(o.comes(t.Context(), 300, of("mallory"))).To(Equal(300-2-maxWaiting/4), "half of what a Cluster has in the line")
		o.Expect(o.in).To(Equal([]string{"mallory", "mallory"}), "and in work")
		o.Expect(o.comes(t.Context(), 3, of("alice"))).To(BeZero(), "others find room")
		o.Expect(o.in[2:]).To(Equal([]string{"alice", "alice"}))
		refused := 100
		for i := range 6 {
			less := o.comes(t.Context(), 100, of(fmt.Sprint("mallory-", i)))
			o.Expect(100-less).To(BeNumerically("<=", refused), "the later, the less")
			refused = 100 - less
		}
		o.Expect(o.comes(t.Context(), 1, of("bob"))).To(BeZero())
		o.Expect(o.comes(t.Context(), 1, of("carol"))).To(Equal(1), "the line is full")
		o.Expect(o.in).To(HaveLen(4))
		o.goes("mallory")
		o.Expect(o.in[4:]).To(Equal([]string{"mallory-0"}), "the first of those who have none")
		for _, user := range []string{"mallory", "mallory-0", "mallory-5", "bob"} {
			o.Expect(o.comes(t.Context(), 1, of(user))).To(Equal(1), "what becomes free in the line is for who has nothing in it")
		}
		o.Expect(o.comes(t.Context(), 1, of("carol"))).To(BeZero())
		o.goes("alice")
		o.Expect(o.in[5:]).To(Equal([]string{"mallory-1"}))

		elsewhere := about("far")
		elsewhere.user = "alice"
		o.Expect(o.comes(t.Context(), 1, elsewhere)).To(BeZero())
		o.Expect(o.in[6:]).To(Equal([]string{"alice"}), "other Clusters have places of their own")
	})
}

// Who has waited is not kept waiting by those who come later.
func TestUsersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{WithT: NewWithT(t), gate: newGate(4, newRoom(1, 0)), leave: map[string][]func(){}}
		for _, user := range []string{"a", "a", "b", "b", "patient", "patient", "alice"} {
			o.comes(t.Context(), 1, asker{user: user})
		}
		o.Expect(o.in).To(Equal([]string{"a", "a", "b", "b"}))
		o.goes("a")
		o.comes(t.Context(), 1, asker{user: "new"})
		o.comes(t.Context(), 1, asker{user: "newer"})
		for _, user := range []string{"patient", "alice", "b", "new"} {
			o.goes(user)
		}
		o.Expect(o.in[4:]).To(Equal([]string{"patient", "alice", "patient", "new", "newer"}))
	})
}

// Nobody waits in the line of another one, whose question he shares.
func TestAClaimIsAsFarInLineAsTheFirstOfThoseWhoHaveJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &office{WithT: NewWithT(t), gate: newGate(4, newRoom(1, 0)), leave: map[string][]func(){}}
		mallory, alice := asker{user: "mallory"}, asker{user: "alice"}
		o.comes(t.Context(), 10, mallory)
		o.Expect(o.in).To(HaveLen(2))
		shared := o.places.claim(1)
		o.Expect(shared.join(mallory)).To(Succeed())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var free func()
		go func() { free, _ = shared.take(ctx) }()
		synctest.Wait()
		o.Expect(free).To(BeNil())
		o.Expect(shared.why(mallory)).To(MatchError(ContainSubstring("2 for one user are worked on")))
		o.Expect(shared.join(alice)).To(Succeed())
		synctest.Wait()
		o.Expect(free).NotTo(BeNil())
		o.Expect(o.places.held(alice)).To(BeEquivalentTo(1), "it counts for her")
		shared.leave(alice)
		o.Expect(o.places.held(alice)).To(BeZero(), "but not when she is gone")
		o.Expect(o.places.held(mallory)).To(BeEquivalentTo(3))
		free()
		shared.leave(mallory)
		o.Expect(o.places.held(mallory)).To(BeEquivalentTo(2))
	})
}
