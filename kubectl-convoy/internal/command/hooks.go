// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// newRetry is `kubectl convoy retry`.
func newRetry(env *environment) *cobra.Command {
	return newHookCommand(env, &cobra.Command{
		Use:   "retry RELEASE [HOOK...]",
		Short: "Run the failed hooks of a Release again",
		Long: "Run hooks of a Release again that failed, all of them or those that are named, and go on with the sync or\n" +
			"the deletion that they hold up. Hooks that succeeded do not run again: that is 'kubectl convoy sync --force'.\n" +
			"Only the subresource lifecycle is written.",
		Example: "  kubectl convoy retry web\n  kubectl convoy retry web migrate",
	}, "run again", func(hooks []corev1alpha1.HookStatus, due func(corev1alpha1.HookStatus) bool) []corev1alpha1.HookStatus {
		return slices.DeleteFunc(hooks, due)
	})
}

// newSkip is `kubectl convoy skip`.
func newSkip(env *environment) *cobra.Command {
	return newHookCommand(env, &cobra.Command{
		Use:   "skip RELEASE HOOK...",
		Short: "Go on without a hook that failed",
		Long: "Go on with the sync or the deletion that a failed hook of a Release holds up, as if the hook had succeeded.\n" +
			"What it was to do is not done: make sure that it is not needed, or do it by hand before. Only the subresource\n" +
			"lifecycle is written.",
		Example: "  kubectl convoy skip web migrate",
	}, "skipped", func(hooks []corev1alpha1.HookStatus, due func(corev1alpha1.HookStatus) bool) []corev1alpha1.HookStatus {
		for i := range hooks {
			if due(hooks[i]) {
				hooks[i].Phase, hooks[i].Message = corev1alpha1.HookSucceeded, strings.TrimSuffix("skipped by hand; it had failed: "+hooks[i].Message, ": ")
			}
		}
		return hooks
	})
}

// rewrite gives the hooks on record after a command, of those before. due tells which the
// command is for.
type rewrite func(hooks []corev1alpha1.HookStatus, due func(corev1alpha1.HookStatus) bool) []corev1alpha1.HookStatus

func newHookCommand(env *environment, cmd *cobra.Command, did string, rewrite rewrite) *cobra.Command {
	var flags changeFlags
	named := strings.HasSuffix(cmd.Use, " HOOK...")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if named && len(args) == 1 {
			return fmt.Errorf("%s takes the name of a Release and those of hooks; see '%s --help'", cmd.Name(), cmd.CommandPath())
		}
		return oneRelease(cmd, args[:min(len(args), 1)])
	}
	cmd.ValidArgsFunction = env.completeHooks
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.check(); err != nil {
			return err
		}
		// The controllers write there too: with another version than was read, it is done anew.
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			return env.rewriteHooks(cmd.Context(), args[0], args[1:], &flags, did, rewrite)
		})
	}
	flags.add(cmd)
	return cmd
}

// rewriteHooks changes what is on record of failed hooks.
func (e *environment) rewriteHooks(ctx context.Context, name string, hooks []string, flags *changeFlags, did string, rewrite rewrite) error {
	release, err := e.release(ctx, name)
	if err != nil {
		return err
	}
	failed := wayout.FailedHooks(release.release)
	if err := haveFailed(release.release, failed, hooks); err != nil {
		return err
	}
	var names []string
	for _, hook := range failed {
		if len(hooks) == 0 || slices.Contains(hooks, hook.Name) {
			names = append(names, hook.Name)
		}
	}
	after := rewrite(slices.Clone(release.release.Status.Lifecycle.Hooks), func(hook corev1alpha1.HookStatus) bool {
		return hook.Phase == corev1alpha1.HookFailed && slices.Contains(names, hook.Name)
	})
	lifecycle, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1alpha1.LifecycleStatus{Hooks: after})
	if err != nil {
		return err
	}
	if len(after) == 0 {
		lifecycle["hooks"] = []any{}
	}
	written, err := flags.patch(ctx, release.client, release.chosen, map[string]any{"status": map[string]any{"lifecycle": lifecycle}}, true, "lifecycle")
	if apierrors.IsConflict(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("hooks of Release %s: %w", fullName(release.release), err)
	}
	return flags.report(e.Out, changed{written, "hook " + strings.Join(names, ", ") + " " + did})
}

// haveFailed refuses hooks that have not failed.
func haveFailed(release *corev1alpha1.Release, failed []corev1alpha1.HookStatus, names []string) error {
	for _, name := range names {
		if slices.ContainsFunc(failed, func(hook corev1alpha1.HookStatus) bool { return hook.Name == name }) {
			continue
		}
		state := "has no run on record"
		if release.Status.Lifecycle != nil {
			for _, hook := range release.Status.Lifecycle.Hooks {
				if hook.Name == name {
					state = "is " + string(hook.Phase)
				}
			}
		}
		return fmt.Errorf("hook %s of Release %s %s, and has not failed; %s", name, fullName(release), state, seeWhy(release))
	}
	if len(failed) == 0 {
		return fmt.Errorf("no hook of Release %s has failed; %s, and run all of them afresh with %s", fullName(release), seeWhy(release), wayout.Sync(release, true))
	}
	return nil
}
