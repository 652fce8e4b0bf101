// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Who asks what somebody with a long line has asked before is answered as soon as if that one
// had not.
func TestWhoAsksTheSameDoesNotWaitInAnothersLine(t *testing.T) {
	for _, before := range []bool{false, true} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			w := newWorld(t)
			w.current = rendered("d")
			synctest.Test(t, func(*testing.T) {
				w.proceed = make(chan struct{})
				handler := w.server.Handler()
				var mallory, alice crowd
				for i := range 104 {
					mallory.ask(handler, as("mallory", fmt.Sprintf("/preview/ns/app?revision=%d", i)))
				}
				synctest.Wait()
				if before {
					mallory.ask(handler, as("mallory", "/preview/ns/app"))
					synctest.Wait()
				}
				alice.ask(handler, as("alice", "/preview/ns/app"))
				synctest.Wait()
				w.Expect(w.arrived.Load()).To(BeEquivalentTo(concurrentRenders/4+1), "at once, as mallory leaves room")
				close(w.proceed)
				alice.wg.Wait()
				mallory.wg.Wait()
				w.Expect(alice.count(http.StatusOK)).To(Equal(1))
				w.Expect(w.arrived.Load()).To(BeEquivalentTo(105))
			})
		})
	}
}

// What one is refused for is not what another one is answered.
func TestWhatOneIsRefusedForIsNotAnothersError(t *testing.T) {
	w := newWorld(t)
	w.current = rendered("d")
	synctest.Test(t, func(*testing.T) {
		w.proceed = make(chan struct{})
		handler := w.server.Handler()
		var mallory, carol, alice, bob crowd
		for i := range concurrentRenders/4 + maxWaiting/4 + 1 {
			mallory.ask(handler, as("mallory", fmt.Sprintf("/preview/ns/app?revision=%d", i)))
			synctest.Wait()
		}
		w.Expect(mallory.codes).To(Equal(map[int]int{http.StatusTooManyRequests: 1}), "her line is full")
		carol.ask(handler, as("carol", "/preview/ns/app"))
		synctest.Wait()
		w.Expect(w.arrived.Load()).To(BeEquivalentTo(concurrentRenders/4 + 1))
		// The next to be answered that.
		mallory.ask(handler, as("mallory", "/preview/ns/app"))
		synctest.Wait()
		w.Expect(mallory.codes).To(Equal(map[int]int{http.StatusTooManyRequests: 2}))
		alice.ask(handler, as("alice", "/preview/ns/app"))
		ending, end := context.WithCancel(context.Background())
		bob.ask(handler, as("bob", "/preview/ns/app").WithContext(ending))
		synctest.Wait()
		end()
		bob.wg.Wait()
		w.Expect(bob.codes).To(Equal(map[int]int{http.StatusServiceUnavailable: 1}))
		mallory.ask(handler, as("mallory", "/preview/ns/app"))
		synctest.Wait()
		w.Expect(mallory.codes).To(Equal(map[int]int{http.StatusTooManyRequests: 3}), "nor does she get into line with another one")
		w.Expect(alice.codes).To(BeEmpty(), "she waits on")
		close(w.proceed)
		alice.wg.Wait()
		w.Expect(alice.codes).To(Equal(map[int]int{http.StatusOK: 1}))
		mallory.wg.Wait()
	})
	w.Expect(w.server.questions.last).To(BeEmpty())
}

// Who shares an answer does not wait for another one to read his own.
func TestRoomIsThatOfAnyWhoShareAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		const size = 1 << 20
		qs, gate := &questions{}, newGate(4, newRoom(2*size, 0))
		begun, proceed := make(chan struct{}), make(chan struct{})
		ask := func(user string, f format) (read chan func()) {
			read = make(chan func(), 1)
			go func() {
				body, leave, err := qs.ask(t.Context(), question{kind: "same"}, asking{
					who: asker{user: user}, format: f, gate: gate, places: 1, admit: func() error { return nil },
					work: func(_ context.Context, formats []format) (map[format]written, error) {
						if user == "first" {
							begun <- struct{}{}
							<-proceed
						}
						answers := map[format]written{}
						for _, one := range formats {
							answers[one] = written{body: make([]byte, size/len(formats))}
						}
						if _, ok := answers[formatText]; ok {
							answers[formatText] = written{err: errPanic}
						}
						return answers, nil
					},
				})
				switch {
				case err == nil && len(body) > 0:
					read <- leave
				default:
					g.Expect(err).To(MatchError(errPanic))
					close(read)
				}
			}()
			synctest.Wait()
			return read
		}
		full := gate.unread.claim(size)
		g.Expect(full.join(asker{user: "mallory"})).To(Succeed())
		drop, err := full.take(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		first := ask("first", formatJSON)
		<-begun
		mallory, alice, bob := ask("mallory", formatJSON), ask("alice", formatYAML), ask("bob", formatText)
		close(proceed)
		(<-first)()
		doneReading := <-alice
		g.Expect(<-bob).To(BeNil(), "who cannot be given his format, keeps nobody from another one")
		slowly := <-mallory
		g.Expect(gate.unread.held(asker{user: "alice"})).To(BeEquivalentTo(size/3*2), "there was room for her")
		doneReading()
		g.Expect(gate.unread.held(asker{user: "alice"})).To(BeZero(), "she does not pay for who reads slowly")
		g.Expect(gate.unread.held(asker{user: "mallory"})).To(BeEquivalentTo(size + size/3*2))
		slowly()
		drop()
		g.Expect(gate.unread.lanes).To(BeEmpty())
		g.Expect(gate.places.lanes).To(BeEmpty())
	})
}

// However a question is spelled, and whatever the format, it is the same.
func TestSpellingsOfAQuestionAreTheSame(t *testing.T) {
	for _, spellings := range [][]string{
		{"/health/ns/app?tree=true", "/health/ns/app?tree=1", "/health/ns/app?tree=t", "/health/ns/app?tree=TRUE&output=yaml", "/health/ns/app?output=text&tree=True"},
		{"/health/ns/app", "/health/ns/app?tree=false", "/health/ns/app?tree=0&output=text"},
		{"/preview/ns/app?force=1", "/preview/ns/app?force=true&revision="},
		{"/diff/ns/app", "/diff/ns/app?from=live", "/diff/ns/app?output=patch&to=desired", "/diff/ns/app?from=&to="},
	} {
		t.Run(spellings[0], func(t *testing.T) {
			w := newWorld(t)
			w.current, w.health = rendered("d"), &corev1alpha1.ReleaseHealth{Objects: []corev1alpha1.ObjectHealthDetail{}}
			synctest.Test(t, func(*testing.T) {
				w.proceed = make(chan struct{})
				handler := w.server.Handler()
				var all crowd
				for range 2 {
					for _, path := range spellings {
						all.ask(handler, as("mallory", path))
						synctest.Wait()
					}
				}
				w.Expect(w.arrived.Load()).To(BeEquivalentTo(1))
				close(w.proceed)
				all.wg.Wait()
				w.Expect(all.codes).To(Equal(map[int]int{http.StatusOK: 2 * len(spellings)}))
				w.Expect(w.arrived.Load()).To(BeEquivalentTo(2), "all who came later share one")
			})
		})
	}
}

// Who has read an answer that others still read does not go on paying for it.
func TestWhoHasReadPaysNoMore(t *testing.T) {
	g := NewWithT(t)
	gate := newGate(4, newRoom(1<<30, 0))
	cluster := types.NamespacedName{Namespace: "ns", Name: "edge"}
	alice, mallory := asker{cluster: cluster, user: "alice"}, asker{cluster: cluster, user: "mallory"}
	m := &making{turn: gate.places.claim(1), askers: 2}
	for _, who := range []asker{alice, mallory} {
		g.Expect(m.turn.join(who)).To(Succeed())
	}
	m.kept = gate.keep(m.turn, smallAnswer+1)
	_, err := m.kept.take(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*m.kept.holder).To(Equal(asker{user: "alice"}))
	(&questions{}).leave(m, alice)
	g.Expect(*m.kept.holder).To(Equal(asker{user: "mallory"}))
}
