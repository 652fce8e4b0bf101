// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/render"
)

// slowly renders as the source does, but holds renders up.
type slowly struct {
	Renderer
	// holds tells which renders are held up, until they are let go or nobody wants them.
	holds func(in render.Input) bool
	goOn  chan struct{}
	// meanwhile is called by each render.
	meanwhile func()

	mu           sync.Mutex
	begun, ended []string
}

func (r *slowly) Render(ctx context.Context, in render.Input) (*render.Result, error) {
	what := in.Release.Name + " " + in.Artifact.Revision
	r.note(&r.begun, what)
	if r.meanwhile != nil {
		r.meanwhile()
	}
	if r.holds == nil || !r.holds(in) {
		return r.Renderer.Render(ctx, in)
	}
	select {
	case <-r.goOn:
		return r.Renderer.Render(ctx, in)
	case <-ctx.Done():
		r.note(&r.ended, what)
		return nil, ctx.Err()
	}
}

func (r *slowly) note(list *[]string, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, what)
}

func (r *slowly) noted(list *[]string) func() []string {
	return func() []string {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.Clone(*list)
	}
}

// calls are the Releases that were enqueued for what became of their renders.
type calls struct {
	mu  sync.Mutex
	got []string
}

func (c *calls) enqueue(release types.NamespacedName, p base.Priority) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, release.Name+" "+p.String())
}

func (c *calls) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

// slowWorld has a Release whose render is held up, after a pass that did not wait for it.
func slowWorld(t *testing.T, release *corev1alpha1.Release) (*world, *slowly, *calls) {
	w := newWorld(t, release)
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"))
	r, c := &slowly{Renderer: w.source, goOn: make(chan struct{})}, &calls{}
	r.holds = func(in render.Input) bool { return in.Release.Name == key.Name }
	w.renderings.engine, w.errands.Enqueue = r, c.enqueue
	w.hasty(func() { w.pass() })
	w.Eventually(r.noted(&r.begun)).Should(Equal([]string{"app main@1"}))
	return w, r, c
}

// hasty has passes wait for no render.
func (w *world) hasty(passes func()) {
	w.renderings.patience = 0
	passes()
	w.renderings.patience = time.Minute
}

// wants counts the renders that go on without a pass.
func (w *world) wants() int { return w.errands.Count(key) }

func TestPassDoesNotWaitForARender(t *testing.T) {
	w, r, c := slowWorld(t, newRelease())
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("Unknown Progressing"))
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(Equal("is being rendered, or waits for its turn, since 2026-03-01T10:00:00Z"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("Unknown Progressing"))
	w.host.forgetWrites()
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.hasty(func() { w.pass() })
	w.Expect(w.host.writes).To(BeEmpty(), "a render that takes long costs no writes")
	w.Expect(c.list()).To(BeEmpty())

	close(r.goOn)
	w.Eventually(c.list).Should(Equal([]string{"app change"}))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("True Rendered"))
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(r.noted(&r.begun)()).To(HaveLen(1), "what was rendered is given to the pass that it was rendered for")
	w.Expect(w.wants()).To(BeZero())
	w.Expect(w.events()).To(Equal([]string{"Normal Applied main@1 applied: 1 created"}))
}

// TestOneWorkerAndAnEndlessRender has the work queue: the only worker is not held.
func TestOneWorkerAndAnEndlessRender(t *testing.T) {
	w, r, _ := slowWorld(t, newRelease())
	w.errands.Forget(key)
	w.errands.Enqueue = func(release types.NamespacedName, p base.Priority) { w.Enqueue(release, p) }
	w.renderings.patience = time.Millisecond
	w.create(newRelease(func(r *corev1alpha1.Release) { r.Name = "other" }))
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- w.Run(ctx) }()
	applied := func(name string) func() bool {
		return func() bool { return w.release(name).Status.Applied != nil }
	}
	w.Enqueue(key, base.PriorityRequest)
	w.Eventually(r.noted(&r.begun)).Should(ContainElements("app main@1", "app main@1"))
	w.Enqueue(types.NamespacedName{Namespace: key.Namespace, Name: "other"}, base.PriorityResync)
	w.Eventually(applied("other")).Should(BeTrue())
	w.Expect(applied(key.Name)()).To(BeFalse())

	close(r.goOn)
	w.Eventually(applied(key.Name)).Should(BeTrue(), "it is enqueued when it is rendered")
	stop()
	w.Expect(<-stopped).To(Succeed())
}

func TestRequestIsEnqueuedAsOne(t *testing.T) {
	_, r, c := slowWorld(t, newRelease(func(r *corev1alpha1.Release) {
		r.Annotations = map[string]string{corev1alpha1.AnnotationSyncRequestedAt: "2026-03-01T10:00:00Z"}
	}))
	close(r.goOn)
	NewWithT(t).Eventually(c.list).Should(Equal([]string{"app request"}))
}

func TestFailureOfALongRenderIsToldAndCounted(t *testing.T) {
	w, r, c := slowWorld(t, newRelease())
	w.source.renderErr = &render.Error{Reason: corev1alpha1.ReasonRenderFailed, Message: "stopped: rendering takes too long"}
	close(r.goOn)
	w.Eventually(c.list).Should(HaveLen(1))
	result := w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("False RenderFailed"))
	w.Expect(r.noted(&r.begun)()).To(HaveLen(1))

	r.goOn = make(chan struct{})
	w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
	w.events()
	w.host.forgetWrites()
	w.hasty(func() {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.pass()
	})
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("False RenderFailed"), "the next attempt is no news")
	w.Expect(w.host.writes).To(BeEmpty())
	close(r.goOn)
	w.Eventually(c.list).Should(HaveLen(2))
	w.pass()
	w.Expect(w.release().Status.Sync.Attempts).To(Equal(int32(2)), "it backs off")
	w.Expect(w.events()).To(BeEmpty())
}

func TestLongRenderOfWhatIsAppliedIsQuietAtFirst(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	r := &slowly{Renderer: w.source, goOn: make(chan struct{}), holds: func(render.Input) bool { return true }}
	c := &calls{}
	w.renderings.engine, w.errands.Enqueue = r, c.enqueue
	w.hasty(func() {
		w.Expect(w.pass().RequeueAfter).To(Equal(quietRendering))
		w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
		w.clock.SetTime(w.clock.Now().Add(quietRendering))
		w.pass()
	})
	w.Expect(w.condition(corev1alpha1.ConditionRendered)).To(Equal("Unknown Progressing"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("Unknown Progressing"))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	close(r.goOn)
	w.Eventually(c.list).Should(HaveLen(1), "the pass that comes of its end finds it")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(w.events()).To(BeEmpty())
}

func TestRendersThatNobodyWantsEnd(t *testing.T) {
	hasty := func(w *world) { w.hasty(func() { w.pass() }) }
	tests := []struct {
		name  string
		cause func(w *world)
		left  int
	}{
		{"another revision", func(w *world) {
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
			hasty(w)
		}, 1},
		{"another spec", func(w *world) {
			w.change(func(r *corev1alpha1.Release) { r.Spec.TargetNamespace = "another" })
			hasty(w)
		}, 1},
		{"suspended", func(w *world) {
			w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
			hasty(w)
		}, 0},
		{"deleted", func(w *world) {
			w.Expect(w.host.CoreV1alpha1().Releases(key.Namespace).Delete(context.Background(), key.Name, deleteOptions)).To(Succeed())
			hasty(w)
		}, 0},
		{"the shard is another's", func(w *world) {
			w.config.Harness.Owned = func(types.NamespacedName) bool { return false }
			w.DropUnowned()
		}, 0},
		{"the pass was cut off", func(w *world) {
			ctx, end := context.WithCancel(context.Background())
			end()
			_, err := w.Reconcile(ctx, key)
			w.Expect(err).To(MatchError(context.Canceled))
		}, 0},
		{"the process stops", func(w *world) {
			ctx, end := context.WithCancel(context.Background())
			end()
			w.Expect(w.Run(ctx)).To(Succeed())
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, r, _ := slowWorld(t, newRelease())
			tt.cause(w)
			w.Eventually(r.noted(&r.ended)).Should(Equal([]string{"app main@1"}))
			w.Expect(w.wants()).To(Equal(tt.left))
		})
	}
}

// TestTheSecondOfTwoRendersIsWaitedForToo has an input that may have been installed: until it is
// known what that gives, nothing is.
func TestTheSecondOfTwoRendersIsWaitedForToo(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.results["upgrade main@1"] = &render.Result{Digest: "upgraded", Objects: []render.Object{objectOf("ConfigMap", "a", 0, "a2")}}
	r, c := &slowly{Renderer: w.source, goOn: make(chan struct{})}, &calls{}
	r.holds = func(in render.Input) bool { return !in.Upgrade }
	w.renderings.engine, w.errands.Enqueue = r, c.enqueue
	w.renderings.patience = 50 * time.Millisecond
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "what is applied may be what is desired")
	close(r.goOn)
	w.Eventually(func() []string { w.pass(); return r.noted(&r.begun)() }).Should(HaveLen(2))
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
}

func TestPanicOfARenderIsAFailure(t *testing.T) {
	w, r, c := slowWorld(t, newRelease())
	w.source.results = nil
	r.Renderer = panics{}
	close(r.goOn)
	w.Eventually(c.list).Should(HaveLen(1))
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(Equal("internal error: panic of type string"))
}

type panics struct{}

func (panics) Render(context.Context, render.Input) (*render.Result, error) { panic("hunter2") }

func (panics) Known(context.Context, render.Input) (*render.Result, bool, error) {
	return nil, false, nil
}

// TestTimesAreThoseOfWhatHappens has a pass that takes longer than a hook may.
func TestTimesAreThoseOfWhatHappens(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	began := w.clock.Now()
	w.renderings.engine = &slowly{Renderer: w.source, meanwhile: func() { w.clock.SetTime(began.Add(6 * time.Minute)) }}
	w.pass()
	w.Expect(w.release().Status.Lifecycle.Hooks[0].StartedAt.Time).To(BeTemporally("==", began.Add(6*time.Minute)))
	w.Expect(w.release().Status.Sync.StartedAt.Time).To(BeTemporally("==", began.Add(6*time.Minute)))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False WaitingForHook"))

	w.hook("migrate", corev1alpha1.HookSucceeded, "")
	began = began.Add(time.Second)
	w.clock.SetTime(began.Add(6 * time.Minute))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.events()).To(Equal([]string{"Normal Applied main@1 applied: 1 object"}), "it took more than one pass")
}

// TestRollbackDoesNotWaitForItsRender has no render store, so that what is rolled back to has to
// be rendered again.
func TestRollbackDoesNotWaitForItsRender(t *testing.T) {
	w := failedWorld(t)
	w.config.Renders = nil
	r, c := &slowly{Renderer: w.source, goOn: make(chan struct{})}, &calls{}
	r.holds = func(in render.Input) bool { return in.Artifact.Revision == "main@1" }
	w.renderings.engine, w.errands.Enqueue = r, c.enqueue
	w.host.forgetWrites()
	w.renderings.patience = 50 * time.Millisecond
	for range 2 {
		w.pass()
	}
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.host.writes).To(BeEmpty())
	close(r.goOn)
	w.Eventually(c.list).Should(Equal([]string{"app change"}))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True RolledBack"))
	w.Expect(w.events()).To(ContainElement(HavePrefix("Warning RolledBack ")))
}

func TestDeletionDoesNotWaitForTheRenderOfItsHooks(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("backup", corev1alpha1.HookPreDelete)}
	w.pass()
	r, c := &slowly{Renderer: w.source, goOn: make(chan struct{}), holds: func(render.Input) bool { return true }}, &calls{}
	w.renderings.engine, w.errands.Enqueue = r, c.enqueue
	w.deleteRelease()
	w.target.takeCalls()
	w.hasty(func() { w.pass() })
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False Deleting"))
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("rendering what is applied, for its preDelete hooks"))
	close(r.goOn)
	w.Eventually(c.list).Should(Equal([]string{"app change"}))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply backup"}))
}
