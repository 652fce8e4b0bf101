// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

// A complete check compares what the watches have as clean, too, and only that one.
func TestCompleteChecks(t *testing.T) {
	w := newWorld(t)
	w.drift.FullInterval, w.drift.Resync = time.Hour, 24*time.Hour
	w.applied(configMap, other)
	w.judge()
	w.awaitWatch(configMap)
	w.awaitWatch(other)
	until := w.look().RequeueAfter
	w.Expect(until).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Hour)))
	w.cluster.Asked()

	for range 3 {
		w.clock.Step(until - time.Second)
		w.Expect(w.look().RequeueAfter).To(Equal(time.Second))
		w.Expect(w.cluster.Asked()).To(BeEmpty(), "it is not due yet")
		w.clock.Step(time.Second)
		until = w.look().RequeueAfter
		w.Expect(until).To(Equal(time.Hour))
		w.Expect(w.cluster.Asked()).To(HaveLen(2), "both are read")
		w.look()
		w.Expect(w.cluster.Asked()).To(BeEmpty())
	}
	w.Expect(w.syncs).To(BeZero())
	w.expectInSync("True InSync", "")
}

// A check that is due while nothing can be compared is made when that is over.
func TestACompleteCheckIsNotForgotten(t *testing.T) {
	w := newWorld(t)
	w.drift.FullInterval = time.Hour
	w.applied(configMap)
	w.judge()
	w.awaitWatch(configMap)
	w.look()
	w.cluster.Asked()
	w.setEntries(entry(configMap, "")) // a sync is under way
	w.clock.Step(time.Hour)
	w.look()
	w.Expect(w.cluster.Asked()).To(BeEmpty())
	w.setEntries(entry(configMap, "digest of "+configMap))
	w.look()
	w.Expect(w.cluster.Asked()).To(HaveLen(1))
}

// A check that takes longer than the interval is followed by the next one.
func TestACompleteCheckThatTakesLong(t *testing.T) {
	w := newWorld(t)
	w.drift.FullInterval, w.drift.Resync = time.Minute, 24*time.Hour
	w.applied(configMap)
	w.cluster.Handle("GET "+w.cluster.Path(configMap), func(rw http.ResponseWriter, r *http.Request) {
		w.clock.Step(time.Hour)
		w.cluster.Handle("GET "+w.cluster.Path(configMap), nil)
		w.cluster.ServeHTTP(rw, r)
	})
	w.Expect(w.look().RequeueAfter).To(Equal(time.Second))
}

func TestChecksHaveTimesOfTheirOwn(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	seen := map[time.Time]bool{}
	for _, uid := range []types.UID{"a", "b", "c", "d"} {
		next := nextCheck(uid, time.Hour, now)
		seen[next] = true
		g.Expect(next.Sub(now)).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Hour)))
		g.Expect(nextCheck(uid, time.Hour, next.Add(-time.Nanosecond))).To(Equal(next), "whoever asks, and whenever")
		g.Expect(nextCheck(uid, time.Hour, next)).To(Equal(next.Add(time.Hour)))
	}
	g.Expect(seen).To(HaveLen(4))
}
