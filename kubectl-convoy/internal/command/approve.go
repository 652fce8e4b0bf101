// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// newApprove is `kubectl convoy approve`.
func newApprove(env *environment) *cobra.Command {
	var flags changeFlags
	var render string
	var withdraw bool
	cmd := &cobra.Command{
		Use:   "approve RELEASE [GATE...]",
		Short: "Let a Release through its gates",
		Long: "Approve what waits at the gates of a Release, at all of them or at those that are named. An approval is for\n" +
			"the render that waits now; with --render, only if it is that one. Who approved is noted, and kept in the\n" +
			"history. Only the subresource lifecycle is written.",
		Example: "  kubectl convoy preview web\n  kubectl convoy approve web\n" +
			"  kubectl convoy approve web qa --render sha256:1f0c2ab90e57\n  kubectl convoy approve web qa --withdraw",
		Args: func(cmd *cobra.Command, args []string) error {
			return oneRelease(cmd, args[:min(len(args), 1)])
		},
		ValidArgsFunction: env.completeGates,
		RunE: env.changeRelease(&flags, func(ctx context.Context, release *oneOfReleases, args []string) error {
			gates, err := gatesToWrite(release.release, args, render, withdraw)
			if err != nil {
				return err
			}
			return env.writeGates(ctx, release, &flags, gates, withdraw)
		}),
	}
	cmd.Flags().StringVar(&render, "render", "", "Digest of the render that is approved, or its beginning: when another one waits by now, nothing is.")
	cmd.Flags().BoolVar(&withdraw, "withdraw", false, "Withdraw an approval. A sync that has begun goes on.")
	flags.add(cmd)
	return cmd
}

// gatesToWrite finds the gates that an approval, or its withdrawal, is for.
func gatesToWrite(release *corev1alpha1.Release, names []string, render string, withdraw bool) ([]corev1alpha1.GateStatus, error) {
	waiting := waitingGates(release)
	for _, name := range names {
		if !slices.ContainsFunc(waiting, func(gate corev1alpha1.GateStatus) bool { return gate.Name == name }) {
			return nil, noSuchGate(release, name)
		}
	}
	var gates []corev1alpha1.GateStatus
	for _, gate := range waiting {
		switch {
		case len(names) > 0 && !slices.Contains(names, gate.Name):
		case len(names) == 0 && gate.Approved != withdraw:
		case render != "" && !strings.HasPrefix(gate.Render, render):
			return nil, fmt.Errorf("%s is not what waits at gate %s of Release %s: that is %s of %s by now; look at it first: %s", render, gate.Name,
				fullName(release), naming.Short(gate.Render), naming.Short(gate.Revision), wayout.Command(release.Namespace, "preview", release.Name))
		default:
			gates = append(gates, gate)
		}
	}
	if len(gates) == 0 {
		return nil, errors.New(nothingAtGates(release, withdraw))
	}
	return gates, nil
}

// waitingGates are the gates of the spec before which something waits, or was let through.
func waitingGates(release *corev1alpha1.Release) []corev1alpha1.GateStatus {
	if release.Status.Lifecycle == nil || release.Spec.Lifecycle == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(release.Status.Lifecycle.Gates), func(status corev1alpha1.GateStatus) bool {
		return status.Render == "" || !slices.ContainsFunc(release.Spec.Lifecycle.Gates, func(gate corev1alpha1.Gate) bool { return gate.Name == status.Name })
	})
}

func noSuchGate(release *corev1alpha1.Release, name string) error {
	var names []string
	if release.Spec.Lifecycle != nil {
		for _, gate := range release.Spec.Lifecycle.Gates {
			names = append(names, gate.Name)
		}
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("Release %s has no gates", fullName(release))
	case slices.Contains(names, name):
		return fmt.Errorf("nothing waits at gate %s of Release %s: an approval can be given once something does; %s", name, fullName(release), seeWhy(release))
	}
	return fmt.Errorf("Release %s has no gate %q, but %s", fullName(release), name, strings.Join(names, ", "))
}

func nothingAtGates(release *corev1alpha1.Release, withdraw bool) string {
	switch {
	case release.Spec.Lifecycle == nil || len(release.Spec.Lifecycle.Gates) == 0:
		return fmt.Sprintf("Release %s has no gates; %s", fullName(release), seeWhy(release))
	case withdraw:
		return fmt.Sprintf("no gate of Release %s is approved", fullName(release))
	}
	return fmt.Sprintf("nothing waits at the gates of Release %s; %s", fullName(release), seeWhy(release))
}

func seeWhy(release *corev1alpha1.Release) string {
	return "see " + wayout.Command(release.Namespace, "why", release.Name)
}

// writeGates approves each gate for what waits at it, and nothing that takes its place.
func (e *environment) writeGates(ctx context.Context, release *oneOfReleases, flags *changeFlags, gates []corev1alpha1.GateStatus, withdraw bool) error {
	var list []any
	names := make([]string, len(gates))
	for i, gate := range gates {
		list = append(list, map[string]any{"name": gate.Name, "render": gate.Render, "approved": !withdraw})
		names[i] = gate.Name
	}
	content := map[string]any{"status": map[string]any{"lifecycle": map[string]any{"gates": list}}}
	after, err := flags.patch(ctx, release.client, release.chosen, content, false, "lifecycle")
	if err != nil {
		return fmt.Errorf("gates of Release %s: %w", fullName(release.release), err)
	}
	did := "approved at gate " + strings.Join(names, ", ") + ": " + naming.Short(gates[0].Revision)
	if withdraw {
		did = "not approved any more at gate " + strings.Join(names, ", ")
	}
	return flags.report(e.Out, changed{after, did})
}
