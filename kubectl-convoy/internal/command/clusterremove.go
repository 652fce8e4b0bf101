// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
			"--target-context, also the account on the target, its token and its rights; its namespace stays. That goes on when\n" +
			"the Cluster was deleted before. When there is nothing of the account in that context, nothing is removed at all.\n\n" +
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

// remove removes the Cluster, its Secret, and with a client for the target the account there;
// also what is left when the Cluster is gone. What was removed is told even if something else
// could not be.
func (r *clusterRemover) remove(ctx context.Context, host, target dynamic.Interface, force bool) error {
	cluster, err := host.Resource(clusterKind.resource).Namespace(r.plan.Namespace).Get(ctx, r.plan.Name, metav1.GetOptions{})
	missing := err
	switch {
	case apierrors.IsNotFound(err):
		cluster = nil
	case err != nil:
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
	if cluster == nil && secret == nil && target == nil {
		return fmt.Errorf("Cluster %s/%s: %w; with --target-context, what is left of it on the target is removed", r.plan.Namespace, r.plan.Name, missing)
	}
	// The target first: without the Cluster, the command could not be repeated.
	if target != nil {
		err = r.removeFromTarget(ctx, host, target, secret)
	}
	if err == nil {
		err = r.removeFromHost(ctx, host, cluster, secret)
	}
	if err = errors.Join(r.flags.report(r.env.Out, r.removed...), err); err != nil {
		return err
	}
	if target != nil {
		r.env.tellFormerAccount(&r.plan, secret, r.context)
	} else if secret != nil {
		account := secret.GetLabels()[enrol.LabelInstance]
		fmt.Fprintf(r.env.ErrOut, "Note: the account %s on the target stays, with its token and its rights. To remove it:\n  %s\n", account, deleteAccount(account, "CONTEXT"))
	}
	return nil
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

// removeFromHost removes the Cluster and its Secret, each of which may be nil.
func (r *clusterRemover) removeFromHost(ctx context.Context, host dynamic.Interface, cluster, secret *unstructured.Unstructured) error {
	if cluster != nil {
		if err := r.deleteOne(ctx, host, clusterKind.resource, cluster); err != nil {
			return err
		}
	}
	if secret == nil {
		return nil
	}
	return r.deleteOne(ctx, host, secrets, secret)
}

// removeFromTarget removes the account. A target that has nothing of it is taken for the wrong
// one, unless the Secret on the host tells that the Cluster was reached by a former account.
func (r *clusterRemover) removeFromTarget(ctx context.Context, host, target dynamic.Interface, secret *unstructured.Unstructured) error {
	if err := identify(ctx, host, &r.plan); err != nil {
		return err
	}
	where := " on " + r.context
	made, err := madeOnTarget(ctx, target, &r.plan, where)
	if err != nil {
		return err
	}
	former := secret != nil && secret.GetLabels()[enrol.LabelInstance] != r.plan.Account()
	if len(made) == 0 && !former {
		return fmt.Errorf("there is nothing of the account %s%s, and nothing was removed: is this the context of another cluster? "+
			"If the account is gone already, leave --target-context out", r.plan.Account(), where)
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
