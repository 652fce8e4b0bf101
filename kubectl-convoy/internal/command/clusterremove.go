// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	cluster, err := host.Resource(clusterKind.resource).Namespace(r.plan.Namespace).Get(ctx, r.plan.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("Cluster %s/%s: %w", r.plan.Namespace, r.plan.Name, err)
	}
	if !force {
		if err := r.refuseReleases(ctx, host); err != nil {
			return err
		}
	}
	secret, made, err := kubeconfigSecret(ctx, host, &r.plan)
	if err != nil {
		return err
	}
	if !made {
		secret = nil // somebody else's
	}
	// The target first: without the Cluster, the command could not be repeated.
	if target != nil {
		err = r.removeFromTarget(ctx, host, target)
	}
	if err == nil {
		err = r.removeFromHost(ctx, host, cluster, secret)
	}
	if err = errors.Join(r.flags.report(r.env.Out, r.removed...), err); err == nil && target != nil {
		r.env.tellFormerAccount(&r.plan, secret, r.context)
	}
	return err
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

func (r *clusterRemover) removeFromHost(ctx context.Context, host dynamic.Interface, cluster, secret *unstructured.Unstructured) error {
	if err := r.deleteOne(ctx, host, clusterKind.resource, cluster); err != nil || secret == nil {
		return err
	}
	return r.deleteOne(ctx, host, corev1.SchemeGroupVersion.WithResource("secrets"), secret)
}

func (r *clusterRemover) removeFromTarget(ctx context.Context, host, target dynamic.Interface) error {
	if err := identify(ctx, host, &r.plan); err != nil {
		return err
	}
	where := " on " + r.context
	made, err := madeOnTarget(ctx, target, &r.plan, where)
	if err != nil {
		return err
	}
	removed, err := r.flags.takeBack(ctx, target, made, where)
	r.removed = append(r.removed, removed...)
	return err
}

// firstFew joins names, and counts those that are too many.
func firstFew(names []string) string {
	const few = 5
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}

func (r *clusterRemover) deleteOne(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	if r.flags.dryRun != dryRunClient {
		err := client.Resource(resource).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{DryRun: r.flags.server()})
		if err != nil {
			return fmt.Errorf("removing %s %s: %w", resource.Resource, object.GetName(), err)
		}
	}
	r.removed = append(r.removed, changed{object, "removed"})
	return nil
}
