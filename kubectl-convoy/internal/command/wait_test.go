// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/flowcontrol"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// watchServer answers a request for a sync, and lets every other request, which lists and
// watches, be answered by events.
func watchServer(events http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			send(w, newRelease())
			return
		}
		events(w, req)
	}
}

// stream answers a watch with the states of a Release, one after the other, and leaves it
// open.
func stream(w http.ResponseWriter, req *http.Request, states ...*corev1alpha1.Release) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	write := func(kind watch.EventType, release *corev1alpha1.Release) {
		data, _ := json.Marshal(release)
		_ = encoder.Encode(metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: data}})
		w.(http.Flusher).Flush()
	}
	for i, state := range states {
		kind := watch.Modified
		if i == 0 {
			kind = watch.Added
		}
		write(kind, state)
		if i == 0 {
			end := &corev1alpha1.Release{TypeMeta: state.TypeMeta}
			end.ResourceVersion = "1"
			end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
			write(watch.Bookmark, end)
		}
	}
	<-req.Context().Done()
}

func TestSyncWaitsForAGate(t *testing.T) {
	g := NewWithT(t)
	waiting := newRelease(ready(metav1.ConditionFalse, "WaitingForGate", "waits"), gated(corev1alpha1.GateStatus{Name: "go"}))
	synced := newRelease(handledAt(requestedAt), ready(metav1.ConditionTrue, "Ready", "2 objects are applied"), gated(corev1alpha1.GateStatus{Name: "go", Approved: true}))
	synced.ResourceVersion = "2"
	code, out, errOut := runAgainst(t, context.Background(), watchServer(func(w http.ResponseWriter, req *http.Request) {
		stream(w, req, waiting, synced)
	}), "sync", "web", "--wait")
	g.Expect(code).To(Equal(0))
	g.Expect(out).To(Equal("release.core.convoy.kumodo.io/web sync requested\n"))
	g.Expect(errOut).To(MatchRegexp("^waiting for the approval of gate go; approve with: kubectl .*\nReady: 2 objects are applied\n$"))
}

func TestSyncEndsAfterItsTimeout(t *testing.T) {
	g := NewWithT(t)
	code, _, errOut := runAgainst(t, context.Background(), watchServer(func(_ http.ResponseWriter, req *http.Request) {
		<-req.Context().Done()
	}), "sync", "web", "--wait", "--timeout", "10ms")
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(HavePrefix("error: Release shop/web is not synced after 10ms: "))
}

func TestSyncEndsWhenInterrupted(t *testing.T) {
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(context.Background())
	code, _, errOut := runAgainst(t, ctx, watchServer(func(_ http.ResponseWriter, req *http.Request) {
		interrupt()
		<-req.Context().Done()
	}), "sync", "web", "--wait")
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(Equal("error: interrupted: the sync of Release shop/web goes on\n"))
}

func TestSyncThatMayNotBeWatched(t *testing.T) {
	g := NewWithT(t)
	code, _, errOut := runAgainst(t, context.Background(), watchServer(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "eve may not watch releases")
	}), "sync", "web", "--wait")
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(Equal("error: watching Release shop/web: eve may not watch releases\n"))
}

func TestSyncThatCannotBeWatchedForAWhile(t *testing.T) {
	g := NewWithT(t)
	synced := newRelease(handledAt(requestedAt), ready(metav1.ConditionTrue, "Ready", "2 objects are applied"))
	var asked atomic.Int32
	code, _, errOut := runAgainst(t, context.Background(), watchServer(func(w http.ResponseWriter, req *http.Request) {
		if asked.Add(1) == 1 {
			refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd has no leader")
			return
		}
		if !req.URL.Query().Has("watch") {
			send(w, &corev1alpha1.ReleaseList{TypeMeta: typeMeta("ReleaseList"), Items: []corev1alpha1.Release{*synced}})
			return
		}
		stream(w, req, synced)
	}), "sync", "web", "--wait")
	g.Expect(code).To(Equal(0))
	g.Expect(errOut).To(Equal("watching Release shop/web is tried again: etcd has no leader\nReady: 2 objects are applied\n"))
}

func TestLateWithoutSightSaysNothingOld(t *testing.T) {
	g := NewWithT(t)
	var told bytes.Buffer
	f := &follower{requested: newRelease(), out: &told}
	_, err := f.see(watch.Event{Type: watch.Added, Object: newRelease(ready(metav1.ConditionFalse, "WaitingForWave", "waiting for Release db"))})
	g.Expect(err).NotTo(HaveOccurred())
	gone, end := context.WithCancel(context.Background())
	end()
	f.asked(gone, errors.New("context canceled"))
	g.Expect(f.late(time.Second)).To(MatchError(ContainSubstring("waiting for Release db")), "the end of the wait is no failure")

	f.asked(context.Background(), errors.New("no route to host"))
	f.asked(context.Background(), errors.New("no route to host"))
	g.Expect(f.late(time.Second)).To(MatchError("it is not known whether Release shop/web is synced after 1s: no route to host"))
	f.asked(context.Background(), nil)
	g.Expect(f.late(time.Second)).To(MatchError(ContainSubstring("waiting for Release db")))
	g.Expect(told.String()).To(Equal("waiting for Release db\nwatching Release shop/web is tried again: no route to host\n"))
}

func TestSyncTellsTheEndOfEachHookOnce(t *testing.T) {
	g := NewWithT(t)
	hook := func(name string, phase corev1alpha1.HookPhase, uid types.UID) corev1alpha1.HookStatus {
		start := metav1.NewTime(time.Unix(1000, 0))
		end := metav1.NewTime(time.Unix(1012, 0))
		return corev1alpha1.HookStatus{Name: name, On: corev1alpha1.HookPreSync, Phase: phase, StartedAt: &start, FinishedAt: &end, Object: &corev1alpha1.ObjectUID{UID: uid}}
	}
	with := func(hooks ...corev1alpha1.HookStatus) *corev1alpha1.Release {
		return newRelease(func(r *corev1alpha1.Release) { r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Hooks: hooks} })
	}
	var told bytes.Buffer
	f := &follower{requested: with(hook("before", corev1alpha1.HookFailed, "1"), hook("again", corev1alpha1.HookSucceeded, "1")), out: &told}
	for _, now := range []*corev1alpha1.Release{
		newRelease(),
		with(hook("before", corev1alpha1.HookFailed, "1"), hook("again", corev1alpha1.HookRunning, "2"), hook("new", corev1alpha1.HookRunning, "3")),
		with(hook("again", corev1alpha1.HookSucceeded, "2"), hook("new", corev1alpha1.HookFailed, "3")),
		with(hook("again", corev1alpha1.HookSucceeded, "2"), hook("new", corev1alpha1.HookFailed, "3")),
	} {
		_, err := f.see(watch.Event{Type: watch.Modified, Object: now})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(told.String()).To(Equal("preSync hook again succeeded after 12s\npreSync hook new failed after 12s\n"))
}

func TestSyncsOfManyAreToldApart(t *testing.T) {
	g := NewWithT(t)
	release := func(name string, change func(*corev1alpha1.Release)) *corev1alpha1.Release {
		return newRelease(named(name), handledAt(requestedAt), change)
	}
	states := map[string]*corev1alpha1.Release{
		"a": release("a", ready(metav1.ConditionTrue, "Ready", "all well")),
		"b": release("b", suspended),
	}
	code, out, errOut := runAgainst(t, context.Background(), func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, releasesPath+"/"), "/")
			send(w, newRelease(named(name)))
			return
		}
		name := strings.TrimPrefix(req.URL.Query().Get("fieldSelector"), "metadata.name=")
		stream(w, req, states[name])
	}, "sync", "a", "b", "--wait")
	g.Expect(code).To(Equal(1))
	g.Expect(out).To(Equal("release.core.convoy.kumodo.io/a sync requested\nrelease.core.convoy.kumodo.io/b sync requested\n"))
	g.Expect(errOut).To(And(HavePrefix("shop/a: Ready: all well\n"), ContainSubstring("error: Release shop/b is suspended, its sync is not waited for")))
}

// TestPollForIsOver in the middle of a request, which has not failed then.
func TestPollForIsOver(t *testing.T) {
	g := NewWithT(t)
	err := pollFor(t.Context(), time.Millisecond, 10*time.Millisecond, func(ctx context.Context) (bool, error) {
		<-ctx.Done()
		return false, errors.New("the request was cut off")
	})
	g.Expect(wait.Interrupted(err)).To(BeTrue(), "%v", err)

	boom := errors.New("boom")
	err = pollFor(t.Context(), time.Millisecond, time.Hour, func(context.Context) (bool, error) { return false, boom })
	g.Expect(err).To(MatchError(boom))
	g.Expect(wait.Interrupted(err)).To(BeFalse())
}

// A request that has not been sent when the time is over has not failed, either.
func TestPollForIsOverWithItsTime(t *testing.T) {
	g := NewWithT(t)
	limiter := flowcontrol.NewTokenBucketRateLimiter(0.01, 1)
	asked := 0
	err := pollFor(t.Context(), time.Millisecond, 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		asked++
		return false, limiter.Wait(ctx)
	})
	g.Expect(wait.Interrupted(err)).To(BeTrue(), "%v", err)
	g.Expect(asked).To(Equal(2))
}
