// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	corev1alpha1client "kumodo.io/convoy/client/clientset/versioned/typed/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

const exitCodesHelp = "Exit status: 0 when nothing differs, 1 when something does, 2 when it could not be told."

// newDiff is `kubectl convoy diff`.
func newDiff(env *environment) *cobra.Command {
	var from, to, format string
	var only []string
	cmd := &cobra.Command{
		Use:   "diff RELEASE",
		Short: "Show how a Release's objects differ from the cluster",
		Long: "Show how a Release's objects in its target cluster differ from what it should have there, as a sync\n" +
			"would see it. Values of Secrets are masked.\n\n" + exitCodesHelp,
		Example:           "  kubectl convoy diff web\n  kubectl convoy diff web --from 3 --to 4\n  kubectl convoy diff web -o patch",
		Args:              asError(oneRelease),
		ValidArgsFunction: env.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			diff, err := compare(env, args[0], "diff", func(releases releaseInterface, name string) (*corev1alpha1.ReleaseDiff, error) {
				return releases.Diff(cmd.Context(), name, corev1alpha1.ReleaseDiffOptions{From: from, To: to})
			})
			if err != nil {
				return err
			}
			actions, err := actionSet(only)
			if err != nil {
				return &exitCode{exitError, err}
			}
			diff.Objects = filter(diff.Objects, func(o corev1alpha1.ObjectDiff) bool { return selected(actions, o.Action) })
			if err := printDiff(env.Out, format, diff); err != nil {
				return &exitCode{exitError, err}
			}
			return verdict(diff.Objects, func(o corev1alpha1.ObjectDiff) corev1alpha1.ObjectAction { return o.Action })
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "Left side: live (default), desired, the digest of a render, or a history id.")
	cmd.Flags().StringVar(&to, "to", "", "Right side: desired (default), live, the digest of a render, or a history id.")
	addCompareFlags(cmd, &format, &only)
	flag := cmd.Flags().Lookup("output")
	flag.Usage = "Output format: json, yaml, or patch for JSON patches (RFC 6902), one list for each object; text for people when empty."
	return cmd
}

// formatPatch is the format of JSON patches, which only diff has.
const formatPatch = "patch"

func printDiff(w io.Writer, format string, diff *corev1alpha1.ReleaseDiff) error {
	if format == formatPatch {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(diff.JSONPatches())
	}
	return output.Print(w, format, diff, func(w io.Writer) error { return output.Diff(w, diff) })
}

// newPreview is `kubectl convoy preview`.
func newPreview(env *environment) *cobra.Command {
	var revision, format string
	var force bool
	var only []string
	cmd := &cobra.Command{
		Use:   "preview RELEASE",
		Short: "Show what a sync of a Release would do now",
		Long: "Show what a sync of a Release would do now: which objects would be created, changed, recreated and\n" +
			"deleted. Nothing is applied. Values of Secrets are masked.\n\n" + exitCodesHelp,
		Example:           "  kubectl convoy preview web\n  kubectl convoy preview web --only delete,recreate\n  kubectl convoy preview web -o yaml",
		Args:              asError(oneRelease),
		ValidArgsFunction: env.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			preview, err := compare(env, args[0], "preview", func(releases releaseInterface, name string) (*corev1alpha1.ReleasePreview, error) {
				return releases.Preview(cmd.Context(), name, corev1alpha1.ReleasePreviewOptions{Revision: revision, Force: force})
			})
			if err != nil {
				return err
			}
			actions, err := actionSet(only)
			if err != nil {
				return &exitCode{exitError, err}
			}
			preview.Objects = filter(preview.Objects, func(o corev1alpha1.ObjectPreview) bool { return selected(actions, o.Action) })
			if err := output.Print(env.Out, format, preview, func(w io.Writer) error { return output.Preview(w, preview, only) }); err != nil {
				return &exitCode{exitError, err}
			}
			return verdict(preview.Objects, func(o corev1alpha1.ObjectPreview) corev1alpha1.ObjectAction { return o.Action })
		},
	}
	cmd.Flags().StringVar(&revision, "revision", "", "Revision of the source to preview, in any form that status.source.revision takes; by default what a sync would take now.")
	cmd.Flags().BoolVar(&force, "force", false, "Preview 'sync --force': objects whose immutable fields changed are recreated, and hooks run afresh.")
	addCompareFlags(cmd, &format, &only)
	return cmd
}

func addCompareFlags(cmd *cobra.Command, format *string, only *[]string) {
	output.AddFlag(cmd, format)
	cmd.Flags().StringSliceVar(only, "only", nil, "Actions to show and to decide the exit status by: create, update, recreate, delete, unchanged. An error, of an object that could not be compared, always counts.")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitCode{exitError, err} })
}

// releaseInterface is the client for the Releases of a namespace.
type releaseInterface = corev1alpha1client.ReleaseInterface

// compare asks for a comparison; every failure has the exit code of one.
func compare[T runtime.Object](env *environment, name, subresource string, ask func(releaseInterface, string) (T, error)) (answer T, err error) {
	client, namespace, err := env.connect()
	if err != nil {
		return answer, &exitCode{exitError, err}
	}
	if answer, err = ask(client.CoreV1alpha1().Releases(namespace), name); err != nil {
		return answer, &exitCode{exitError, fmt.Errorf("%s of Release %s/%s: %w", subresource, namespace, name, err)}
	}
	return answer, setKind(answer)
}

var knownActions = sets.New(corev1alpha1.ActionCreate, corev1alpha1.ActionUpdate, corev1alpha1.ActionRecreate,
	corev1alpha1.ActionDelete, corev1alpha1.ActionError, corev1alpha1.ActionUnchanged)

func actionSet(names []string) (sets.Set[corev1alpha1.ObjectAction], error) {
	actions := sets.New[corev1alpha1.ObjectAction]()
	for _, name := range names {
		action := corev1alpha1.ObjectAction(name)
		if !knownActions.Has(action) {
			return nil, fmt.Errorf("--only: unknown action %q, must be one of create, update, recreate, delete, error, unchanged", name)
		}
		actions.Insert(action)
	}
	return actions, nil
}

// selected tells whether objects with an action are shown and decide the exit status. One
// that could not be compared always does: nobody knows what its action would be.
func selected(actions sets.Set[corev1alpha1.ObjectAction], action corev1alpha1.ObjectAction) bool {
	return actions.Len() == 0 || actions.Has(action) || action == corev1alpha1.ActionError
}

func filter[T any](items []T, keep func(T) bool) []T {
	kept := make([]T, 0, len(items))
	for _, item := range items {
		if keep(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// verdict is the exit code of a comparison: an object that could not be compared is a
// failure, never "no difference".
func verdict[T any](objects []T, action func(T) corev1alpha1.ObjectAction) error {
	different, failed := 0, 0
	for _, object := range objects {
		switch action(object) {
		case corev1alpha1.ActionUnchanged:
		case corev1alpha1.ActionError:
			failed++
		default:
			different++
		}
	}
	switch {
	case failed > 0:
		return &exitCode{exitError, fmt.Errorf("%s could not be compared", output.Count(failed, "object"))}
	case different > 0:
		return &exitCode{exitDifferent, nil}
	}
	return nil
}

// asError gives an argument check the exit code of a failed comparison.
func asError(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &exitCode{exitError, err}
		}
		return nil
	}
}
