// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/errands"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/render"
)

// passPatience is how long a pass waits for a render or a source, which most are done in.
const passPatience = 200 * time.Millisecond

// errUnfinished says that something takes longer than a pass waits for it. The Release of the
// pass is enqueued when it is done.
var errUnfinished = errands.ErrUnfinished

// renderings make renders without holding passes up: they are errands of the Release whose pass
// wants them.
type renderings struct {
	engine Renderer
	// patience of each pass.
	patience time.Duration
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

// sinceOf gives since when what is not done yet goes on; the zero time when it waits in line.
func sinceOf(err error) time.Time {
	if unfinished, ok := errors.AsType[*errands.Unfinished](err); ok {
		return unfinished.Since
	}
	return time.Time{}
}

type scopeKey struct{}

// beginErrands gives the context of a pass, by which its errands are known.
func (c *Controller) beginErrands(ctx context.Context, s *scope) (context.Context, *errands.Pass) {
	priority := base.PriorityChange
	if s.request.pending() {
		priority = base.PriorityRequest
	}
	return c.errands.Begin(context.WithValue(ctx, scopeKey{}, s), s.key, priority)
}

// Render renders for the pass of the context, and gives errUnfinished when that takes longer
// than a pass waits.
func (r *renderings) Render(ctx context.Context, in render.Input) (*render.Result, error) {
	s, ok := ctx.Value(scopeKey{}).(*scope)
	if !ok {
		return r.engine.Render(ctx, in)
	}
	id := s.renderIDOf(in)
	// The pass may go on and write to its Release meanwhile.
	in.Release = &corev1alpha1.Release{TypeMeta: in.Release.TypeMeta, ObjectMeta: in.Release.ObjectMeta, Spec: in.Release.Spec}
	return errands.Do(ctx, errands.Errand[*render.Result]{
		ID: id, Patience: r.patience, Heavy: true, Pending: "it is still being rendered",
		Do:    func(ctx context.Context) (*render.Result, error) { return r.engine.Render(ctx, in) },
		Known: func(ctx context.Context) (*render.Result, bool, error) { return r.engine.Known(ctx, in) },
	})
}

func (s *scope) renderIDOf(in render.Input) renderID {
	release := in.Release
	id := renderID{
		release: nameOf(release), uid: release.UID, generation: release.Generation, upgrade: in.Upgrade, artifact: in.Artifact,
		request: s.request.mark(), references: s.references,
	}
	id.artifact.Root = nil
	if cluster := s.cluster; cluster != nil {
		id.cluster, id.served = cluster.UID, fmt.Sprint(cluster.Generation, cluster.Status.Version)
	}
	return id
}

// DropUnowned ends the work on Releases that are another process's now, as that of the queue
// does, and the errands for them; what was found for them is forgotten.
func (c *Controller) DropUnowned() {
	c.Controller.DropUnowned()
	owned := func(release types.NamespacedName) bool {
		return c.config.Harness.Owned == nil || c.config.Harness.Owned(release)
	}
	c.errands.Retain(owned)
	c.questions.looks.retain(owned)
	c.watched.retain(owned)
	c.lacking.retain(owned)
}

// Run works on Releases until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	err := c.Controller.Run(ctx)
	c.errands.Retain(func(types.NamespacedName) bool { return false })
	return err
}
