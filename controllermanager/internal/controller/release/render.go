// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/content"
	"kumodo.io/convoy/controllermanager/internal/errands"
	"kumodo.io/convoy/render"
)

// renderObjects makes the desired objects of the content, or takes a stored render that
// the Release is pinned to. Equal inputs are rendered once in a process.
func (c *Controller) renderObjects(ctx context.Context, s *scope) outcome {
	if pin := s.release.Spec.Pin; pin != nil && pin.Render != "" {
		return c.loadPinned(ctx, s)
	}
	if s.result != nil {
		return c.noteRender(s) // a stored one, in place of a source
	}
	result, err := c.render(ctx, s)
	if errors.Is(err, errUnfinished) {
		return s.stillRendering(err)
	}
	if err != nil {
		return fail(corev1alpha1.ConditionRendered, renderReason(err), err)
	}
	result, err = c.settled(ctx, s, result)
	if errors.Is(err, errUnfinished) {
		return s.stillRendering(err)
	}
	if err != nil {
		return fail(corev1alpha1.ConditionRendered, corev1alpha1.ReasonNonDeterministic, err)
	}
	s.result = result
	return c.noteRender(s)
}

// render renders the artifact of the scope. It gives errUnfinished when that takes longer than
// a pass waits.
func (c *Controller) render(ctx context.Context, s *scope) (*render.Result, error) {
	result, err := render.AsNeeded(ctx, &c.renderings, c.renderInput(s))
	if unfinished := errands.Pending(ctx); unfinished != nil && (err == nil || errors.Is(err, errUnfinished)) {
		return nil, unfinished // of two renders, it may be that only one is known
	}
	return result, err
}

// quietRendering is how long the conditions of a Release that was rendered before do not tell of
// a render: they say what is known so far.
const quietRendering = 10 * time.Second

// stillRendering ends a pass that does not wait for a render. Rendered says so, unless it is
// an attempt that failed before, or may well be done before anybody looks.
func (s *scope) stillRendering(err error) outcome {
	out := outcome{kind: rests}
	if again := s.attempt; again != nil && again.name == stepRender && again.inputs == fingerprint(s) {
		out.silent = true
		return out
	}
	message := fmt.Sprintf("waiting to be rendered: more than %d renders for Releases of namespace %s are under way", errands.MostHeavy-1, s.key.Namespace)
	if since := sinceOf(err); !since.IsZero() {
		message = fmt.Sprintf("is being rendered, or waits for its turn, since %s", since.UTC().Format(time.RFC3339))
		known := meta.FindStatusCondition(s.release.Status.Conditions, corev1alpha1.ConditionRendered)
		quiet := untilFrom(since, quietRendering, s.now)
		if known != nil && known.Status != metav1.ConditionUnknown && known.ObservedGeneration == s.release.Generation && quiet > 0 {
			out.silent, out.after = true, quiet
			return out
		}
	}
	s.set(corev1alpha1.ConditionRendered, metav1.ConditionUnknown, corev1alpha1.ReasonProgressing, message, s.release.Generation)
	return out
}

func (c *Controller) renderInput(s *scope) render.Input {
	return render.Input{
		Release:  s.release,
		Artifact: render.Artifact(*s.artifact),
		References: content.References{
			HostReader: c.config.HostReader, Lookup: c.config.Sources, Fetcher: c.config.Fetcher, MaxAge: maxAge(s),
		},
		Cluster: s.target, Lookup: render.LookupOf(s.target, clusterconn.Classify),
	}
}

// noteRender puts the scope's render into the status.
func (c *Controller) noteRender(s *scope) outcome {
	s.release.Status.Render = &corev1alpha1.RenderStatus{
		Digest: s.result.Digest, Inputs: s.result.Inputs, Objects: int32(len(s.result.Objects)),
	}
	message := count(len(s.result.Objects), "object")
	if hooks := len(s.result.Hooks); hooks > 0 {
		message += " and " + count(hooks, "hook")
	}
	if pin := s.release.Spec.Pin; pin != nil && pin.Revision != "" && len(s.result.Ranges) > 0 {
		message += "; the pinned revision has no Chart.lock, so that it does not fix the versions of charts that it depends on: " + listed(s.result.Ranges, ", ")
	}
	if len(s.result.NonDeterministic) == 0 {
		return holds(corev1alpha1.ConditionRendered, corev1alpha1.ReasonRendered, message)
	}
	var named []string
	for _, key := range s.result.NonDeterministic {
		named = append(named, objectName(key))
	}
	return holds(corev1alpha1.ConditionRendered, corev1alpha1.ReasonNonDeterministic,
		message+"; every render of the same input is different, by random or time functions, in "+listed(named, ", "))
}

// renderReason gives the reason of a condition that reports an error of the renderer.
func renderReason(err error) string {
	if failed, ok := errors.AsType[*render.Error](err); ok {
		return failed.Reason
	}
	for _, class := range []error{clusterconn.ErrUnreachable, clusterconn.ErrUnauthenticated, clusterconn.ErrForbidden} {
		if errors.Is(err, class) {
			return targetReason(err)
		}
	}
	return corev1alpha1.ReasonRenderFailed
}

// count gives "1 object", "2 objects".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
