// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// newRollback is `kubectl convoy rollback`.
func newRollback(env *environment) *cobra.Command {
	var flags changeFlags
	var reason string
	var exact bool
	cmd := &cobra.Command{
		Use:   "rollback RELEASE [ID]",
		Short: "Go back to what a Release applied before",
		Long: "Go back to an entry of a Release's history, by default to the newest that became healthy and is not what is\n" +
			"applied now. The Release is pinned to it, until 'kubectl convoy unpin'.\n\n" +
			"An entry of another revision is rendered again, with the present spec. With --exact, and where only spec or\n" +
			"values have changed since, the stored objects of then are applied as they were, which needs a render store.\n" +
			"Only the subresource pin is written.",
		Example: "  kubectl convoy history web\n  kubectl convoy rollback web\n  kubectl convoy rollback web 3 --reason 'checkout is broken'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				args = args[:1]
			}
			return oneRelease(cmd, args)
		},
		ValidArgsFunction: env.completeReleaseAndHistory,
		RunE: env.changeRelease(&flags, func(ctx context.Context, release *oneOfReleases, args []string) error {
			entry, err := entryToReturnTo(release.release, args)
			if err != nil {
				return err
			}
			pin := pinTo(release.release, entry, exact)
			pin.Reason = reason
			if reason == "" {
				pin.Reason = fmt.Sprintf("rollback to history id %d", entry.ID)
			}
			return env.setPin(ctx, release, &flags, pin)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "Why, for those who come across it.")
	cmd.Flags().BoolVar(&exact, "exact", false, "Apply the stored objects of then, and not that revision with the present spec.")
	flags.add(cmd)
	return cmd
}

// entryToReturnTo finds the entry of the history with the given id, or the newest healthy one
// that is not applied now.
func entryToReturnTo(release *corev1alpha1.Release, id []string) (*corev1alpha1.HistoryEntry, error) {
	applied := ""
	if release.Status.Applied != nil {
		applied = release.Status.Applied.Render
	}
	history := release.Status.History
	for i := range history {
		switch {
		case len(id) > 0 && strconv.FormatInt(history[i].ID, 10) == id[0]:
			return &history[i], nil
		case len(id) == 0 && history[i].Outcome == corev1alpha1.OutcomeHealthy && history[i].Render != applied:
			return &history[i], nil
		}
	}
	see := "see " + wayout.Command(release.Namespace, "history", release.Name)
	if len(id) > 0 {
		return nil, fmt.Errorf("the history of Release %s has no id %s; %s", fullName(release), id[0], see)
	}
	return nil, fmt.Errorf("the history of Release %s has nothing that was healthy but what is applied; name an id, %s", fullName(release), see)
}

// pinTo gives the pin that brings an entry of the history back.
func pinTo(release *corev1alpha1.Release, entry *corev1alpha1.HistoryEntry, exact bool) corev1alpha1.Pin {
	same := release.Status.Applied != nil && release.Status.Applied.Revision == entry.Revision && release.Status.Applied.Render != entry.Render
	if exact || same {
		return corev1alpha1.Pin{Render: entry.Render}
	}
	return corev1alpha1.Pin{Revision: entry.Revision}
}

// historyChoices gives ids of the history with what they were, for completion.
func historyChoices(release *corev1alpha1.Release) []string {
	var choices []string
	for _, entry := range release.Status.History {
		choices = append(choices, cobra.CompletionWithDesc(strconv.FormatInt(entry.ID, 10), fmt.Sprintf("%s, %s", naming.Short(entry.Revision), entry.Outcome)))
	}
	return choices
}
