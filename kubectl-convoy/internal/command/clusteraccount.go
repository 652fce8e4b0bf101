// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kumodo.io/convoy/kubectl-convoy/internal/enrol"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
)

// identify completes a plan with what tells its account from those of other hosts.
func identify(ctx context.Context, host dynamic.Interface, plan *enrol.Plan) error {
	namespace, err := host.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, plan.Namespace, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("namespace %s, whose UID tells the account on the target from those of other hosts: %w", plan.Namespace, err)
	}
	plan.NamespaceUID = namespace.GetUID()
	return nil
}

// kubeconfigSecret reads the Secret that adding the Cluster made on the host; nil when there is
// none. made tells whether it is that, or something else's.
func kubeconfigSecret(ctx context.Context, host dynamic.Interface, plan *enrol.Plan) (secret *unstructured.Unstructured, made bool, err error) {
	secret, err = host.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(plan.Namespace).Get(ctx, plan.KubeconfigSecret(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("Secret %s/%s: %w", plan.Namespace, plan.KubeconfigSecret(), err)
	}
	return secret, plan.Made(secret.GetLabels()), nil
}

// tellFormerAccount says how to remove an account that is not this Cluster's alone, perhaps.
func (e *environment) tellFormerAccount(plan *enrol.Plan, secret *unstructured.Unstructured, targetContext string) {
	if secret == nil || targetContext == "" {
		return
	}
	former := secret.GetLabels()[enrol.LabelInstance]
	if former == plan.Account() {
		return
	}
	fmt.Fprintf(e.ErrOut, "Note: the account %s on %s, with which the Cluster was reached before, is left: another host may use it. If none does:\n"+
		"  %s\n", former, targetContext, deleteAccount(former, targetContext))
}

// deleteAccount is the command that deletes an account and all that was made for it.
func deleteAccount(account, targetContext string) string {
	var resources []string
	for _, resource := range enrol.Resources() {
		resources = append(resources, resource.Resource)
	}
	return fmt.Sprintf("kubectl --context %s delete %s -A -l %s", targetContext, strings.Join(resources, ","), enrol.Selector(account))
}

// applyOne applies an object, and gives it as it is then; dryRun is that of the request.
func applyOne(ctx context.Context, client dynamic.Interface, manifest *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	resource, _ := meta.UnsafeGuessKindToResource(manifest.GroupVersionKind())
	return client.Resource(resource).Namespace(manifest.GetNamespace()).Apply(ctx, manifest.GetName(), manifest,
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true, DryRun: dryRun})
}

// ensureNamespace makes a namespace that does not exist. It gives nil for one that does, which
// is not changed: it may be somebody else's.
func ensureNamespace(ctx context.Context, client dynamic.Interface, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	namespaces := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	_, err := namespaces.Get(ctx, manifest.GetName(), metav1.GetOptions{})
	if err == nil {
		return nil, nil
	}
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, err
	}
	made, err := namespaces.Create(ctx, manifest, metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		return nil, nil
	}
	return made, err
}

// tryHost has the host check what will be applied there, without a token.
func (f *clusterAddFlags) tryHost(ctx context.Context, host dynamic.Interface) error {
	objects, err := f.plan.OnHost(tokenPlaceholder)
	if err != nil {
		return err
	}
	for _, object := range objects {
		manifest, err := manifestOf(object)
		if err != nil {
			return err
		}
		if _, err := applyOne(ctx, host, manifest, metav1.DryRunAll); err != nil {
			return fmt.Errorf("%s: %w; nothing was done%s", output.NameOf(manifest), err, f.onTarget())
		}
	}
	return nil
}

// tryRoles has the target check whether bindings may be made anew with another role, under
// another name: those that are there have to be deleted before.
func tryRoles(ctx context.Context, target dynamic.Interface, bindings []onTarget, where string) error {
	for _, binding := range bindings {
		probe := binding.planned.DeepCopy()
		probe.SetName(binding.GetName() + "-dry-run")
		_, err := target.Resource(binding.resource).Namespace(binding.GetNamespace()).Create(ctx, probe,
			metav1.CreateOptions{FieldManager: fieldManager, DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return fmt.Errorf("%s with another role%s: %w", output.NameOf(binding.planned), where, err)
		}
	}
	return nil
}

// onTarget is an object on a target that was made for the account of a Cluster.
type onTarget struct {
	resource schema.GroupVersionResource
	*unstructured.Unstructured
	// planned is what it is to become, of one that has to be made anew.
	planned *unstructured.Unstructured
}

// madeOnTarget lists what was made on a target for the account of a plan.
func madeOnTarget(ctx context.Context, target dynamic.Interface, plan *enrol.Plan, where string) ([]onTarget, error) {
	var made []onTarget
	for _, resource := range enrol.Resources() {
		found, err := target.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: enrol.Selector(plan.Account())})
		if err != nil {
			return nil, fmt.Errorf("listing %s%s: %w", resource.Resource, where, err)
		}
		for i := range found.Items {
			made = append(made, onTarget{resource: resource, Unstructured: &found.Items[i]})
		}
	}
	return made, nil
}

// surplus splits what was made before: bindings that give another role than the plan does,
// which has to be made anew, and what the plan has not any more.
func surplus(made []onTarget, planned []runtime.Object) (otherRole, rest []onTarget, err error) {
	type identity struct {
		resource        schema.GroupVersionResource
		namespace, name string
	}
	wanted := map[identity]*unstructured.Unstructured{}
	for _, object := range planned {
		manifest, err := manifestOf(object)
		if err != nil {
			return nil, nil, err
		}
		resource, _ := meta.UnsafeGuessKindToResource(manifest.GroupVersionKind())
		wanted[identity{resource, manifest.GetNamespace(), manifest.GetName()}] = manifest
	}
	for _, one := range made {
		manifest, ok := wanted[identity{one.resource, one.GetNamespace(), one.GetName()}]
		switch {
		case !ok:
			rest = append(rest, one)
		case !equality.Semantic.DeepEqual(manifest.Object["roleRef"], one.Object["roleRef"]):
			one.planned = manifest
			otherRole = append(otherRole, one)
		}
	}
	return otherRole, rest, nil
}

// takeBack deletes objects of a target, unless it is a dry run of the client; those that are
// gone already are none of it. It gives those that were deleted, also beside an error.
func (f *changeFlags) takeBack(ctx context.Context, target dynamic.Interface, made []onTarget, where string) ([]changed, error) {
	var done []changed
	var failures []error
	for _, one := range made {
		if f.dryRun != dryRunClient {
			err := target.Resource(one.resource).Namespace(one.GetNamespace()).Delete(ctx, one.GetName(), metav1.DeleteOptions{DryRun: f.server()})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				failures = append(failures, fmt.Errorf("removing %s %s%s: %w", one.resource.Resource, one.GetName(), where, err))
				continue
			}
		}
		did := "removed"
		if namespace := one.GetNamespace(); namespace != "" {
			did += " from namespace " + namespace
		}
		done = append(done, changed{one.Unstructured, did + where})
	}
	return done, errors.Join(failures...)
}
