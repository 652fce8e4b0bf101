// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// newPin is `kubectl convoy pin`.
func newPin(env *environment) *cobra.Command {
	var pin corev1alpha1.Pin
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "pin RELEASE [--revision REVISION | --render DIGEST]",
		Short: "Fix a Release to a revision or a render",
		Long: "Fix a Release to a revision of its source, or to a stored render: it is applied, and nothing newer, until\n" +
			"the pin is taken off. By default that is the revision that is applied now.\n\n" +
			"A revision is rendered with the present spec. A render is applied as it was stored, which needs a render\n" +
			"store. Only the subresource pin is written.",
		Example: "  kubectl convoy pin web --reason 'frozen until Monday'\n" +
			"  kubectl convoy pin web --revision v1.2.0\n" +
			"  kubectl convoy pin web --render sha256:1f0c… --reason 'as last week'",
		Args:              oneRelease,
		ValidArgsFunction: env.completeRelease,
		RunE: env.changeRelease(&flags, func(ctx context.Context, release *oneOfReleases, _ []string) error {
			if pin.Revision != "" && pin.Render != "" {
				return errors.New("--revision and --render exclude each other")
			}
			if pin.Revision == "" && pin.Render == "" {
				var err error
				if pin.Revision, err = appliedRevision(release.release); err != nil {
					return err
				}
			}
			return env.setPin(ctx, release, &flags, pin)
		}),
	}
	cmd.Flags().StringVar(&pin.Revision, "revision", "", "Revision of the source: as the status shows it, a commit id, a tag, a version, a digest. By default the one that is applied.")
	cmd.Flags().StringVar(&pin.Render, "render", "", "Digest of a stored render, or an id of the history.")
	cmd.Flags().StringVar(&pin.Reason, "reason", "", "Why, for those who come across it.")
	_ = cmd.RegisterFlagCompletionFunc("revision", env.completeRevision)
	_ = cmd.RegisterFlagCompletionFunc("render", env.completeRender)
	flags.add(cmd)
	return cmd
}

func appliedRevision(release *corev1alpha1.Release) (string, error) {
	if release.Status.Applied == nil {
		return "", fmt.Errorf("nothing of Release %s is applied yet: say what to pin it to with --revision", fullName(release))
	}
	return release.Status.Applied.Revision, nil
}

// setPin writes spec.pin through the subresource of its own.
func (e *environment) setPin(ctx context.Context, release *oneOfReleases, flags *changeFlags, pin corev1alpha1.Pin) error {
	content := map[string]any{}
	for field, value := range map[string]string{"revision": pin.Revision, "render": pin.Render, "reason": pin.Reason} {
		content[field] = nil // of the pin before
		if value != "" {
			content[field] = value
		}
	}
	after, err := flags.patch(ctx, release.client, release.chosen, map[string]any{"spec": map[string]any{"pin": content}}, false, "pin")
	if err != nil {
		return fmt.Errorf("pin of Release %s: %w", fullName(release.release), err)
	}
	did := "pinned to revision " + naming.Short(pin.Revision)
	if pin.Render != "" {
		did = "pinned to render " + naming.Short(pin.Render)
	}
	if err := flags.report(e.Out, changed{after, did}); err != nil {
		return err
	}
	e.tellWhenSynced(release.release, flags)
	return nil
}

// newUnpin is `kubectl convoy unpin`.
func newUnpin(env *environment) *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "unpin RELEASE",
		Short: "Let a Release go on that is pinned",
		Long: "Take the pin off a Release, also that of a rollback: what its source has now is applied, at once in mode\n" +
			"automatic. Only the subresource pin is written.",
		Example:           "  kubectl convoy unpin web\n  kubectl convoy preview web   # while it is pinned, with --revision",
		Args:              oneRelease,
		ValidArgsFunction: env.completeRelease,
		RunE: env.changeRelease(&flags, func(ctx context.Context, release *oneOfReleases, _ []string) error {
			if release.release.Spec.Pin == nil {
				return flags.report(env.Out, changed{release.Unstructured, "unchanged: it is not pinned"})
			}
			after, err := flags.patch(ctx, release.client, release.chosen, map[string]any{"spec": map[string]any{"pin": nil}}, false, "pin")
			if err != nil {
				return fmt.Errorf("pin of Release %s: %w", fullName(release.release), err)
			}
			if err := flags.report(env.Out, changed{after, "unpinned"}); err != nil {
				return err
			}
			env.tellWhenSynced(release.release, &flags)
			return nil
		}),
	}
	flags.add(cmd)
	return cmd
}

// tellWhenSynced tells the next command where a change of the pin is not applied by itself.
func (e *environment) tellWhenSynced(release *corev1alpha1.Release, flags *changeFlags) {
	switch {
	case flags.dryRun != dryRunNone:
	case release.Spec.Suspend:
		fmt.Fprintf(e.ErrOut, "The Release is suspended; this is applied once it is resumed: %s\n", wayout.Resume(release, "Release"))
	case release.Spec.Sync.Mode == corev1alpha1.SyncModeManual:
		fmt.Fprintf(e.ErrOut, "The Release is synced by hand; this is applied with: %s\n", wayout.Sync(release, false))
	}
}
