// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

func annotate(key, value string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		annotations[key] = value
		o.SetAnnotations(annotations)
	}
}

// TestPrune prunes a ConfigMap that was applied, after something happened to it.
func TestPrune(t *testing.T) {
	deletion := lines("get "+settingsPath, "delete "+settingsPath, "get "+settingsPath)
	tests := []struct {
		name     string
		between  func(t *testing.T, s *apiServer, e *corev1alpha1.InventoryEntry)
		gone     bool
		kept     bool
		message  string // part of it
		requests string
	}{
		{"nothing happened", func(*testing.T, *apiServer, *corev1alpha1.InventoryEntry) {}, true, false, "", deletion},
		{"deleted by hand", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) { s.drop(settingsPath) },
			true, false, "", "get " + settingsPath},
		{"applied, but not yet in the inventory", func(_ *testing.T, _ *apiServer, e *corev1alpha1.InventoryEntry) { e.UID, e.Digest = "", "" },
			true, false, "", deletion},
		{"never applied, somebody's", func(_ *testing.T, s *apiServer, e *corev1alpha1.InventoryEntry) {
			s.drop(settingsPath)
			s.put(settingsPath, "hand", settings("{k: hand}").Object)
			e.UID, e.Digest = "", ""
		}, false, true, "was never taken over", "get " + settingsPath},
		{"another Release's now", func(t *testing.T, s *apiServer, e *corev1alpha1.InventoryEntry) {
			applier(s, release()).Orphan(context.Background(), []corev1alpha1.InventoryEntry{*e})
			apply1(t, asOther(s), settings("{k: other}"))
		}, false, true, "is owned by Release team/other now", "get " + settingsPath},
		{"marks taken off by hand", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(settingsPath, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
		}, false, true, "not marked as this Release's any more", "get " + settingsPath},
		{"restored from a backup, marks and all", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			restored := s.get(settingsPath).DeepCopy()
			s.drop(settingsPath)
			s.put(settingsPath, "backup", restored)
		}, false, true, "was replaced by another object", lines("get "+settingsPath, "merge "+settingsPath)},
		{"the last applied says keep", func(_ *testing.T, _ *apiServer, e *corev1alpha1.InventoryEntry) { e.Keep = true },
			false, true, "as its source asked", lines("get "+settingsPath, "merge "+settingsPath)},
		{"the live object says keep", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(settingsPath, annotate("helm.sh/resource-policy", "keep"))
		}, false, true, "helm.sh/resource-policy: keep", lines("get "+settingsPath, "merge "+settingsPath)},
		{"the live object says prune: disabled", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(settingsPath, annotate(corev1alpha1.AnnotationPrune, "disabled"))
		}, false, true, "convoy.kumodo.io/prune: disabled", lines("get "+settingsPath, "merge "+settingsPath)},
		{"a finalizer holds it", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(settingsPath, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"ex.test/a", "ex.test/b"}) })
		}, false, false, "is being deleted, waits for finalizers [ex.test/a ex.test/b]", deletion},
		{"it is being deleted already", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(settingsPath, func(o *unstructured.Unstructured) {
				now := metav1.Now()
				o.SetDeletionTimestamp(&now)
				o.SetFinalizers([]string{"ex.test/a"})
			})
		}, false, false, "waits for finalizers [ex.test/a]", "get " + settingsPath},
		{"its kind is not served any more", func(_ *testing.T, s *apiServer, e *corev1alpha1.InventoryEntry) {
			e.Kind = "Vanished"
		}, true, false, "does not serve its kind", ""},
		{"its version is not served any more", func(_ *testing.T, s *apiServer, e *corev1alpha1.InventoryEntry) {
			e.Version = "v1beta1"
		}, true, false, "", deletion},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), settings("{k: v}"))
			tt.between(t, s, &e)
			s.asked()

			result := applier(s, release(), e).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(result.Entry).To(Equal(e))
			g.Expect(result.Gone).To(Equal(tt.gone))
			g.Expect(result.Kept).To(Equal(tt.kept))
			g.Expect(result.Done()).To(Equal(tt.gone || tt.kept))
			g.Expect(result.Message).To(ContainSubstring(tt.message))
			g.Expect(lines(s.asked()...)).To(Equal(tt.requests))
			if tt.kept {
				live := s.get(settingsPath)
				g.Expect(live).NotTo(BeNil())
				g.Expect(live.GetAnnotations()[corev1alpha1.AnnotationRelease]).NotTo(Equal("home/team/shop"))
			}
		})
	}
}

// TestPruneLooksAgain: a protection that arrives between the read and the deletion counts.
func TestPruneLooksAgain(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: v}"))
	s.before = func(r request) {
		if r.verb == "delete" {
			s.before = nil
			s.change(settingsPath, annotate(corev1alpha1.AnnotationPrune, "disabled"))
		}
	}

	result := applier(s, release(), e).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

	g.Expect(result.Kept).To(BeTrue())
	g.Expect(s.get(settingsPath)).NotTo(BeNil())
}

func TestPruneFails(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: v}"))
	s.refuse = func(request) *metav1.Status {
		return statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "may not delete")
	}

	result := applier(s, release(), e).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

	g.Expect(result.Done()).To(BeFalse())
	g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonForbidden))
}

// TestPruneOfAnObjectInTwoGroups: an Event was applied in the core group, and is now
// rendered in events.k8s.io, where the same object is served.
func TestPruneOfAnObjectInTwoGroups(t *testing.T) {
	const newPath, oldPath = "apis/events.k8s.io/v1/namespaces/shop/events/e", "api/v1/namespaces/shop/events/e"
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), rendered("{apiVersion: v1, kind: Event, metadata: {name: e, namespace: shop}}"))
	s.mu.Lock()
	s.objects[newPath] = s.objects[oldPath].DeepCopy()
	s.objects[newPath].SetAPIVersion("events.k8s.io/v1")
	s.mu.Unlock()
	moved := rendered("{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: e, namespace: shop}}")
	a := applier(s, release(), e, ahead(moved))
	now := apply1(t, a, moved)
	g.Expect(now.UID).To(Equal(e.UID))

	result := a.Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

	g.Expect(result.Done()).To(BeTrue())
	g.Expect(s.get(oldPath)).NotTo(BeNil())
	g.Expect(s.get(oldPath).GetAnnotations()).To(HaveKey(corev1alpha1.AnnotationRelease))

	both := New(s, Options{Installation: installation, Release: release(), Inventory: []corev1alpha1.InventoryEntry{e, now}, Concurrency: 1}).
		Prune(context.Background(), []corev1alpha1.InventoryEntry{e, now})
	g.Expect(both[0].Gone).To(BeTrue())
	g.Expect(s.get(oldPath)).To(BeNil(), "when both entries go, the object goes")
}

func TestOrphan(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	namespace := rendered("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	a := applier(s, release())
	entries := []corev1alpha1.InventoryEntry{apply1(t, a, settings("{k: v}")), apply1(t, a, namespace), ahead(rendered("{apiVersion: v1, kind: Secret, metadata: {name: never, namespace: shop}}"))}

	results := applier(s, release(), entries...).Orphan(context.Background(), entries)

	g.Expect(results[0].Kept).To(BeTrue())
	g.Expect(results[1].Kept).To(BeTrue())
	g.Expect(results[2].Gone).To(BeTrue())
	for _, path := range []string{settingsPath, "api/v1/namespaces/shop"} {
		g.Expect(s.get(path).GetAnnotations()).To(BeEmpty())
		g.Expect(s.get(path).GetLabels()).To(BeEmpty())
	}
	g.Expect(apply1(t, asOther(s), settings("{k: w}")).UID).To(Equal(entries[0].UID), "another Release adopts it")
	g.Expect(s.get(settingsPath).Object["data"]).To(Equal(map[string]any{"k": "w"}))
}

// TestNamespaceIsPrunedLast goes through a Release's removal in waves: the namespace waits
// for what is in it, and stays for what is kept in it, across processes.
func TestNamespaceIsPrunedLast(t *testing.T) {
	namespace := rendered("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	claim := rendered("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, annotations: {helm.sh/resource-policy: keep}}}")
	tests := []struct {
		name    string
		objects []render.Object
		kept    bool
	}{
		{"all goes", []render.Object{namespace, settings("{k: v}")}, false},
		{"a claim is kept", []render.Object{namespace, settings("{k: v}"), claim}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			var entries []corev1alpha1.InventoryEntry
			for _, o := range tt.objects {
				entries = append(entries, apply1(t, applier(s, release()), o))
			}

			early := applier(s, release(), entries...).Prune(context.Background(), entries[:1])[0]
			g.Expect(early.Done()).To(BeFalse())
			g.Expect(early.Message).To(ContainSubstring("not deleted while objects of this Release are in it: ConfigMap shop/settings"))

			for _, wave := range inventory.Waves(entries) {
				for _, r := range applier(s, release(), entries...).Prune(context.Background(), wave) {
					g.Expect(r.Done()).To(BeTrue(), "%s: %s %v", describe(r.Entry.ObjectKey), r.Message, r.Err)
					entries = inventory.Without(entries, r.Entry)
				}
			}
			g.Expect(entries).To(BeEmpty())
			g.Expect(s.get("api/v1/namespaces/shop") != nil).To(Equal(tt.kept))
		})
	}
}

func TestDefinitionIsPrunedWithCare(t *testing.T) {
	const path = "apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.test"
	definition := rendered(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.ex.test}, spec: {
	  group: ex.test, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true}]}}`)
	widget := rendered("{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w, namespace: shop}}")
	tests := []struct {
		name    string
		given   func(t *testing.T, s *apiServer) []corev1alpha1.InventoryEntry // further entries
		gone    bool
		kept    bool
		message string
	}{
		{"no custom resources", func(*testing.T, *apiServer) []corev1alpha1.InventoryEntry { return nil }, true, false, ""},
		{"not established", func(_ *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			delete(s.kinds, schema.GroupVersionResource{Group: "ex.test", Version: "v1", Resource: "widgets"})
			return nil
		}, true, false, ""},
		{"custom resources of this Release", func(t *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			return []corev1alpha1.InventoryEntry{apply1(t, applier(s, release()), widget)}
		}, false, false, "not deleted while custom resources of this Release exist: Widget.ex.test shop/w"},
		{"custom resources of others", func(_ *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			s.put(widgetPath, "hand", widget.Object)
			return nil
		}, false, true, "such as Widget.ex.test shop/w"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), definition)
			entries := append(tt.given(t, s), e)

			result := applier(s, release(), entries...).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(result.Gone).To(Equal(tt.gone))
			g.Expect(result.Kept).To(Equal(tt.kept))
			g.Expect(result.Message).To(ContainSubstring(tt.message))
			g.Expect(s.get(path) == nil).To(Equal(tt.gone))
		})
	}
}
