// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/render"
)

// TestARunWhoseStartWasNotNotedIsTheSameLater: it goes on, whatever came between its start and the
// next look at it.
func TestARunWhoseStartWasNotNotedIsTheSameLater(t *testing.T) {
	away := clusterconn.Classify(context.DeadlineExceeded)
	between := map[string]func(w *world){
		"an outage of the target": func(w *world) {
			w.target.obstacles = map[string]error{"migrate": away}
			for range 3 {
				w.pass()
				w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
				w.after(10 * time.Minute)
			}
			w.target.obstacles = nil
		},
		"a request": func(w *world) {
			w.requestSync("2026-03-01T10:00:30Z")
			w.target.obstacles = map[string]error{"migrate": away}
			w.pass()
			w.target.obstacles = nil
			w.after(longestSoon)
		},
	}
	for name, happens := range between {
		for _, death := range deaths {
			t.Run(name+", "+death, func(t *testing.T) {
				w := newWorld(t, newRelease())
				w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{
					hookOf("first", corev1alpha1.HookPreSync, weight(-1)), hookOf("migrate", corev1alpha1.HookPreSync),
				}
				w.pass()
				began := w.release().Status.Sync.StartedAt
				w.after(10 * time.Second)
				w.hook("first", corev1alpha1.HookSucceeded, "")
				w.dies(death)
				w.Expect(w.target.takeCalls()).To(Equal([]string{"apply first", "apply migrate"}))
				migrate := w.target.uids["migrate"]

				w.after(20 * time.Second)
				happens(w)
				w.pass()
				w.Expect(w.target.takeCalls()).NotTo(ContainElement("prune migrate"))
				w.Expect(w.target.uids["migrate"]).To(Equal(migrate))
				w.Expect(w.job("migrate").UID).To(Equal(migrate))
				w.Expect(w.release().Status.Sync.StartedAt).To(Equal(began), "it is the same sync")
			})
		}
	}
}

// TestASyncHasAllItsTime: time in which nothing could be done does not count, and who asks gives it anew.
func TestASyncHasAllItsTime(t *testing.T) {
	ways := map[string]func(w *world){
		"a request": func(w *world) {
			w.after(defaultTimeout)
			w.requestSync(w.clock.Now().Format(time.RFC3339Nano))
		},
	}
	for name, outage := range outages {
		ways[name] = func(w *world) { outage(w, time.Hour) }
	}
	for name, begins := range ways {
		t.Run(name, func(t *testing.T) {
			w := stagedWorld(t)
			began := w.release().Status.Sync.StartedAt
			ill := health("db", corev1alpha1.HealthProgressing, "starts")
			w.observe(ill)
			w.pass()
			begins(w)
			w.pass()
			w.observe(ill)
			w.pass()
			w.after(defaultTimeout - time.Second)
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForStage"))
			w.Expect(w.condition(corev1alpha1.ConditionHealthy)).To(Equal("False Progressing"))
			w.after(time.Second)
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HealthTimeout"))
			w.Expect(w.condition(corev1alpha1.ConditionHealthy)).To(Equal("False HealthTimeout"))
			w.Expect(w.release().Status.Sync.StartedAt).To(Equal(began), "when it began is another question")
		})
	}
}
