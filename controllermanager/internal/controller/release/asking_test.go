// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/render"
)

// hanging is the fetch coordinator whose sources do not answer, until they are let go or nobody
// wants to know any more.
type hanging struct {
	fetch.Fetcher
	world *world

	mu           sync.Mutex
	goOn         chan struct{}
	fetches      bool // content is not given either
	resolves     func(want fetch.Want) bool
	begun, ended []string
	calls        calls
}

// hangs has the sources of a world hang.
func hangs(w *world) *hanging {
	h := &hanging{Fetcher: w.source, world: w, goOn: make(chan struct{}), resolves: func(fetch.Want) bool { return true }}
	w.config.Fetcher, w.errands.Enqueue = h, h.calls.enqueue
	w.questions.patience = 50 * time.Millisecond
	return h
}

func (h *hanging) Resolve(ctx context.Context, want fetch.Want) (revision string, at time.Time, err error) {
	if err := h.hold(ctx, "resolve", h.resolves(want)); err != nil {
		return "", time.Time{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Fetcher.Resolve(ctx, want)
}

func (h *hanging) Fetch(ctx context.Context, want fetch.Want, revision string) (*fetch.Artifact, error) {
	if err := h.hold(ctx, "fetch "+revision, h.fetches && revision == h.world.source.revision); err != nil {
		return nil, err
	}
	return h.Fetcher.Fetch(ctx, want, revision)
}

func (h *hanging) hold(ctx context.Context, what string, holds bool) error {
	h.mu.Lock()
	goOn := h.goOn
	if holds {
		h.begun = append(h.begun, what)
	}
	h.mu.Unlock()
	if !holds {
		return nil
	}
	select {
	case <-goOn:
		return nil
	case <-ctx.Done():
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ended = append(h.ended, what)
		return ctx.Err()
	}
}

// answer lets the sources answer what was asked so far, and from now on.
func (h *hanging) answer() {
	h.mu.Lock()
	h.resolves, h.fetches = func(fetch.Want) bool { return false }, false
	goOn := h.goOn
	h.mu.Unlock()
	h.world.questions.patience = time.Minute
	close(goOn)
}

func (h *hanging) noted(list *[]string) func() []string {
	return func() []string {
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.Clone(*list)
	}
}

// hungWorld has a Release whose source has not answered yet.
func hungWorld(t *testing.T, release *corev1alpha1.Release) (*world, *hanging) {
	w := newWorld(t, release)
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	h := hangs(w)
	w.pass()
	w.Eventually(h.noted(&h.begun)).Should(Equal([]string{"resolve"}))
	return w, h
}

// until makes passes until one of them, which may have been too hasty, has brought something about.
func (w *world) until(what func() string, is string) {
	w.EventuallyWithOffset(1, func() string { w.pass(); return what() }).Should(Equal(is))
}

func (w *world) applied() string {
	if applied := w.release().Status.Applied; applied != nil {
		return applied.Revision
	}
	return ""
}

func TestPassDoesNotWaitForASource(t *testing.T) {
	w, h := hungWorld(t, newRelease())
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("Unknown Progressing"))
	w.Expect(w.message(corev1alpha1.ConditionSourceReady)).To(Equal("GitRepository apps is being asked for the revision, or waits for its turn, since 2026-03-01T10:00:00Z"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("Unknown Progressing"))
	w.host.forgetWrites()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(w.host.writes).To(BeEmpty(), "a source that takes long costs no writes")
	w.Expect(h.calls.list()).To(BeEmpty())

	h.answer()
	w.Eventually(h.calls.list).Should(Equal([]string{"app change"}))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("True Fetched"))
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(h.noted(&h.begun)()).To(HaveLen(1), "what was answered is given to the pass that it was asked for")
	w.Expect(w.errands.Wanting()).To(BeEmpty())
}

func TestSourceThatIsThereNowIsAsked(t *testing.T) {
	w := newWorld(t, newRelease())
	gits := w.config.GitRepositories.GetIndexer()
	repository := gits.List()[0]
	w.Expect(gits.Delete(repository)).To(Succeed())
	hangs(w)
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("False SourceNotFound"))
	w.Expect(gits.Add(repository)).To(Succeed())
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("Unknown Progressing"))
}

// TestOneWorkerAndASourceThatDoesNotAnswer has the work queue: the only worker is not held.
func TestOneWorkerAndASourceThatDoesNotAnswer(t *testing.T) {
	w, h := hungWorld(t, newRelease())
	w.Expect(w.config.GitRepositories.GetIndexer().Add(&sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "well"}})).To(Succeed())
	h.resolves = func(want fetch.Want) bool { return want.Content.Git.RepositoryRef.Name == "apps" }
	w.errands.Enqueue = func(release types.NamespacedName, p base.Priority) { w.Enqueue(release, p) }
	var stuck []string
	for i := range 20 {
		stuck = append(stuck, fmt.Sprint("stuck-", i))
		w.create(newRelease(func(r *corev1alpha1.Release) { r.Name = stuck[i] }))
	}
	w.create(newRelease(func(r *corev1alpha1.Release) { r.Name, r.Spec.Source.Git.RepositoryRef.Name = "good", "well" }))
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- w.Run(ctx) }()
	for _, name := range append(stuck, "good") {
		w.Enqueue(types.NamespacedName{Namespace: key.Namespace, Name: name}, base.PriorityChange)
	}
	applied := func(name string) func() bool { return func() bool { return w.release(name).Status.Applied != nil } }
	w.Eventually(applied("good"), "20s").Should(BeTrue())
	w.Expect(applied(stuck[0])()).To(BeFalse())
	stop()
	w.Expect(<-stopped).To(Succeed())
	w.Eventually(h.noted(&h.ended), "20s").Should(HaveLen(len(h.noted(&h.begun)())), "nobody wants to know any more")
}

// TestSyncInProgressDoesNotWaitForTheSource has a hook that ends while the source is asked whether
// there is something newer.
func TestSyncInProgressDoesNotWaitForTheSource(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.pass()
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))

	h := hangs(w)
	w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3"))
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	w.pass()
	w.hook("migrate", corev1alpha1.HookSucceeded, "")
	w.until(w.applied, "main@2")
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("True Fetched"), "it says what it said")
	w.Expect(w.message(corev1alpha1.ConditionSourceReady)).To(Equal("main@2, path apps"))
	w.Expect(w.release().Status.Source.Revision).To(Equal("main@2"))

	h.answer()
	w.Eventually(h.calls.list).ShouldNot(BeEmpty())
	w.pass()
	w.Expect(w.applied()).To(Equal("main@3"), "a new revision supersedes")
	w.Expect(w.message(corev1alpha1.ConditionSourceReady)).To(Equal("main@3, path apps"))
}

func TestLastContentIsGoneOnWithWhileTheNextIsFetched(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	h := hangs(w)
	h.resolves, h.fetches = func(fetch.Want) bool { return false }, true
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.Eventually(func() []string { w.pass(); return h.noted(&h.begun)() }).Should(ContainElement("fetch main@2"))
	w.observe(health("a", corev1alpha1.HealthDegraded, "crashes"))
	w.until(func() string { return w.condition(corev1alpha1.ConditionReady) }, "False Degraded")
	w.Expect(w.release().Status.Source.Revision).To(Equal("main@1"))
	h.answer()
	w.until(w.applied, "main@2")
}

// TestSourceThatCannotBeReachedHoldsUpNothingThatIsKnown has the source fail at once.
func TestSourceThatCannotBeReachedHoldsUpNothingThatIsKnown(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.pass()
	w.pass()
	gone := &sourceGone{Fetcher: w.source}
	w.config.Fetcher = gone
	w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", longestSoon))
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("False Unreachable"))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))
	w.hook("migrate", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.Expect(w.applied()).To(Equal("main@2"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False Unreachable"))
	w.Expect(w.release().Status.Sync.Attempts).To(Equal(int32(1)))

	// The next attempt is no news until it has failed.
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	h := hangs(w)
	w.host.forgetWrites()
	for range 5 {
		w.pass()
	}
	w.Expect(w.host.writes).To(BeEmpty())
	h.Fetcher = gone
	h.answer()
	w.Eventually(h.calls.list).ShouldNot(BeEmpty())
	w.pass()
	w.Expect(w.release().Status.Sync.Attempts).To(Equal(int32(2)), "it backs off")

	w.config.Fetcher = w.source
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("True Fetched"))
	w.Expect(w.release().Status.Sync).To(BeNil())
}

// sourceGone is a source that nothing can be asked of; what was fetched is there.
type sourceGone struct{ fetch.Fetcher }

func (*sourceGone) Resolve(context.Context, fetch.Want) (string, time.Time, error) {
	return "", time.Time{}, fetch.ErrUnreachable
}

// Content whose fetching takes longer than an interval arrives all the same: the next look does not
// give up what the last one has found.
func TestALookDoesNotGiveUpWhatIsBeingFetched(t *testing.T) {
	for name, settled := range map[string]bool{"first content": false, "new content": true, "with a peer": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newRelease())
			if name == "with a peer" {
				w.change(wave(1))
				w.create(newRelease(func(r *corev1alpha1.Release) { r.Name = "low" }))
				w.set("low", conditions(isTrue, isTrue, 1), func(r *corev1alpha1.Release) {
					r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@1", Generation: 1, Render: "x"}
				})
			}
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
			if settled {
				w.settle()
				w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
			}
			h := hangs(w)
			h.resolves, h.fetches = func(fetch.Want) bool { return false }, true
			w.pass()
			w.Eventually(h.noted(&h.begun)).Should(Equal([]string{"fetch " + w.source.revision}))
			h.mu.Lock()
			h.resolves = func(fetch.Want) bool { return true }
			h.mu.Unlock()
			for range 3 {
				w.clock.SetTime(w.clock.Now().Add(10 * time.Minute))
				w.pass()
			}
			w.Expect(h.noted(&h.ended)()).NotTo(ContainElement(HavePrefix("fetch")))
			h.answer()
			w.Eventually(func() string { w.pass(); return w.applied() }).Should(Equal(w.source.revision))
			w.Expect(h.noted(&h.begun)()).To(ConsistOf("fetch "+w.source.revision, "resolve"))
		})
	}
}

func TestRequestIsNotAnsweredWithAnOldLook(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	h := hangs(w)
	w.pass()
	w.Eventually(h.noted(&h.begun)).Should(HaveLen(1))
	w.requestSync("2026-03-01T10:00:00Z")
	w.pass()
	w.Eventually(h.noted(&h.begun)).Should(HaveLen(2))
	w.Eventually(h.noted(&h.ended)).Should(HaveLen(1), "the question from before is not waited for")
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.release().Status.Sync).To(Or(BeNil(), HaveField("LastHandledAt", BeEmpty())))
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("True Fetched"))
	w.clock.SetTime(w.clock.Now().Add(quietAsking))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("Unknown Progressing"))

	h.answer()
	w.Eventually(h.calls.list).Should(Equal([]string{"app request"}))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T10:00:00Z"))
	w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(Equal("True Fetched"))
}

// TestWhatChangedIsNotGoneOnWith has changes that make the last look say nothing.
func TestWhatChangedIsNotGoneOnWith(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"the spec": func(w *world) { w.change(func(r *corev1alpha1.Release) { r.Spec.TargetNamespace = "another" }) },
		"the source": func(w *world) {
			w.Expect(w.config.GitRepositories.GetIndexer().Update(&sourcev1alpha1.GitRepository{
				ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "apps", Generation: 7},
			})).To(Succeed())
		},
		"the process that has it": func(w *world) {
			w.config.Harness.Owned = func(types.NamespacedName) bool { return false }
			w.DropUnowned()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
			h := hangs(w)
			change(w)
			w.pass()
			w.Eventually(h.noted(&h.begun)).Should(HaveLen(1))
			w.source.results["main@1"].Objects = []render.Object{objectOf("ConfigMap", "a", 0, "other")}
			for range 3 {
				w.pass()
			}
			w.Expect(w.target.takeCalls()).To(BeEmpty())
		})
	}
}

func TestQuestionsThatNobodyWantsAnsweredEnd(t *testing.T) {
	tests := []struct {
		name  string
		cause func(w *world)
		left  int
	}{
		{"another spec", func(w *world) {
			w.change(func(r *corev1alpha1.Release) { r.Spec.TargetNamespace = "another" })
			w.pass()
		}, 1},
		{"suspended", func(w *world) { w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = true }); w.pass() }, 0},
		{"deleted", func(w *world) {
			w.Expect(w.host.CoreV1alpha1().Releases(key.Namespace).Delete(context.Background(), key.Name, deleteOptions)).To(Succeed())
			w.pass()
		}, 0},
		{"the shard is another's", func(w *world) {
			w.config.Harness.Owned = func(types.NamespacedName) bool { return false }
			w.DropUnowned()
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, h := hungWorld(t, newRelease())
			tt.cause(w)
			w.Eventually(h.noted(&h.ended)).Should(Equal([]string{"resolve"}))
			w.Expect(w.errands.Count(key)).To(Equal(tt.left))
		})
	}
}

// TestWhatAPeerIsToHaveIsWaitedFor has a source that tells the Release its revision, and has not
// told yet that of a Release of a lower wave.
func TestWhatAPeerIsToHaveIsWaitedFor(t *testing.T) {
	w := newWorld(t, newRelease(wave(1)))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	w.create(newRelease(func(r *corev1alpha1.Release) { r.Name, r.Spec.Source.Git.Path = "base", "base" }))
	w.set("base", conditions(isTrue, isTrue, 1))
	h := hangs(w)
	h.resolves = func(want fetch.Want) bool { return want.Content.Git.Path == "base" }
	w.until(func() string { return w.message(corev1alpha1.ConditionSourceReady) },
		"GitRepository apps is being asked for the revision of Release base, or waits for its turn, since 2026-03-01T10:00:00Z")
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	h.answer()
	w.until(func() string { return w.condition(corev1alpha1.ConditionApplied) }, "False WaitingForWave")
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("has not applied main@1 yet"))
}
