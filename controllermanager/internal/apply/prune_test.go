// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
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

// restore replaces an object by a copy of it, as somebody does who has its YAML.
func restore(s *apiServer, path string) {
	restored := s.get(path).DeepCopy()
	restored.SetManagedFields(nil)
	s.drop(path)
	s.put(path, "backup", restored)
}

// TestRevert: what was there before is kept, what the Release made is not.
func TestRevert(t *testing.T) {
	for _, was := range []string{"made", "adopted"} {
		t.Run(was, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			if was == "adopted" {
				s.put(settingsPath, "hand", settings("{k: hand}").Object)
			}
			object := settings("{k: v}")
			applied := applier(s, release()).Apply(t.Context(), []render.Object{object})[0]
			g.Expect(applied.Err).NotTo(HaveOccurred())
			s.age(settingsPath)
			unnoted := ahead(object)
			unnoted.Adopted = true
			applied = applier(s, release(), unnoted).Apply(t.Context(), []render.Object{settings("{k: changed}")})[0]
			g.Expect(applied.Adopted).To(Equal(was == "adopted"), "as the object tells when the process died before it could note that")
			e := ahead(object)
			e.UID, e.Digest, e.Adopted = applied.UID, applied.Digest, applied.Adopted
			again := applier(s, release(), e).Apply(t.Context(), []render.Object{settings("{k: w}")})[0]
			g.Expect(again.Adopted).To(Equal(was == "adopted"), "it stays so")

			result := applier(s, release(), e).Revert(t.Context(), []corev1alpha1.InventoryEntry{e})[0]
			g.Expect(result.Err).NotTo(HaveOccurred())
			if was == "made" {
				g.Expect(result.Gone).To(BeTrue())
				g.Expect(s.get(settingsPath)).To(BeNil())
				return
			}
			g.Expect(result.Kept).To(BeTrue())
			g.Expect(result.Message).To(HavePrefix("kept, because it was there before"))
			g.Expect(s.get(settingsPath).GetAnnotations()).NotTo(HaveKey(corev1alpha1.AnnotationRelease))
		})
	}
}

// TestPrune prunes a ConfigMap that was applied, after something happened to it.
func TestPrune(t *testing.T) {
	deletion := lines("get "+settingsPath, "delete "+settingsPath)
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
			true, false, "", lines("get "+settingsPath, deletion)},
		{"a copy with marks of what was never applied", func(_ *testing.T, s *apiServer, e *corev1alpha1.InventoryEntry) {
			restore(s, settingsPath)
			e.UID, e.Digest = "", ""
		}, false, true, "was replaced by another object", lines("get "+settingsPath, "get "+settingsPath, "merge "+settingsPath)},
		{"marked with what is no mark", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(settingsPath, annotate(corev1alpha1.AnnotationRelease, "nobody"))
		}, false, true, "not marked as this Release's any more", "get " + settingsPath},
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
			restore(s, settingsPath)
		}, false, true, "was replaced by another object", lines("get "+settingsPath, "get "+settingsPath, "merge "+settingsPath)},
		{"made again by a process that died before it noted that", func(t *testing.T, s *apiServer, e *corev1alpha1.InventoryEntry) {
			s.drop(settingsPath)
			apply1(t, applier(s, release(), *e), settings("{k: v}"))
		}, true, false, "", lines("get "+settingsPath, deletion)},
		{"the last applied says keep", func(_ *testing.T, _ *apiServer, e *corev1alpha1.InventoryEntry) { e.Keep = true },
			false, true, "as its source asked", lines("get "+settingsPath, "merge "+settingsPath)},
		{"the live object says keep", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(settingsPath, annotate("helm.sh/resource-policy", " Keep")) // as Helm reads it
		}, false, true, "helm.sh/resource-policy: keep", lines("get "+settingsPath, "merge "+settingsPath)},
		{"the live object says prune: disabled", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(settingsPath, annotate(corev1alpha1.AnnotationPrune, "disabled"))
		}, false, true, "convoy.kumodo.io/prune: disabled", lines("get "+settingsPath, "merge "+settingsPath)},
		{"a finalizer holds it", func(_ *testing.T, s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(settingsPath, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"ex.test/a", "ex.test/b"}) })
		}, false, false, "is being deleted, waits for finalizers [ex.test/a ex.test/b]", lines(deletion, "get "+settingsPath)},
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

// TestPruneOfMany lists instead of reading one by one.
func TestPruneOfMany(t *testing.T) {
	const dir = "api/v1/namespaces/shop/configmaps"
	many := make([]render.Object, listFrom)
	for i := range many {
		many[i] = rendered(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop}, data: {k: v}}", i))
	}
	deletions := func(except ...int) []string {
		var requests []string
		for i := range many {
			if !slices.Contains(except, i) {
				requests = append(requests, fmt.Sprintf("delete %s/c%d", dir, i))
			}
		}
		return requests
	}
	const first = dir + "/c0"
	reads := deletions()
	for i := range reads {
		reads[i] = strings.Replace(reads[i], "delete", "get", 1)
	}
	for _, test := range []struct {
		name     string
		between  func(s *apiServer)
		want     PruneResult
		requests []string
	}{
		{"nothing happened", func(*apiServer) {}, PruneResult{Gone: true}, append(deletions(), "list "+dir)},
		{"one is gone", func(s *apiServer) { s.drop(first) }, PruneResult{Gone: true}, append(deletions(0), "get "+first, "list "+dir)},
		{"one has lost its label", func(s *apiServer) { s.change(first, func(o *unstructured.Unstructured) { o.SetLabels(nil) }) },
			PruneResult{Gone: true}, append(deletions(), "get "+first, "list "+dir)},
		{"one is protected", func(s *apiServer) { s.change(first, annotate(corev1alpha1.AnnotationPrune, "disabled")) },
			PruneResult{Kept: true, Message: "kept, as its annotation convoy.kumodo.io/prune: disabled says"}, append(deletions(0), "list "+dir, "merge "+first)},
		{"one is another object by now", func(s *apiServer) {
			restore(s, first)
		}, PruneResult{Kept: true, Message: "was replaced by another object of its name, which stays"},
			append(deletions(0), "get "+first, "list "+dir, "merge "+first)},
		{"one is protected in the meantime", func(s *apiServer) {
			s.before = func(r request) {
				if r.verb == "list" {
					s.before = func(request) {
						s.before = nil
						s.change(first, annotate(corev1alpha1.AnnotationPrune, "disabled"))
					}
				}
			}
		}, PruneResult{Kept: true, Message: "kept, as its annotation convoy.kumodo.io/prune: disabled says"},
			append(deletions(), "get "+first, "list "+dir, "merge "+first)},
		{"there is no right to list", func(s *apiServer) {
			s.refuse = func(r request) *metav1.Status {
				if r.verb == "list" {
					return statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "no lists")
				}
				return nil
			}
		}, PruneResult{Gone: true}, append(append(deletions(), reads...), "list "+dir)},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			entries := applied(t, s, many...)
			test.between(s)

			a := New(s, Options{Installation: installation, Release: release(), Inventory: entries, Concurrency: 1})
			results := a.Prune(t.Context(), entries)

			test.want.Entry = entries[0]
			g.Expect(results[0]).To(Equal(test.want))
			for i, r := range results[1:] {
				g.Expect(r).To(Equal(PruneResult{Entry: entries[i+1], Gone: true}))
			}
			g.Expect(s.asked()).To(ConsistOf(test.requests))
		})
	}
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

// TestNamespaceIsProtectedOnce: the first object that is kept in a namespace has it kept, too, if it
// is the Release's to delete, or was until it went to another one.
func TestNamespaceIsProtectedOnce(t *testing.T) {
	const path = "api/v1/namespaces/shop"
	namespace := rendered("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")
	for _, test := range []struct {
		name      string
		mark      string
		had       bool
		protected bool
		writes    int
	}{
		{"its own", own, false, true, 1},
		{"another Release's, which it only wants", other, false, false, 0},
		{"another Release's, which it had", other, true, true, 1},
		{"another installation's, which it had", "away/team/other", true, false, 0},
		{"nobody's", "", false, false, 0},
		{"nobody's, which it had", "", true, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			entries := []corev1alpha1.InventoryEntry{ahead(namespace)}
			if applied := apply1(t, applier(s, release()), namespace); test.had {
				entries[0] = applied
			}
			s.change(path, annotate(corev1alpha1.AnnotationRelease, test.mark))
			for i := range 5 {
				e := apply1(t, applier(s, release()), rendered(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: shop}}", i)))
				e.Keep = true
				entries = append(entries, e)
			}
			s.asked()

			a := New(s, Options{Installation: installation, Release: release(), Inventory: entries, Concurrency: 1})
			for _, result := range a.Prune(t.Context(), entries[1:]) {
				g.Expect(result.Kept).To(BeTrue(), "%s %v", result.Message, result.Err)
			}

			_, protected := s.get(path).GetAnnotations()[corev1alpha1.AnnotationPrune]
			g.Expect(protected).To(Equal(test.protected))
			writes := slices.DeleteFunc(s.asked(), func(request string) bool { return request != "merge "+path })
			g.Expect(len(writes)).To(Equal(test.writes))
		})
	}
}

func TestDefinitionIsPrunedWithCare(t *testing.T) {
	const path = "apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.test"
	definition := rendered(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.ex.test}, spec: {
	  group: ex.test, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true}]}}`)
	widget := rendered("{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w, namespace: shop}}")
	none := func(*testing.T, *apiServer) []corev1alpha1.InventoryEntry { return nil }
	consents := func(r *corev1alpha1.Release) { r.Spec.Sync.PruneCRDs = true }
	tests := []struct {
		name    string
		release *corev1alpha1.Release
		given   func(t *testing.T, s *apiServer) []corev1alpha1.InventoryEntry // further entries
		gone    bool
		kept    bool
		message string
	}{
		{"without consent", release(), none, false, true, "spec.sync.pruneCRDs or its annotation convoy.kumodo.io/prune: enabled allows it"},
		{"the definition consents", release(), func(_ *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			s.change(path, annotate(corev1alpha1.AnnotationPrune, corev1alpha1.PruneEnabled))
			return nil
		}, true, false, ""},
		{"the definition says never", release(consents), func(_ *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			s.change(path, annotate(corev1alpha1.AnnotationPrune, corev1alpha1.PruneDisabled))
			return nil
		}, false, true, "convoy.kumodo.io/prune: disabled"},
		{"no custom resources", release(consents), none, true, false, ""},
		{"not established", release(consents), func(_ *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			delete(s.kinds, schema.GroupVersionResource{Group: "ex.test", Version: "v1", Resource: "widgets"})
			return nil
		}, true, false, ""},
		{"established, and not served at the moment", release(consents), func(_ *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			s.change(path, inCondition("Established"))
			delete(s.kinds, schema.GroupVersionResource{Group: "ex.test", Version: "v1", Resource: "widgets"})
			return nil
		}, false, false, "not deleted until its custom resources can be looked for"},
		{"served in no version", release(consents), func(_ *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			s.change(path, func(o *unstructured.Unstructured) {
				o.Object["spec"].(map[string]any)["versions"] = []any{map[string]any{"name": "v1", "served": false}}
			})
			return nil
		}, false, true, "kept, because it serves no version"},
		{"custom resources of this Release", release(consents), func(t *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			return []corev1alpha1.InventoryEntry{apply1(t, applier(s, release()), widget)}
		}, false, false, "not deleted while custom resources of this Release exist: Widget.ex.test shop/w"},
		{"custom resources of others", release(consents), func(_ *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			s.put(widgetPath, "hand", widget.Object)
			return nil
		}, false, true, "such as Widget.ex.test shop/w"},
		{"custom resources that nothing converts", release(consents), func(_ *testing.T, s *apiServer) []corev1alpha1.InventoryEntry {
			s.refuse = func(r request) *metav1.Status {
				if r.verb != "list" {
					return nil
				}
				return statusf(500, metav1.StatusReasonInternalError, "conversion webhook for ex.test/v2, Kind=Widget failed: no endpoints available")
			}
			return nil
		}, false, true, "that nothing converts to v1 any more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), definition)
			entries := append(tt.given(t, s), e)

			result := applier(s, tt.release, entries...).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(result.Gone).To(Equal(tt.gone))
			g.Expect(result.Kept).To(Equal(tt.kept))
			g.Expect(result.Message).To(ContainSubstring(tt.message))
			g.Expect(s.get(path) == nil).To(Equal(tt.gone))
			if tt.kept {
				g.Expect(s.get(path).GetLabels()).NotTo(HaveKey(corev1alpha1.LabelOwner))
			}
		})
	}
}

// TestNamespaceWithClaimsOfOthers: what a StatefulSet claimed is no object of the Release, and
// stays when the StatefulSet goes; it would not with the namespace.
func TestNamespaceWithClaimsOfOthers(t *testing.T) {
	const namespacePath, claimPath = "api/v1/namespaces/shop", "api/v1/namespaces/shop/persistentvolumeclaims/data-0"
	claim := func(more string) *unstructured.Unstructured {
		return manifest("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-0, namespace: shop" + more + "}}")
	}
	ownedBy := func(uid string) string {
		return ", ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: " + uid + "}]"
	}
	tests := []struct {
		name    string
		given   func(s *apiServer)
		gone    bool
		kept    bool
		message string
	}{
		{"none", func(*apiServer) {}, true, false, ""},
		{"a claim", func(s *apiServer) { s.put(claimPath, "hand", claim("")) }, false, true, "PersistentVolumeClaim shop/data-0 is in it"},
		{"a claim, and consent", func(s *apiServer) {
			s.put(claimPath, "hand", claim(""))
			s.change(namespacePath, annotate(corev1alpha1.AnnotationPrune, corev1alpha1.PruneEnabled))
		}, true, false, ""},
		{"a claim of somebody who is there", func(s *apiServer) {
			db := s.put("apis/apps/v1/namespaces/shop/statefulsets/db", "hand", manifest("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop}}"))
			s.put(claimPath, "hand", claim(ownedBy(string(db.GetUID()))))
		}, false, true, "PersistentVolumeClaim shop/data-0 is in it"},
		{"a claim that goes with its owner", func(s *apiServer) { s.put(claimPath, "hand", claim(ownedBy("gone"))) },
			false, false, "not deleted until PersistentVolumeClaim shop/data-0 is gone"},
		{"a claim that is going", func(s *apiServer) {
			s.put(claimPath, "hand", claim(""))
			s.change(claimPath, func(o *unstructured.Unstructured) {
				now := metav1.Now()
				o.SetDeletionTimestamp(&now)
				o.SetFinalizers([]string{"kubernetes.io/pvc-protection"})
			})
		}, false, false, "not deleted until PersistentVolumeClaim shop/data-0 is gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), rendered("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))
			tt.given(s)

			result := applier(s, release(), e).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(result.Gone).To(Equal(tt.gone))
			g.Expect(result.Kept).To(Equal(tt.kept))
			g.Expect(result.Message).To(ContainSubstring(tt.message))
			g.Expect(s.get(namespacePath) == nil).To(Equal(tt.gone))
		})
	}
}

// TestNamespaceWithObjectsOfOthers: another Release may know the same cluster by another name.
func TestNamespaceWithObjectsOfOthers(t *testing.T) {
	const namespacePath = "api/v1/namespaces/shop"
	configMaps := neighbourhood{kinds: []schema.GroupVersionKind{{Version: "v1", Kind: "Vanished"}, {Version: "v1", Kind: "ConfigMap"}}}
	marked := func(mark string) func(t *testing.T, s *apiServer) {
		return func(t *testing.T, s *apiServer) {
			apply1(t, asOther(s), settings("{k: v}"))
			s.change(settingsPath, annotate(corev1alpha1.AnnotationRelease, mark))
		}
	}
	for _, test := range []struct {
		name    string
		others  neighbourhood
		given   func(t *testing.T, s *apiServer)
		kept    bool
		message string
		err     string
	}{
		{"nobody has any", neighbourhood{}, func(*testing.T, *apiServer) {}, false, "", ""},
		{"none is there", configMaps, func(*testing.T, *apiServer) {}, false, "", ""},
		{"another Release's", configMaps, marked("home/team/other"), true, "kept, because objects of Release team/other are in it, such as ConfigMap shop/settings", ""},
		{"another installation's", configMaps, marked("away/team/other"), true, "of another convoy (installation away)", ""},
		{"one with what is no mark", configMaps, marked("nobody"), false, "", ""},
		{"one that is going", configMaps, func(t *testing.T, s *apiServer) {
			marked("home/team/other")(t, s)
			s.change(settingsPath, func(o *unstructured.Unstructured) {
				now := metav1.Now()
				o.SetDeletionTimestamp(&now)
				o.SetFinalizers([]string{"ex.test/a"})
			})
		}, false, "", ""},
		{"nobody can tell", configMaps, func(_ *testing.T, s *apiServer) {
			s.refuse = func(r request) *metav1.Status {
				if r.verb == "list" {
					return statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "no lists")
				}
				return nil
			}
		}, false, "", "looking for objects of other Releases in the namespace, which would be deleted with it: no lists"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), rendered("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))
			test.given(t, s)

			result := among(test.others, s, release(), e).Prune(t.Context(), []corev1alpha1.InventoryEntry{e})[0]

			g.Expect(result.Kept).To(Equal(test.kept))
			g.Expect(result.Message).To(ContainSubstring(test.message))
			if test.err != "" {
				g.Expect(result.Err).To(MatchError(ContainSubstring(test.err)))
			} else {
				g.Expect(result.Err).NotTo(HaveOccurred())
			}
			g.Expect(s.get(namespacePath) == nil).To(Equal(!test.kept && test.err == ""))
		})
	}
}

// TestVolumeWithAClaimOfOthers: a volume does not go before the claim that is bound to it, and
// not at all when that stays.
func TestVolumeWithAClaimOfOthers(t *testing.T) {
	const volumePath, claimPath = "api/v1/persistentvolumes/pv", "api/v1/namespaces/shop/persistentvolumeclaims/data"
	claim := func() *unstructured.Unstructured {
		return manifest("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}}")
	}
	bound := func(s *apiServer, uid, phase string) {
		s.change(volumePath, func(o *unstructured.Unstructured) {
			o.Object["spec"] = map[string]any{"claimRef": map[string]any{"namespace": "shop", "name": "data", "uid": uid}}
			o.Object["status"] = map[string]any{"phase": phase}
		})
	}
	tests := []struct {
		name    string
		given   func(s *apiServer) []corev1alpha1.InventoryEntry // further entries
		gone    bool
		kept    bool
		message string
	}{
		{"not bound", func(*apiServer) []corev1alpha1.InventoryEntry { return nil }, true, false, ""},
		{"bound to a claim of others", func(s *apiServer) []corev1alpha1.InventoryEntry {
			bound(s, string(s.put(claimPath, "hand", claim()).GetUID()), "Bound")
			return nil
		}, false, true, "PersistentVolumeClaim shop/data is bound to it"},
		{"the same with consent", func(s *apiServer) []corev1alpha1.InventoryEntry {
			bound(s, string(s.put(claimPath, "hand", claim()).GetUID()), "Bound")
			s.change(volumePath, annotate(corev1alpha1.AnnotationPrune, corev1alpha1.PruneEnabled))
			return nil
		}, true, false, ""},
		{"bound to a claim of the Release", func(s *apiServer) []corev1alpha1.InventoryEntry {
			data := s.put(claimPath, "hand", claim())
			bound(s, string(data.GetUID()), "Bound")
			return []corev1alpha1.InventoryEntry{{ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data"}}}
		}, false, false, "not deleted while a claim of this Release is bound to it"},
		{"bound to a claim that is gone", func(s *apiServer) []corev1alpha1.InventoryEntry {
			bound(s, "gone", "Bound")
			return nil
		}, true, false, ""},
		{"bound to a claim that was made anew", func(s *apiServer) []corev1alpha1.InventoryEntry {
			s.put(claimPath, "hand", claim())
			bound(s, "another", "Bound")
			return nil
		}, true, false, ""},
		{"released", func(s *apiServer) []corev1alpha1.InventoryEntry {
			bound(s, string(s.put(claimPath, "hand", claim()).GetUID()), "Released")
			return nil
		}, true, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			s.kinds[schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}] = served{"PersistentVolume", false}
			e := apply1(t, applier(s, release()), rendered("{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}}"))
			entries := append(tt.given(s), e)

			result := applier(s, release(), entries...).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(result.Gone).To(Equal(tt.gone))
			g.Expect(result.Kept).To(Equal(tt.kept))
			g.Expect(result.Message).To(ContainSubstring(tt.message))
			g.Expect(s.get(volumePath) == nil).To(Equal(tt.gone))
		})
	}
}

// TestPropagation: what runs Pods goes when they have gone, all else at once.
func TestPropagation(t *testing.T) {
	tests := []struct{ manifest, want string }{
		{"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}}", "Foreground"},
		{"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: d, namespace: shop}}", "Foreground"},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: shop}}", "Background"},
		{"{apiVersion: ex.test/v1, kind: Widget, metadata: {name: w, namespace: shop}}", "Background"},
	}
	for _, tt := range tests {
		g := NewWithT(t)
		s := newAPIServer(t)
		e := apply1(t, applier(s, release()), rendered(tt.manifest))
		var asked any
		s.before = func(r request) {
			if r.verb == "delete" {
				asked = r.body["propagationPolicy"]
			}
		}
		g.Expect(applier(s, release(), e).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0].Gone).To(BeTrue())
		g.Expect(asked).To(Equal(tt.want), tt.manifest)
	}
}
