// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// newSuspend is `kubectl convoy suspend`.
func newSuspend(env *environment) *cobra.Command {
	return newSuspension(env, true, &cobra.Command{
		Use:   "suspend (NAME | KIND/NAME)... | [KIND...] (-l SELECTOR | --all)",
		Short: "Stop the work on Releases, sources or Clusters",
		Long: "Stop the work on Releases, sources or Clusters. What is applied stays. Of a suspended Release nothing is\n" +
			"applied or pruned, and drift is not looked for; from a suspended source nothing is fetched; to a suspended\n" +
			"Cluster nothing is synced. A bare name is that of a Release; others are written KIND/NAME.\n\n" +
			"Objects chosen by --selector or --all are shown first, and have to be confirmed.",
		Example: "  kubectl convoy suspend web\n" +
			"  kubectl convoy suspend cluster/edge gitrepository/apps\n" +
			"  kubectl convoy suspend -l team=shop --dry-run=server\n" +
			"  kubectl convoy suspend releases clusters --all --yes",
	})
}

// newResume is `kubectl convoy resume`.
func newResume(env *environment) *cobra.Command {
	return newSuspension(env, false, &cobra.Command{
		Use:   "resume (NAME | KIND/NAME)... | [KIND...] (-l SELECTOR | --all)",
		Short: "Go on with Releases, sources or Clusters that are suspended",
		Long: "Go on with Releases, sources or Clusters that are suspended: what was to be done meanwhile, and syncs that\n" +
			"were requested, follow at once. A bare name is that of a Release; others are written KIND/NAME.\n\n" +
			"Objects chosen by --selector or --all are shown first, and have to be confirmed.",
		Example: "  kubectl convoy resume web\n" +
			"  kubectl convoy resume cluster/edge gitrepository/apps\n" +
			"  kubectl convoy resume -l team=shop --dry-run=server\n" +
			"  kubectl convoy resume releases clusters --all --yes",
	})
}

func newSuspension(env *environment, suspend bool, cmd *cobra.Command) *cobra.Command {
	choice := &selection{kinds: []objectKind{releaseKind, clusterKind, gitRepositoryKind, helmRegistryKind, ociRegistryKind}}
	flags := &changeFlags{}
	cmd.Args = choice.checkArgs
	cmd.ValidArgsFunction = env.completeObjects(choice)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.check(); err != nil {
			return err
		}
		return env.setSuspension(cmd.Context(), choice, flags, args, suspend)
	}
	choice.addFlags(cmd)
	flags.add(cmd)
	return cmd
}

// setSuspension writes spec.suspend of the chosen objects that have it otherwise. One that
// fails does not keep the others from being written.
func (e *environment) setSuspension(ctx context.Context, choice *selection, flags *changeFlags, args []string, suspend bool) error {
	client, namespace, err := e.connectAnyKind()
	if err != nil {
		return err
	}
	objects, err := choice.find(ctx, client, namespace, args)
	if err != nil {
		return err
	}
	did := "resumed"
	if suspend {
		did = "suspended"
	}
	var due []chosen
	var done []changed
	for _, object := range objects {
		if isSuspended(object.Unstructured) == suspend {
			done = append(done, changed{object.Unstructured, "unchanged"})
			continue
		}
		due = append(due, object)
	}
	if len(due) > 0 {
		if err := e.confirm(choice, due, did); err != nil {
			return err
		}
	}
	var failures []error
	for _, object := range due {
		after, err := flags.patch(ctx, client, object, map[string]any{"spec": map[string]any{"suspend": suspend}}, false)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s %s/%s: %w", object.kind.name, object.GetNamespace(), object.GetName(), err))
			continue
		}
		done = append(done, changed{after, did})
	}
	return errors.Join(append(failures, flags.report(e.Out, done...))...)
}

func isSuspended(object *unstructured.Unstructured) bool {
	value, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend")
	return value
}
