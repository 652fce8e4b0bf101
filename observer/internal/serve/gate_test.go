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

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gate := newGate(4, 1<<20)
		var mu sync.Mutex
		inside, entered := map[string]int{}, 0
		var leaves []func()
		enter := func(cluster string) {
			go func() {
				leave, err := gate.enter(t.Context(), about(cluster))
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
		g.Expect(gate.lanes).To(BeEmpty(), "nothing is kept of Clusters that nobody asks about")
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
				gate := newGate(4, 1<<20)
				var leaves []func()
				for _, cluster := range test.taken {
					leave, err := gate.enter(t.Context(), about(cluster))
					g.Expect(err).NotTo(HaveOccurred())
					leaves = append(leaves, leave)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				_, err := gate.enter(ctx, about("edge"))
				g.Expect(time.Since(start)).To(Equal(time.Minute), "in the time of the bubble")
				g.Expect(err).To(MatchError(errBusy))
				g.Expect(err).To(MatchError(ContainSubstring(test.want)))
				leaves[0]()
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				leave, err := gate.enter(ctx, about("edge"))
				g.Expect(err).NotTo(HaveOccurred(), "who gave up takes no place")
				for _, leave := range append(leaves[1:], leave) {
					leave()
				}
				g.Expect(gate.lanes).To(BeEmpty())
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
