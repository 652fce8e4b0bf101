// SPDX-License-Identifier: Apache-2.0

package flux_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/flux"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/golden"
)

// TestConvert maps the first object of each file of testdata, with the others around it.
func TestConvert(t *testing.T) {
	golden.Test(t, func(old *unstructured.Unstructured, reader migrate.Reader) (*migrate.Migration, error) {
		return flux.Convert(old, reader)
	})
}

func TestAppliedByAKustomization(t *testing.T) {
	g := NewWithT(t)
	old := golden.Object(t, `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: shop}
status:
  inventory:
    entries:
    - {id: shop_web_apps_Deployment, v: v1}
    - {id: shop_a_b__ConfigMap, v: v1}
    - {id: _system__node_rbac.authorization.k8s.io_ClusterRole, v: v1}
`)
	keys, known, err := flux.Applied(old, migrate.Snapshot{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(known).To(BeTrue())
	g.Expect(keys).To(HaveExactElements(
		corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
		corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a_b"},
		corev1alpha1.ObjectKey{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "system:node"},
	))
}

func TestAppliedOfWhichNothingTells(t *testing.T) {
	for name, text := range map[string]string{
		"a Kustomization without an inventory": "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: web, namespace: shop}}",
		"a HelmRelease without a record":       "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web, namespace: shop}}",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, known, err := flux.Applied(golden.Object(t, text), migrate.Snapshot{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(known).To(BeFalse())
		})
	}
}

// TestAppliedByHelm reads the newest of Helm's records.
func TestAppliedByHelm(t *testing.T) {
	g := NewWithT(t)
	record := func(version, manifest string) *unstructured.Unstructured {
		return golden.HelmRecord(t, "shop", "web", version, manifest)
	}
	old := golden.Object(t, "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web, namespace: shop}}")
	keys, known, err := flux.Applied(old, migrate.Snapshot{
		record("9", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n"),
		record("10", "---\n# Source: a\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n---\n# nothing\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm, namespace: other}\n"),
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(known).To(BeTrue())
	g.Expect(keys).To(HaveExactElements(
		corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Name: "web"},
		corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "other", Name: "cm"},
	))
}
