// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/kubectl-convoy/internal/explain"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// newWhy is `kubectl convoy why`.
func newWhy(env *environment) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "why RELEASE",
		Short: "Say what blocks a Release, for how long, and what to do",
		Long: "Say what keeps a Release from being synced or well: its suspension, that of its Cluster or source, a source\n" +
			"that cannot be had, a render that fails, Releases that it waits for and why those are not further, gates,\n" +
			"windows, hooks, objects that are not healthy. Each with how long it has been so, as far as that is known, and\n" +
			"the next command to try.\n\n" +
			"What you may not read is left out. Nothing is asked of the target.",
		Example:           "  kubectl convoy why web\n  kubectl convoy why web -o json",
		Args:              oneRelease,
		ValidArgsFunction: env.completeRelease,
		RunE: env.seeRelease(func(ctx context.Context, client versioned.Interface, namespace, name string) error {
			facts, err := gather(ctx, client, namespace, name)
			if err != nil {
				return err
			}
			explanation := explain.Explain(*facts)
			return output.Print(env.Out, format, &explanation, func(w io.Writer) error { return output.Explanation(w, &explanation) })
		}),
	}
	output.AddFlag(cmd, &format)
	return cmd
}

// gather reads what an explanation needs. What may not be read is unknown; what cannot be is
// an error.
func gather(ctx context.Context, client versioned.Interface, namespace, name string) (*explain.Facts, error) {
	release, err := client.CoreV1alpha1().Releases(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("Release %s/%s: %w", namespace, name, err)
	}
	facts := &explain.Facts{Release: release, Now: time.Now()}
	if facts.Inventory, err = inventory(ctx, client, namespace, name); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if facts.Cluster, err = readCluster(ctx, client, release); err != nil {
		return nil, err
	}
	if facts.Source, err = readSource(ctx, client, release); err != nil {
		return nil, err
	}
	others, err := allReleases(ctx, client, namespace, metav1.ListOptions{})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if others != nil {
		facts.Others = others.Items
	}
	return facts, nil
}

func readCluster(ctx context.Context, client versioned.Interface, release *corev1alpha1.Release) (explain.Referred, error) {
	name := release.Spec.ClusterRef.Name
	cluster, err := client.CoreV1alpha1().Clusters(release.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return notRead(clusterKind, name, err)
	}
	return referredAs(clusterKind, name, cluster.Spec.Suspend, cluster.Status.Conditions), nil
}

// readSource reads the source object that a Release names.
func readSource(ctx context.Context, client versioned.Interface, release *corev1alpha1.Release) (explain.Referred, error) {
	sources := client.SourceV1alpha1()
	switch source := release.Spec.Source; {
	case source.Git != nil:
		name := source.Git.RepositoryRef.Name
		object, err := sources.GitRepositories(release.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return notRead(gitRepositoryKind, name, err)
		}
		return referredAs(gitRepositoryKind, name, object.Spec.Suspend, object.Status.Conditions), nil
	case source.Helm != nil:
		name := source.Helm.RegistryRef.Name
		object, err := sources.HelmRegistries(release.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return notRead(helmRegistryKind, name, err)
		}
		return referredAs(helmRegistryKind, name, object.Spec.Suspend, object.Status.Conditions), nil
	case source.OCI != nil:
		name := source.OCI.RegistryRef.Name
		object, err := sources.OCIRegistries(release.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return notRead(ociRegistryKind, name, err)
		}
		return referredAs(ociRegistryKind, name, object.Spec.Suspend, object.Status.Conditions), nil
	}
	return explain.Referred{Kind: "source"}, nil
}

// referredAs gives what is known of an object that was read.
func referredAs(kind objectKind, name string, suspended bool, conditions []metav1.Condition) explain.Referred {
	return explain.Referred{
		Kind: kind.name, Name: name, Known: true, Found: true, Suspended: suspended,
		Ready: meta.FindStatusCondition(conditions, corev1alpha1.ConditionReady),
	}
}

// notRead gives what is known of an object that could not be read.
func notRead(kind objectKind, name string, err error) (explain.Referred, error) {
	object := explain.Referred{Kind: kind.name, Name: name}
	switch {
	case apierrors.IsNotFound(err):
		object.Known = true
		return object, nil
	case apierrors.IsForbidden(err):
		return object, nil
	}
	return object, fmt.Errorf("%s %s: %w", kind.name, name, err)
}
