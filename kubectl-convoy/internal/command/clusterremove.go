// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kumodo.io/convoy/kubectl-convoy/internal/enrol"
)

// newClusterRemove is `kubectl convoy cluster remove`.
func newClusterRemove(env *environment) *cobra.Command {
	var flags changeFlags
	var force bool
	var targetContext, kubeconfig string
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a Cluster",
		Long: "Remove a Cluster, and the Secret with its kubeconfig if 'kubectl convoy cluster add' made it. With\n" +
			"--target-context, also the account on the target, its token and its rights; its namespace stays.\n\n" +
			"A Cluster that has Releases is not removed: without it they can neither be synced nor deleted. Nothing that\n" +
			"was delivered is deleted in any case.",
		Example:           "  kubectl convoy cluster remove edge --dry-run=client\n  kubectl convoy cluster remove edge --target-context edge-admin",
		Args:              oneName,
		ValidArgsFunction: env.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(); err != nil {
				return err
			}
			host, namespace, err := env.connectAnyKind()
			if err != nil {
				return err
			}
			var target dynamic.Interface
			if targetContext != "" {
				config, err := env.targetConfig(kubeconfig, targetContext)
				if err != nil {
					return err
				}
				if target, err = dynamic.NewForConfig(config); err != nil {
					return err
				}
			}
			remover := &clusterRemover{env: env, flags: &flags, plan: enrol.Plan{Namespace: namespace, Name: args[0]}, context: targetContext}
			return remover.remove(cmd.Context(), host, target, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "Remove a Cluster that has Releases: they wait until there is a Cluster of that name again.")
	cmd.Flags().StringVar(&targetContext, "target-context", "", "Context of the target in the kubeconfig, to remove the account there too.")
	cmd.Flags().StringVar(&kubeconfig, "target-kubeconfig", "", "Kubeconfig with that context; by default the one of the host.")
	_ = cmd.RegisterFlagCompletionFunc("target-context", env.completeContexts)
	_ = cmd.MarkFlagFilename("target-kubeconfig")
	flags.add(cmd)
	return cmd
}

// clusterRemover takes back what adding a Cluster made.
type clusterRemover struct {
	env     *environment
	flags   *changeFlags
	plan    enrol.Plan
	context string
	removed []changed
}

// remove removes the Cluster, its Secret, and with a client for the target the account there.
// What was removed is told even if something else could not be.
func (r *clusterRemover) remove(ctx context.Context, host, target dynamic.Interface, force bool) error {
	if !force {
		if err := r.refuseReleases(ctx, host); err != nil {
			return err
		}
	}
	err := r.removeFromHost(ctx, host)
	if err == nil && target != nil {
		err = r.removeFromTarget(ctx, target)
	}
	return errors.Join(r.flags.report(r.env.Out, r.removed...), err)
}

func (r *clusterRemover) refuseReleases(ctx context.Context, host dynamic.Interface) error {
	releases, err := host.Resource(releaseKind.resource).Namespace(r.plan.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.clusterRef.name=" + r.plan.Name})
	if err != nil {
		return fmt.Errorf("Releases of Cluster %s/%s: %w", r.plan.Namespace, r.plan.Name, err)
	}
	if len(releases.Items) == 0 {
		return nil
	}
	names := make([]string, len(releases.Items))
	for i := range releases.Items {
		names[i] = releases.Items[i].GetName()
	}
	return fmt.Errorf("Cluster %s/%s has %s: %s; delete them first, with spec.deletionPolicy: orphan if what they delivered is to stay, or give --force",
		r.plan.Namespace, r.plan.Name, releaseKind.count(len(names)), firstFew(names))
}

func (r *clusterRemover) removeFromHost(ctx context.Context, host dynamic.Interface) error {
	if err := r.deleteOne(ctx, host, clusterKind.resource, r.plan.Namespace, r.plan.Name, ""); err != nil {
		return err
	}
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	secret, err := host.Resource(secrets).Namespace(r.plan.Namespace).Get(ctx, r.plan.KubeconfigSecret(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("Secret %s/%s: %w", r.plan.Namespace, r.plan.KubeconfigSecret(), err)
	case secret.GetLabels()[enrol.LabelInstance] != r.plan.Account():
		return nil // somebody else's
	}
	return r.deleteOne(ctx, host, secrets, r.plan.Namespace, secret.GetName(), "")
}

func (r *clusterRemover) removeFromTarget(ctx context.Context, target dynamic.Interface) error {
	for _, resource := range []schema.GroupVersionResource{
		rbacv1.SchemeGroupVersion.WithResource("rolebindings"), rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"),
		rbacv1.SchemeGroupVersion.WithResource("clusterroles"), corev1.SchemeGroupVersion.WithResource("secrets"),
		corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
	} {
		if err := r.deleteMade(ctx, target, resource, " on "+r.context); err != nil {
			return err
		}
	}
	return nil
}

// firstFew joins names, and counts those that are too many.
func firstFew(names []string) string {
	const few = 5
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}

// deleteMade deletes the objects of the target that were made when the Cluster was added.
func (r *clusterRemover) deleteMade(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, where string) error {
	selector := fmt.Sprintf("%s=%s,%s=%s", enrol.LabelManagedBy, enrol.ManagedBy, enrol.LabelInstance, r.plan.Account())
	found, err := client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("listing %s%s: %w", resource.Resource, where, err)
	}
	var failures []error
	for i := range found.Items {
		failures = append(failures, r.deleteOne(ctx, client, resource, found.Items[i].GetNamespace(), found.Items[i].GetName(), where))
	}
	return errors.Join(failures...)
}

func (r *clusterRemover) deleteOne(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, namespace, name, where string) error {
	objects := client.Resource(resource).Namespace(namespace)
	object, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err == nil && r.flags.dryRun != dryRunClient {
		err = objects.Delete(ctx, name, metav1.DeleteOptions{DryRun: r.flags.server()})
	}
	if apierrors.IsNotFound(err) && where != "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing %s %s%s: %w", resource.Resource, name, where, err)
	}
	r.removed = append(r.removed, changed{object, "removed" + where})
	return nil
}
