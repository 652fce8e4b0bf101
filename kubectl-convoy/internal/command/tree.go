// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newTree is `kubectl convoy tree`.
func newTree(env *environment) *cobra.Command {
	var flags output.TableFlags
	var deep bool
	cmd := &cobra.Command{
		Use:   "tree RELEASE",
		Short: "Show the objects of a Release and how they are",
		Long: "Show the objects of a Release as a tree, in the order in which they are applied, each with its health as\n" +
			"its inventory has it. With --deep, also what they own in turn, as ReplicaSets, Pods and Jobs: the target is\n" +
			"asked for that now, which needs the right to get releases/health.",
		Example:           "  kubectl convoy tree web\n  kubectl convoy tree web --deep\n  kubectl convoy tree web -o wide",
		Args:              oneRelease,
		ValidArgsFunction: env.completeRelease,
		RunE: env.seeRelease(func(ctx context.Context, client versioned.Interface, namespace, name string) error {
			return env.tree(ctx, client, namespace, name, deep, &flags)
		}),
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "Show under each object what it owns in turn.")
	flags.Add(cmd)
	return cmd
}

func (e *environment) tree(ctx context.Context, client versioned.Interface, namespace, name string, deep bool, flags *output.TableFlags) error {
	release, err := client.CoreV1alpha1().Releases(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("Release %s/%s: %w", namespace, name, err)
	}
	pages, err := inventory(ctx, client, namespace, name)
	if err != nil && !(deep && apierrors.IsForbidden(err)) {
		return err
	}
	health := healthByInventory(release, pages)
	if deep {
		health, err = client.CoreV1alpha1().Releases(namespace).Health(ctx, name, corev1alpha1.ReleaseHealthOptions{Tree: true})
		if err != nil {
			return fmt.Errorf("health of Release %s/%s: %w", namespace, name, err)
		}
	}
	if err := setKind(health); err != nil {
		return err
	}
	switch {
	case flags.Format == "name":
		for _, object := range health.Objects {
			fmt.Fprintln(e.Out, naming.Path(object.Group, object.Kind, object.Name))
		}
		return nil
	case !flags.ForPeople():
		return output.Print(e.Out, flags.Format, health, nil)
	}
	if len(health.Objects) == 0 {
		fmt.Fprintf(e.ErrOut, "Release %s has no objects yet; %s\n", fullName(release), seeWhy(release))
		return nil
	}
	return output.Tree(e.Out, release, nodes(health, pages), flags)
}

// healthByInventory is the health of a Release's objects as its inventory has it.
func healthByInventory(release *corev1alpha1.Release, pages []corev1alpha1.ReleaseInventory) *corev1alpha1.ReleaseHealth {
	health := &corev1alpha1.ReleaseHealth{
		ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: release.Name}, Status: corev1alpha1.HealthUnknown,
		Objects: []corev1alpha1.ObjectHealthDetail{},
	}
	judged := map[corev1alpha1.ObjectKey]corev1alpha1.ObjectHealth{}
	for _, page := range pages {
		for _, one := range page.Status.Health {
			judged[naming.Identity(one.ObjectKey)] = one
		}
		if page.Status.Summary != nil {
			health.Summary = *page.Status.Summary
		}
	}
	for _, page := range pages {
		for _, entry := range page.Spec.Entries {
			one := judged[naming.Identity(entry.ObjectKey)]
			if one.Status == "" {
				one.Status = corev1alpha1.HealthUnknown
			}
			one.ObjectKey = entry.ObjectKey
			health.Objects = append(health.Objects, corev1alpha1.ObjectHealthDetail{ObjectHealth: one})
		}
	}
	return health
}

// nodes adds to the health of objects what the inventory knows of them.
func nodes(health *corev1alpha1.ReleaseHealth, pages []corev1alpha1.ReleaseInventory) []output.Node {
	entries := map[corev1alpha1.ObjectKey]corev1alpha1.InventoryEntry{}
	for _, page := range pages {
		for _, entry := range page.Spec.Entries {
			entries[naming.Identity(entry.ObjectKey)] = entry
		}
	}
	all := make([]output.Node, len(health.Objects))
	for i, object := range health.Objects {
		entry, known := entries[naming.Identity(object.ObjectKey)]
		all[i] = output.Node{ObjectHealthDetail: object, Stage: entry.Stage, Hook: entry.Hook, Pending: known && entry.Digest == "" && entry.Hook == ""}
	}
	return all
}
