// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newRender is `kubectl convoy render`.
func newRender(env *environment) *cobra.Command {
	var revision, id, format string
	var withoutHooks bool
	cmd := &cobra.Command{
		Use:   "render RELEASE",
		Short: "Write the objects that a sync of a Release would apply",
		Long: "Write the objects that a sync of a Release would apply now, as YAML, in the order in which they would be\n" +
			"applied; those of hooks come with them. With --revision, what another revision of the source gives; with --id,\n" +
			"what an entry of the history was. Nothing is applied. Values of Secrets are masked, so that what is written\n" +
			"cannot be applied by hand where there are Secrets.",
		Example: "  kubectl convoy render web\n  kubectl convoy render web --revision v1.2.0 --no-hooks\n" +
			"  kubectl convoy render web --id 3 -o json",
		Args:              oneRelease,
		ValidArgsFunction: env.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			if id != "" && revision != "" {
				return errors.New("--id and --revision exclude each other: an entry of the history has its revision")
			}
			objects, err := env.render(cmd.Context(), args[0], revision, id, withoutHooks)
			if err != nil {
				return err
			}
			list := &output.List{APIVersion: "v1", Kind: "List", Items: objects}
			if format == "yaml" {
				format = "" // documents, as everything that reads manifests takes them
			}
			return output.Print(env.Out, format, list, func(w io.Writer) error { return output.Documents(w, objects) })
		},
	}
	cmd.Flags().StringVar(&revision, "revision", "", "Revision of the source, in any form that status.source.revision takes; by default what a sync would take now.")
	cmd.Flags().StringVar(&id, "id", "", "Id of an entry of the history.")
	cmd.Flags().BoolVar(&withoutHooks, "no-hooks", false, "Leave out the objects of hooks.")
	_ = cmd.RegisterFlagCompletionFunc("id", env.completeHistory)
	_ = cmd.RegisterFlagCompletionFunc("revision", env.completeRevision)
	output.AddFlag(cmd, &format)
	return cmd
}

// render gives the objects of what would be applied, or of an entry of the history.
func (e *environment) render(ctx context.Context, name, revision, id string, withoutHooks bool) ([]runtime.RawExtension, error) {
	client, namespace, err := e.connect()
	if err != nil {
		return nil, err
	}
	releases := client.CoreV1alpha1().Releases(namespace)
	if id != "" {
		history, err := releases.History(ctx, name, corev1alpha1.ReleaseHistoryOptions{ID: id})
		if err != nil {
			return nil, fmt.Errorf("history id %s of Release %s/%s: %w", id, namespace, name, err)
		}
		return history.Objects, nil
	}
	preview, err := releases.Preview(ctx, name, corev1alpha1.ReleasePreviewOptions{Revision: revision})
	if err != nil {
		return nil, fmt.Errorf("render of Release %s/%s: %w", namespace, name, err)
	}
	objects := []runtime.RawExtension{}
	for _, object := range preview.Objects {
		switch {
		case object.Object == nil, withoutHooks && object.Hook != "":
			continue
		}
		objects = append(objects, *object.Object)
		if object.Action == corev1alpha1.ActionError {
			fmt.Fprintf(e.ErrOut, "Warning: a sync would fail with %s: %s\n", naming.Object(object.ObjectKey), object.Message)
		}
	}
	return objects, nil
}
