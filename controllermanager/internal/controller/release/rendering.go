// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/render"
)

const (
	// renderPatience is how long a pass waits for renders, which most are done in.
	renderPatience = 200 * time.Millisecond
	// mostLeft is how many renders go on for the Releases of a namespace that no pass waits
	// for. Each holds what it is made of in memory while it waits for its turn.
	mostLeft = 64
)

// errRendering says that a render takes longer than a pass waits for it. The Release of the
// pass is enqueued when it is done.
var errRendering = errors.New("it is still being rendered")

// renderings make renders without holding passes up: what is not done soon goes on for the
// Release whose pass wants it, which is enqueued at the end and given the outcome then. A render
// ends when the passes of that Release do not want it any more. What is lost with the process is
// rendered again.
type renderings struct {
	engine  Renderer
	enqueue func(release types.NamespacedName, p base.Priority)
	clock   clock.PassiveClock
	// patience of each pass.
	patience time.Duration

	mu sync.Mutex
	// of has the renders of each Release whose passes want them.
	of map[types.NamespacedName]map[renderID]*rendering
	// left counts the renders by namespace that go on and that no pass waits for.
	left map[string]int
	// lines has the Releases by namespace that wait until there are fewer than mostLeft.
	lines map[string][]turn
}

// turn is a place in line.
type turn struct {
	release  types.NamespacedName
	priority base.Priority
}

// rendering is a render. All fields but end and done are guarded by the mu of renderings.
type rendering struct {
	release  types.NamespacedName // that wants it
	since    time.Time
	end      context.CancelFunc
	left     bool // counted among those that no pass waits for
	priority base.Priority

	done   chan struct{} // closed when what follows is known
	over   bool
	result *render.Result
	err    error
}

// renderID tells renders for a Release apart by what a pass knows of their inputs. It may tell
// equal inputs apart: the renderer itself finds that they are.
type renderID struct {
	release    types.NamespacedName // what is rendered; not always the one whose pass it is
	uid        types.UID
	generation int64
	upgrade    bool
	artifact   render.Artifact // without its Root
	request    string
	references string
	cluster    types.UID
	served     string
}

// renderPass is what renderings keep of a pass. It is guarded by their mu.
type renderPass struct {
	scope    *scope
	patience time.Duration
	wanted   map[renderID]bool
	// pending is true when a render was not done in time, and since is when it began; the zero
	// time for one that waits in line.
	pending, inLine bool
	since           time.Time
}

type renderPassKey struct{}

// begin gives the context of a pass, by which its renders are known.
func (r *renderings) begin(ctx context.Context, s *scope) context.Context {
	s.renders = &renderPass{scope: s, patience: r.patience, wanted: map[renderID]bool{}}
	return context.WithValue(ctx, renderPassKey{}, s.renders)
}

// Render renders for the pass of the context, and gives errRendering when that takes longer
// than a pass waits.
func (r *renderings) Render(ctx context.Context, in render.Input) (*render.Result, error) {
	pass, ok := ctx.Value(renderPassKey{}).(*renderPass)
	if !ok {
		return r.engine.Render(ctx, in)
	}
	id := pass.idOf(in)
	work, patience := r.join(ctx, pass, id, in)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-work.done:
		return work.result, work.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return r.leave(pass, id, work)
	}
}

func (p *renderPass) idOf(in render.Input) renderID {
	release := in.Release
	id := renderID{
		release: nameOf(release), uid: release.UID, generation: release.Generation, upgrade: in.Upgrade, artifact: in.Artifact,
		request: p.scope.request.mark(), references: p.scope.references,
	}
	id.artifact.Root = nil
	if cluster := p.scope.cluster; cluster != nil {
		id.cluster, id.served = cluster.UID, fmt.Sprint(cluster.Generation, cluster.Status.Version)
	}
	return id
}

// join gives the render that a pass wants, which begins unless an earlier pass began it, and how
// long the pass waits for it.
func (r *renderings) join(ctx context.Context, pass *renderPass, id renderID, in render.Input) (work *rendering, patience time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pass.wanted[id] = true
	release := pass.scope.key
	if work, ok := r.of[release][id]; ok {
		if work.left { // its end is a cause for another pass in any case
			return work, 0
		}
		return work, pass.patience
	}
	work = &rendering{release: release, since: r.clock.Now(), done: make(chan struct{})}
	if r.of[release] == nil {
		r.of[release] = map[renderID]*rendering{}
	}
	r.of[release][id] = work
	// The pass may go on and write to its Release meanwhile.
	in.Release = &corev1alpha1.Release{TypeMeta: in.Release.TypeMeta, ObjectMeta: in.Release.ObjectMeta, Spec: in.Release.Spec}
	var working context.Context
	working, work.end = context.WithCancel(context.WithoutCancel(ctx))
	go r.run(working, work, in)
	return work, pass.patience
}

func (r *renderings) run(ctx context.Context, work *rendering, in render.Input) {
	defer work.end()
	result, err := r.guarded(ctx, in)
	r.mu.Lock()
	defer r.mu.Unlock()
	work.result, work.err, work.over = result, err, true
	close(work.done)
	if work.left {
		r.settle(work)
		r.enqueue(work.release, work.priority)
		r.call(work.release.Namespace)
	}
}

// guarded renders; a panic is an error, as in a pass.
func (r *renderings) guarded(ctx context.Context, in render.Input) (result *render.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			// The panic's own text may show values of Secrets.
			klog.FromContext(ctx).Error(nil, "Rendering panicked", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error: panic of type %T", p)
		}
	}()
	return r.engine.Render(ctx, in)
}

// leave has a render go on without its pass; if too many do, it ends, and the Release waits in
// line.
func (r *renderings) leave(pass *renderPass, id renderID, work *rendering) (*render.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if work.over {
		return work.result, work.err
	}
	pass.pending, pass.patience = true, 0
	priority := base.PriorityChange
	if pass.scope.request.pending() {
		priority = base.PriorityRequest
	}
	namespace := work.release.Namespace
	if !work.left && r.left[namespace] >= mostLeft {
		pass.inLine = true
		r.drop(id, work)
		if !slices.ContainsFunc(r.lines[namespace], func(t turn) bool { return t.release == work.release }) {
			r.lines[namespace] = append(r.lines[namespace], turn{work.release, priority})
		}
		return nil, errRendering
	}
	if !work.left {
		work.left = true
		r.left[namespace]++
	}
	work.priority = priority
	if pass.since.IsZero() || work.since.Before(pass.since) {
		pass.since = work.since
	}
	return nil, errRendering
}

// pending tells whether a render of the context's pass was not done in time.
func (r *renderings) pending(ctx context.Context) bool {
	pass, ok := ctx.Value(renderPassKey{}).(*renderPass)
	if !ok {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return pass.pending
}

// finish drops the renders that a pass did not want, and all of them if it waits for none.
func (r *renderings) finish(pass *renderPass) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, work := range r.of[pass.scope.key] {
		if !pass.pending || !pass.wanted[id] {
			r.drop(id, work)
		}
	}
	if !pass.inLine {
		r.leaveLine(pass.scope.key)
	}
	r.call(pass.scope.key.Namespace)
}

// forget drops all renders for a Release.
func (r *renderings) forget(release types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, work := range r.of[release] {
		r.drop(id, work)
	}
	r.leaveLine(release)
	r.call(release.Namespace)
}

// retain drops the renders for all Releases but those that keep tells.
func (r *renderings) retain(keep func(release types.NamespacedName) bool) {
	for _, release := range r.wanting() {
		if !keep(release) {
			r.forget(release)
		}
	}
}

// wanting gives the Releases that renders go on for, or that wait in line.
func (r *renderings) wanting() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	releases := slices.Collect(maps.Keys(r.of))
	for _, line := range r.lines {
		for _, t := range line {
			releases = append(releases, t.release)
		}
	}
	return releases
}

// The methods below are for who holds mu.

// drop ends a render that is not wanted any more.
func (r *renderings) drop(id renderID, work *rendering) {
	work.end()
	r.settle(work)
	delete(r.of[work.release], id)
	if len(r.of[work.release]) == 0 {
		delete(r.of, work.release)
	}
}

// settle counts a render no longer among those that go on.
func (r *renderings) settle(work *rendering) {
	if !work.left {
		return
	}
	work.left = false
	namespace := work.release.Namespace
	if r.left[namespace]--; r.left[namespace] == 0 {
		delete(r.left, namespace)
	}
}

// call enqueues the first in line if there is room. Whatever its pass comes to, its end calls
// the next.
func (r *renderings) call(namespace string) {
	line := r.lines[namespace]
	if len(line) == 0 || r.left[namespace] >= mostLeft {
		return
	}
	first := line[0]
	r.leaveLine(first.release)
	r.enqueue(first.release, first.priority)
}

func (r *renderings) leaveLine(release types.NamespacedName) {
	line := slices.DeleteFunc(r.lines[release.Namespace], func(t turn) bool { return t.release == release })
	if len(line) == 0 {
		delete(r.lines, release.Namespace)
		return
	}
	r.lines[release.Namespace] = line
}

// DropUnowned ends the work on Releases that are another process's now, as that of the queue
// does, and the renders for them.
func (c *Controller) DropUnowned(ctx context.Context) error {
	err := c.Controller.DropUnowned(ctx)
	c.renderings.retain(func(release types.NamespacedName) bool {
		return c.config.Harness.Owned == nil || c.config.Harness.Owned(release)
	})
	return err
}

// Run works on Releases until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	err := c.Controller.Run(ctx)
	c.renderings.retain(func(types.NamespacedName) bool { return false })
	return err
}
