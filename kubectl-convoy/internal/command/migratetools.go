// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/argocd"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/flux"
)

// fluxTool is Flux.
type fluxTool struct{}

func (fluxTool) convert(old *unstructured.Unstructured, reader migrate.Reader) (*migrate.Migration, error) {
	return flux.Convert(old, reader)
}

func (fluxTool) applied(old *unstructured.Unstructured, reader migrate.Reader) ([]corev1alpha1.ObjectKey, bool, error) {
	return flux.Applied(old, reader)
}

func (fluxTool) held(*unstructured.Unstructured, migrate.Reader) (string, error) { return "", nil }

// remade is about the Kustomization that delivers the object itself.
func (fluxTool) remade(old *unstructured.Unstructured, reader migrate.Reader) (string, error) {
	namespace, name := flux.Parent(old)
	parent, err := reader.Get(flux.KustomizationKind, namespace, name)
	if err != nil || parent == nil || isSuspended(parent) {
		return "", err
	}
	return fmt.Sprintf("Kustomization %s/%s", namespace, name), nil
}

// still is true of a suspended object: Flux applies nothing for it, and deletes nothing with it.
func (fluxTool) still(old *unstructured.Unstructured) bool { return isSuspended(old) }

func (fluxTool) stop(*unstructured.Unstructured) (map[string]any, error) {
	return map[string]any{"spec": map[string]any{"suspend": true}}, nil
}

func (fluxTool) left(m *migrate.Migration) []string {
	left := []string{"Flux's sources stay: delete those that nothing uses any more, with 'kubectl delete'; nothing that was delivered goes with them"}
	if m.Kind() != flux.HelmReleaseKind {
		return left
	}
	namespace, name := flux.Record(m.Old)
	return append(left, fmt.Sprintf("Helm's records of release %s stay, and 'helm uninstall' would delete what convoy has now; they go with: kubectl -n %s delete secret -l owner=helm,name=%s", name, namespace, name))
}

// argoTool is Argo CD.
type argoTool struct {
	home string // the namespace with its Secrets
}

func (a *argoTool) convert(old *unstructured.Unstructured, reader migrate.Reader) (*migrate.Migration, error) {
	return argocd.Convert(old, a.home, reader)
}

func (a *argoTool) applied(old *unstructured.Unstructured, _ migrate.Reader) ([]corev1alpha1.ObjectKey, bool, error) {
	keys, known := argocd.Applied(old)
	return keys, known, nil
}

// held is about an ApplicationSet that would write its Application again.
func (a *argoTool) held(old *unstructured.Unstructured, reader migrate.Reader) (string, error) {
	for _, owner := range old.GetOwnerReferences() {
		if owner.Kind != argocd.ApplicationSetKind.Kind {
			continue
		}
		set, err := reader.Get(argocd.ApplicationSetKind, old.GetNamespace(), owner.Name)
		if err != nil || set == nil {
			return "", err
		}
		policy, _, _ := unstructured.NestedString(set.Object, "spec", "syncPolicy", "applicationsSync")
		if !slices.Contains([]string{"create-only", "create-delete"}, policy) {
			return fmt.Sprintf("ApplicationSet %s/%s would turn its sync on again: set its spec.syncPolicy.applicationsSync to create-only, or delete it with 'kubectl -n %s delete applicationset %s --cascade=orphan'",
				old.GetNamespace(), owner.Name, old.GetNamespace(), owner.Name), nil
		}
	}
	parent, err := a.parent(old, reader)
	if err != nil || parent == nil {
		return "", err
	}
	if heals, _, _ := unstructured.NestedBool(parent.Object, "spec", "syncPolicy", "automated", "selfHeal"); heals {
		return fmt.Sprintf("Application %s/%s delivers it and would turn its sync on again: hand that over first, or take spec.syncPolicy.automated.selfHeal from it",
			parent.GetNamespace(), parent.GetName()), nil
	}
	return "", nil
}

// parent is the Application that delivers the Application itself; nil when there is none.
func (a *argoTool) parent(old *unstructured.Unstructured, reader migrate.Reader) (*unstructured.Unstructured, error) {
	name := argocd.Parent(old)
	if name == "" || name == old.GetName() {
		return nil, nil
	}
	return reader.Get(argocd.ApplicationKind, old.GetNamespace(), name)
}

// remade is about an ApplicationSet, and the Application that delivers the object itself.
func (a *argoTool) remade(old *unstructured.Unstructured, reader migrate.Reader) (string, error) {
	for _, owner := range old.GetOwnerReferences() {
		if owner.Kind == argocd.ApplicationSetKind.Kind {
			return fmt.Sprintf("ApplicationSet %s/%s", old.GetNamespace(), owner.Name), nil
		}
	}
	parent, err := a.parent(old, reader)
	if err != nil || parent == nil {
		return "", err
	}
	if _, automated, _ := unstructured.NestedMap(parent.Object, "spec", "syncPolicy", "automated"); !automated {
		return "", nil
	}
	return fmt.Sprintf("Application %s/%s", parent.GetNamespace(), parent.GetName()), nil
}

// still is true of an Application that is not synced by itself and takes nothing with it.
func (a *argoTool) still(old *unstructured.Unstructured) bool {
	automated, found, _ := unstructured.NestedMap(old.Object, "spec", "syncPolicy", "automated")
	enabled, set := automated["enabled"].(bool)
	_, under := old.Object["operation"]
	return (!found || set && !enabled) && !slices.ContainsFunc(old.GetFinalizers(), argocd.Cascades) && !under
}

func (a *argoTool) stop(old *unstructured.Unstructured) (map[string]any, error) {
	was, err := argocd.WasOf(old)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(was)
	if err != nil {
		return nil, err
	}
	finalizers := []any{}
	for _, finalizer := range old.GetFinalizers() {
		if !argocd.Cascades(finalizer) {
			finalizers = append(finalizers, finalizer)
		}
	}
	patch := map[string]any{
		"metadata":  map[string]any{"finalizers": finalizers, "annotations": map[string]any{migrate.AnnotationWas: string(text)}},
		"operation": nil,
	}
	if _, found, _ := unstructured.NestedMap(old.Object, "spec", "syncPolicy", "automated"); found {
		patch["spec"] = map[string]any{"syncPolicy": map[string]any{"automated": nil}}
	}
	return patch, nil
}

func (a *argoTool) left(m *migrate.Migration) []string {
	return []string{fmt.Sprintf("Secrets of repositories and clusters stay in namespace %s: Argo CD needs them for its other Applications", strings.TrimSpace(a.home))}
}
