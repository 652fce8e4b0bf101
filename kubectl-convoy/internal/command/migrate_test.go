// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/argocd"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate/golden"
)

func TestDifferenceThatAMigrationMakes(t *testing.T) {
	key := corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	changing := func(paths ...string) corev1alpha1.ObjectPreview {
		object := corev1alpha1.ObjectPreview{ObjectKey: key, Action: corev1alpha1.ActionUpdate}
		for _, path := range paths {
			object.Changes = append(object.Changes, corev1alpha1.FieldChange{Path: path})
		}
		return object
	}
	for _, test := range []struct {
		name   string
		object corev1alpha1.ObjectPreview
		want   string
	}{
		{"nothing", corev1alpha1.ObjectPreview{ObjectKey: key, Action: corev1alpha1.ActionUnchanged}, ""},
		{"marks", changing("/metadata/labels/a", "/metadata/annotations/b", "/metadata/annotations"), ""},
		{"a Pod", changing("/metadata/labels/a", "/spec/template/spec"), "Deployment.apps shop/web would be changed: /spec/template/spec"},
		{"finalizers", changing("/metadata/finalizers"), "Deployment.apps shop/web would be changed: /metadata/finalizers"},
		{"what only begins like marks", changing("/metadata/labelsOfMine"), "Deployment.apps shop/web would be changed: /metadata/labelsOfMine"},
		{"creation", corev1alpha1.ObjectPreview{ObjectKey: key, Action: corev1alpha1.ActionCreate}, "Deployment.apps shop/web would be created"},
		{"recreation", corev1alpha1.ObjectPreview{ObjectKey: key, Action: corev1alpha1.ActionRecreate}, "Deployment.apps shop/web would be recreated"},
		{"deletion", corev1alpha1.ObjectPreview{ObjectKey: key, Action: corev1alpha1.ActionDelete}, "Deployment.apps shop/web would be deleted"},
		{"a hook", corev1alpha1.ObjectPreview{ObjectKey: key, Action: corev1alpha1.ActionUnchanged, Hook: "init"}, "Deployment.apps shop/web would run, for hook init"},
		{"an error", corev1alpha1.ObjectPreview{ObjectKey: key, Action: corev1alpha1.ActionError, Message: "no"}, "Deployment.apps shop/web cannot be compared: no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(difference(&test.object)).To(Equal(test.want))
		})
	}
}

func TestAnnotationsThatConvoyDoesNotHear(t *testing.T) {
	g := NewWithT(t)
	object := corev1alpha1.ObjectPreview{
		ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "cm"},
		Object:    &runtime.RawExtension{Raw: []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/sync-options":"ServerSideApply=true,Prune=false","a":"b"}}}`)},
	}
	g.Expect(unheard(&object)).To(HaveExactElements("ConfigMap shop/cm has the annotation argocd.argoproj.io/sync-options: ServerSideApply=true,Prune=false, " +
		"which convoy does not hear: it takes convoy.kumodo.io/prune: disabled"))
	object.Object.Raw = []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/sync-options":"ServerSideApply=true"}}}`)
	g.Expect(unheard(&object)).To(BeEmpty())
}

func TestStoppingAnApplication(t *testing.T) {
	g := NewWithT(t)
	old := golden.Object(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: web
  namespace: argocd
  finalizers: [resources-finalizer.argocd.argoproj.io/background, example.com/mine]
spec: {syncPolicy: {automated: {selfHeal: true}, retry: {limit: 2}}}
operation: {sync: {}}
`)
	tool := &argoTool{home: "argocd"}
	g.Expect(tool.still(old)).To(BeFalse())
	patch, err := tool.stop(old)
	g.Expect(err).NotTo(HaveOccurred())
	stopped := merged(old, patch)
	g.Expect(tool.still(stopped)).To(BeTrue())
	g.Expect(stopped.GetFinalizers()).To(HaveExactElements("example.com/mine"))
	limit, _, _ := unstructured.NestedInt64(stopped.Object, "spec", "syncPolicy", "retry", "limit")
	g.Expect(limit).To(BeEquivalentTo(2))
	was, err := argocd.WasOf(stopped)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(was).To(Equal(argocd.Was{Automated: map[string]any{"selfHeal": true}, Finalizers: []string{"resources-finalizer.argocd.argoproj.io/background"}}))
	again, err := tool.stop(stopped)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(merged(stopped, again).GetAnnotations()).To(Equal(stopped.GetAnnotations()), "what was stays what was before the first time")
}

func TestWhatHoldsAnApplication(t *testing.T) {
	parent := func(automated string) *unstructured.Unstructured {
		return golden.Object(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: apps, namespace: argocd}, spec: {syncPolicy: "+automated+"}}")
	}
	set := func(policy string) *unstructured.Unstructured {
		return golden.Object(t, "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: all, namespace: argocd}, spec: {syncPolicy: "+policy+"}}")
	}
	const tracked = "annotations: {argocd.argoproj.io/tracking-id: 'apps:argoproj.io/Application:argocd/web'}"
	const owned = "ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, name: all, uid: u, controller: true}]"
	for _, test := range []struct {
		name, metadata string
		others         migrate.Snapshot
		held, remade   string
	}{
		{"nothing", "labels: {a: b}", nil, "", ""},
		{"a parent that is not there", tracked, nil, "", ""},
		{"a parent that heals", tracked, migrate.Snapshot{parent("{automated: {selfHeal: true}}")}, "Application argocd/apps delivers it and would turn its sync on again", "Application argocd/apps"},
		{"a parent that is automatic", tracked, migrate.Snapshot{parent("{automated: {}}")}, "", "Application argocd/apps"},
		{"a parent that is stopped", tracked, migrate.Snapshot{parent("{}")}, "", ""},
		{"an ApplicationSet", owned, migrate.Snapshot{set("{}")}, "ApplicationSet argocd/all would turn its sync on again", "ApplicationSet argocd/all"},
		{"an ApplicationSet that only creates", owned, migrate.Snapshot{set("{applicationsSync: create-only}")}, "", "ApplicationSet argocd/all"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			old := golden.Object(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web, namespace: argocd, "+test.metadata+"}}")
			tool := &argoTool{home: "argocd"}
			held, err := tool.held(old, test.others)
			g.Expect(err).NotTo(HaveOccurred())
			remade, err := tool.remade(old, test.others)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(held).To(HavePrefix(test.held))
			g.Expect(held == "").To(Equal(test.held == ""))
			g.Expect(remade).To(Equal(test.remade))
		})
	}
}

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		name      string
		content   string
		other     string
		contained bool
	}{
		{"the same", "{a: {b: c}, n: 1}", "{a: {b: c}, n: 1}", true},
		{"with defaults beside it", "{a: {b: c}}", "{a: {b: c, d: e}, f: g}", true},
		{"another value", "{a: {b: c}}", "{a: {b: d}}", false},
		{"something that is missing", "{a: {b: c}}", "{}", false},
		{"a list with more in it", "{a: [1]}", "{a: [1, 2]}", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			head := "apiVersion: v1\nkind: X\nspec: "
			g := NewWithT(t)
			g.Expect(within(golden.Object(t, head+test.content).Object["spec"], golden.Object(t, head+test.other).Object["spec"])).To(Equal(test.contained))
		})
	}
}
