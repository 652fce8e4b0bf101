// SPDX-License-Identifier: Apache-2.0

package argocd_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/argocd"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/golden"
)

// TestConvert maps the first object of each file of testdata, with the others around it.
func TestConvert(t *testing.T) {
	golden.Test(t, func(old *unstructured.Unstructured, reader migrate.Reader) (*migrate.Migration, error) {
		return argocd.Convert(old, "argocd", reader)
	})
}

func TestApplied(t *testing.T) {
	g := NewWithT(t)
	keys, known := argocd.Applied(golden.Object(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
status:
  resources:
  - {group: apps, version: v1, kind: Deployment, namespace: web, name: web, status: Synced}
  - {group: batch, version: v1, kind: Job, namespace: web, name: migrate, hook: true}
`))
	g.Expect(known).To(BeTrue())
	g.Expect(keys).To(HaveExactElements(corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "web", Name: "web"}))
	_, known = argocd.Applied(golden.Object(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web}}"))
	g.Expect(known).To(BeFalse())
}

func TestParent(t *testing.T) {
	for _, test := range []struct{ name, metadata, want string }{
		{"nothing", "{name: web}", ""},
		{"annotation", "{name: web, annotations: {argocd.argoproj.io/tracking-id: 'apps:argoproj.io/Application:argocd/web'}}", "apps"},
		{"annotation of one in another namespace", "{name: web, annotations: {argocd.argoproj.io/tracking-id: 'team_apps:argoproj.io/Application:argocd/web'}}", "apps"},
		{"label", "{name: web, labels: {app.kubernetes.io/instance: apps}}", "apps"},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(argocd.Parent(golden.Object(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: "+test.metadata+"}"))).To(Equal(test.want))
		})
	}
}
