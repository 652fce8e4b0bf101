// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
)

// newSync is `kubectl convoy sync`.
func newSync(env *environment) *cobra.Command {
	var force, wait bool
	var timeout time.Duration
	choice := &selection{kinds: []objectKind{releaseKind}}
	cmd := &cobra.Command{
		Use:   "sync RELEASE... | (-l SELECTOR | --all)",
		Short: "Ask for a sync of a Release, or of many",
		Long: "Ask for a sync of a Release: its source is looked at now, and every object is applied once more.\n\n" +
			"With --force, objects whose immutable fields changed are deleted and created again, and hooks run afresh.\n" +
			"With --wait, the command ends when the sync is done and the Release is Ready, or with status 1 when\n" +
			"it is not within --timeout. What the sync waits for, and the end of each hook, is told on the standard error\n" +
			"stream; where a person has to approve it, with the command that does. A Release that is suspended is not\n" +
			"waited for.\n\n" +
			"Releases chosen by --selector or --all are shown first, and have to be confirmed.",
		Example: "  kubectl convoy sync web\n  kubectl convoy sync web --wait --timeout 2m\n  kubectl convoy sync web --force\n" +
			"  kubectl convoy sync -l team=shop --yes --wait",
		Args:              choice.checkArgs,
		ValidArgsFunction: env.completeObjects(choice),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := env.toSync(cmd.Context(), choice, args)
			if err != nil {
				return err
			}
			client, _, err := env.connect()
			if err != nil {
				return err
			}
			requested, err := env.requestSyncs(cmd.Context(), client, names, corev1alpha1.ReleaseSyncOptions{Force: force})
			if err != nil || !wait {
				return err
			}
			return env.waitForSyncs(cmd.Context(), client, requested, timeout)
		},
	}
	choice.addFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "Delete and create again the objects whose immutable fields changed, and run hooks afresh.")
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait until the Release is Ready.")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "How long to wait, with --wait.")
	return cmd
}

// toSync gives the Releases that are to be synced: those that are named, as they are named,
// or those that are chosen, when that is confirmed.
func (e *environment) toSync(ctx context.Context, choice *selection, args []string) ([]types.NamespacedName, error) {
	client, namespace, err := e.connectAnyKind()
	if err != nil {
		return nil, err
	}
	var names []types.NamespacedName
	if !choice.bulk() {
		for _, arg := range args {
			_, name, err := choice.parse(arg)
			if err != nil {
				return nil, err
			}
			names = append(names, types.NamespacedName{Namespace: namespace, Name: name})
		}
		return names, nil
	}
	objects, err := choice.find(ctx, client, namespace, args)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		names = append(names, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()})
	}
	return names, e.confirm(choice, objects, "synced")
}

// requestSyncs asks for syncs of Releases. One that fails does not keep the others from being
// asked for; the failures are the error then.
func (e *environment) requestSyncs(ctx context.Context, client versioned.Interface, names []types.NamespacedName, options corev1alpha1.ReleaseSyncOptions) ([]*corev1alpha1.Release, error) {
	var requested []*corev1alpha1.Release
	var failures []error
	for _, name := range names {
		release, err := client.CoreV1alpha1().Releases(name.Namespace).Sync(ctx, name.Name, options)
		if err != nil {
			failures = append(failures, fmt.Errorf("sync of Release %s: %w", name, err))
			continue
		}
		fmt.Fprintf(e.Out, "release.core.convoy.kumodo.io/%s sync requested\n", release.Name)
		requested = append(requested, release)
	}
	return requested, errors.Join(failures...)
}
