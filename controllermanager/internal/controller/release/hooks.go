// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// runHooks runs the hooks of a point in order of their weight: those of one weight are
// started in order, and waited for before the next weight. How far they are is in the
// status, where the observer writes how they ended; a run that is in the status is never
// started again.
func (c *Controller) runHooks(point corev1alpha1.HookPoint) func(ctx context.Context, s *scope) outcome {
	return func(ctx context.Context, s *scope) outcome {
		if s.result == nil {
			return next()
		}
		if out := c.endSuperseded(ctx, s, point); out.kind != proceeds || !s.runsHooks(point) {
			return out
		}
		for _, group := range byWeight(s.result.Hooks, point) {
			if out := c.runGroup(ctx, s, group); out.kind != proceeds {
				if deletes(point) {
					return ofDeletion(out)
				}
				return out
			}
		}
		return next()
	}
}

// runPreSync runs the preSync hooks, before anything of the render is applied but what they
// cannot run without.
func (c *Controller) runPreSync(ctx context.Context, s *scope) outcome {
	point := corev1alpha1.HookPreSync
	s.retireHooks()
	if out := c.noteStrays(ctx, s); out.kind != proceeds {
		return out
	}
	if s.runsHooks(point) && len(byWeight(s.result.Hooks, point)) > 0 && !s.hooksBegan(point) {
		if out := c.applyNeeds(ctx, s); out.kind != proceeds {
			return out
		}
	}
	return c.runHooks(point)(ctx, s)
}

// runPostSync runs the postSync hooks when everything that was applied is healthy. Once
// they run, it does not have to stay so.
func (c *Controller) runPostSync(ctx context.Context, s *scope) outcome {
	due := s.runsHooks(corev1alpha1.HookPostSync) && len(byWeight(s.result.Hooks, corev1alpha1.HookPostSync)) > 0
	if due && !s.hooksBegan(corev1alpha1.HookPostSync) {
		out := c.awaitHealthy(ctx, s, s.result.Objects, "the objects before the postSync hooks", corev1alpha1.ReasonWaitingForHealth)
		if out.kind != proceeds {
			return out
		}
	}
	return c.runHooks(corev1alpha1.HookPostSync)(ctx, s)
}

// hooksBegan tells whether a hook of a point was started for the desired state.
func (s *scope) hooksBegan(point corev1alpha1.HookPoint) bool {
	return s.release.Status.Lifecycle != nil && slices.ContainsFunc(s.release.Status.Lifecycle.Hooks,
		func(status corev1alpha1.HookStatus) bool {
			return status.On == point && status.Run == s.run && status.Object != nil
		})
}

// runsHooks tells whether the hooks of a point run in this pass: those of a sync do unless
// it brings nothing new, such as a correction of drift.
func (s *scope) runsHooks(point corev1alpha1.HookPoint) bool {
	return deletes(point) || s.fresh() || s.request.force != ""
}

func deletes(point corev1alpha1.HookPoint) bool {
	return point == corev1alpha1.HookPreDelete || point == corev1alpha1.HookPostDelete
}

// byWeight gives the hooks of a point, which come in order, grouped by weight.
func byWeight(hooks []render.Hook, point corev1alpha1.HookPoint) [][]render.Hook {
	var groups [][]render.Hook
	for _, hook := range hooks {
		if hook.On != point {
			continue
		}
		if last := len(groups) - 1; last >= 0 && groups[last][0].Weight == hook.Weight {
			groups[last] = append(groups[last], hook)
			continue
		}
		groups = append(groups, []render.Hook{hook})
	}
	return groups
}

// runGroup runs hooks of one point and weight. When that was the last thing to do at the point,
// what the hooks of it left is removed.
func (c *Controller) runGroup(ctx context.Context, s *scope, hooks []render.Hook) outcome {
	out := c.followGroup(ctx, s, hooks)
	if out.kind != aborts {
		c.cleanUp(ctx, s, hooks[0].On)
	}
	return out
}

// followGroup starts the hooks that were not yet, and waits for their end.
func (c *Controller) followGroup(ctx context.Context, s *scope, hooks []render.Hook) outcome {
	var running []string
	for _, hook := range hooks {
		if !s.hookBegan(hook) {
			if out := c.startHook(ctx, s, hook); out.kind != proceeds {
				return out
			}
		}
		status := s.hookStatus(hook.Name)
		if out := c.expire(ctx, s, hook, status); out.kind != proceeds {
			return out
		}
		if status.Phase == corev1alpha1.HookRunning {
			running = append(running, hookText(hook, status.Message))
			continue
		}
		if stops(hook, status) {
			return stuck(corev1alpha1.ConditionApplied, corev1alpha1.ReasonHookFailed, fmt.Sprintf("%s; %s",
				failedText(hook, status.Message), s.wayOut(hook)))
		}
	}
	if len(running) > 0 {
		return waitUnderWay(corev1alpha1.ReasonWaitingForHook, "waiting for "+listed(running, "; "), 0)
	}
	return next()
}

// hookBegan tells whether a hook was started, or has failed without.
func (s *scope) hookBegan(hook render.Hook) bool {
	status := s.hookStatus(hook.Name)
	return status != nil && (status.Object != nil || status.Phase != corev1alpha1.HookRunning)
}

// stops tells whether a hook has failed and nothing goes on after it.
func stops(hook render.Hook, status *corev1alpha1.HookStatus) bool {
	return status.Phase == corev1alpha1.HookFailed && hook.FailurePolicy != corev1alpha1.HookFailureIgnore
}

func hookText(hook render.Hook, message string) string {
	key := hook.Object.Key()
	text := fmt.Sprintf("%s hook %s (%s)", hook.On, hook.Name, objectName(key))
	switch {
	case key.Kind == "": // of an unknown one that never came to its object
		text = fmt.Sprintf("%s hook %s", hook.On, hook.Name)
	case strings.HasPrefix(hook.Name, string(hook.On)+"/"): // a chart's, named by point and object
		text = fmt.Sprintf("%s hook %s", hook.On, objectName(key))
	}
	if message != "" {
		text += ": " + message
	}
	return text
}

func failedText(hook render.Hook, message string) string {
	switch {
	case message == "":
		return hookText(hook, "") + " failed"
	case strings.HasPrefix(message, "failed"):
		return hookText(hook, "") + " " + message
	}
	return hookText(hook, "") + " failed: " + message
}

// wayOut says what ends the state in which a hook failed.
func (s *scope) wayOut(hook render.Hook) string {
	command := func(verb string) string {
		return fmt.Sprintf("kubectl convoy -n %s %s %s %s", s.release.Namespace, verb, s.release.Name, hook.Name)
	}
	switch {
	case unknown(hook):
		return fmt.Sprintf("it cannot be run again, because what was applied cannot be rendered: the deletion goes on without it with %s, or once its entry in "+
			"status.lifecycle.hooks has the phase succeeded there, which the lifecycle subresource writes; spec.deletionPolicy: orphan gives up what is left", command("skip"))
	case deletes(hook.On):
		return fmt.Sprintf("the deletion goes on when it has run again, with %s, or without it, with %s; "+
			"or once its entry is taken out of status.lifecycle.hooks through the lifecycle subresource, or has the phase succeeded there; "+
			"spec.deletionPolicy: orphan gives up what is left", command("retry"), command("skip"))
	}
	return runsAfresh
}

const runsAfresh = "a change of the source or the spec, or a forced sync, runs it afresh"

// hookStatus gives the run of a hook that belongs to the scope's desired state.
func (s *scope) hookStatus(name string) *corev1alpha1.HookStatus {
	if s.release.Status.Lifecycle == nil {
		return nil
	}
	for i := range s.release.Status.Lifecycle.Hooks {
		if status := &s.release.Status.Lifecycle.Hooks[i]; status.Name == name && status.Run == s.run {
			return status
		}
	}
	return nil
}

func (s *scope) setHookStatus(status corev1alpha1.HookStatus) {
	if s.release.Status.Lifecycle == nil {
		s.release.Status.Lifecycle = &corev1alpha1.LifecycleStatus{}
	}
	hooks := &s.release.Status.Lifecycle.Hooks
	for i := range *hooks {
		if (*hooks)[i].Name == status.Name {
			(*hooks)[i] = status
			return
		}
	}
	*hooks = append(*hooks, status)
}
