// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

type entries = []corev1alpha1.InventoryEntry

// entry makes the entry of a core kind in namespace ns.
func entry(kind, name string, change ...func(*corev1alpha1.InventoryEntry)) corev1alpha1.InventoryEntry {
	e := corev1alpha1.InventoryEntry{ObjectKey: corev1alpha1.ObjectKey{Version: "v1", Kind: kind, Namespace: "ns", Name: name}}
	for _, c := range change {
		c(&e)
	}
	return e
}

func applied(uid, digest string) func(*corev1alpha1.InventoryEntry) {
	return func(e *corev1alpha1.InventoryEntry) { e.UID, e.Digest = types.UID(uid), digest }
}

func stage(s int32) func(*corev1alpha1.InventoryEntry) {
	return func(e *corev1alpha1.InventoryEntry) { e.Stage = s }
}

func api(group, version string) func(*corev1alpha1.InventoryEntry) {
	return func(e *corev1alpha1.InventoryEntry) { e.Group, e.Version = group, version }
}

func keep(e *corev1alpha1.InventoryEntry) { e.Keep = true }

func object(apiVersion, kind, name, digest string) render.Object {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"namespace": "ns", "name": name},
	}}
	return render.Object{Object: u, Digest: digest}
}

func TestKey(t *testing.T) {
	tests := []struct {
		name  string
		given [2]corev1alpha1.InventoryEntry
		want  bool
	}{
		{"the same object", [2]corev1alpha1.InventoryEntry{entry("Secret", "a"), entry("Secret", "a", applied("u", "d"))}, true},
		{"another version", [2]corev1alpha1.InventoryEntry{
			entry("HorizontalPodAutoscaler", "a", api("autoscaling", "v1")),
			entry("HorizontalPodAutoscaler", "a", api("autoscaling", "v2"))}, true},
		{"another group", [2]corev1alpha1.InventoryEntry{entry("Event", "a"), entry("Event", "a", api("events.k8s.io", "v1"))}, false},
		{"another kind", [2]corev1alpha1.InventoryEntry{entry("Secret", "a"), entry("ConfigMap", "a")}, false},
		{"another name", [2]corev1alpha1.InventoryEntry{entry("Secret", "a"), entry("Secret", "b")}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			NewWithT(t).Expect(inventory.Key(tt.given[0]) == inventory.Key(tt.given[1])).To(Equal(tt.want))
		})
	}
}

func TestFromObjects(t *testing.T) {
	g := NewWithT(t)
	kept := object("v1", "PersistentVolumeClaim", "data", "d1")
	kept.Keep = true
	early := object("v1", "ConfigMap", "early", "d2")
	early.Stage = -1
	hook := render.Hook{Name: "migrate", Object: object("batch/v1", "Job", "migrate", "d3")}

	g.Expect(inventory.FromObjects([]render.Object{kept, early}, []render.Hook{hook})).To(Equal(entries{
		entry("ConfigMap", "early", stage(-1)),
		entry("PersistentVolumeClaim", "data", keep),
		entry("Job", "migrate", api("batch", "v1"), func(e *corev1alpha1.InventoryEntry) { e.Hook = "migrate" }),
	}))
}

func TestUnion(t *testing.T) {
	tests := []struct {
		name         string
		old, desired entries
		want         entries
	}{
		{"nothing", nil, nil, entries{}},
		{"new entries are written ahead", nil, entries{entry("Secret", "b"), entry("Secret", "a")},
			entries{entry("Secret", "a"), entry("Secret", "b")}},
		{"what left the render stays", entries{entry("Secret", "a", applied("u", "d"))}, entries{entry("Secret", "b")},
			entries{entry("Secret", "a", applied("u", "d")), entry("Secret", "b")}},
		{"what was applied is remembered", entries{entry("Secret", "a", applied("u", "d"))}, entries{entry("Secret", "a", stage(3))},
			entries{entry("Secret", "a", applied("u", "d"), stage(3))}},
		{"what desired knows is newer", entries{entry("Secret", "a", applied("u", "d"))}, entries{entry("Secret", "a", applied("v", "e"))},
			entries{entry("Secret", "a", applied("v", "e"))}},
		{"a version moves without a second entry", entries{entry("W", "a", api("ex.test", "v1alpha1"), applied("u", "d"))},
			entries{entry("W", "a", api("ex.test", "v1"))}, entries{entry("W", "a", api("ex.test", "v1"), applied("u", "d"))}},
		{"protection outlives its removal until that is applied", entries{entry("Secret", "a", applied("u", "d"), keep)},
			entries{entry("Secret", "a")}, entries{entry("Secret", "a", applied("u", "d"), keep)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			NewWithT(t).Expect(inventory.Union(tt.old, tt.desired)).To(Equal(tt.want))
		})
	}
}

func TestStale(t *testing.T) {
	old := entries{
		entry("Secret", "a", applied("u", "d")), entry("Secret", "b", applied("v", "d")),
		entry("Ingress", "a", api("networking.k8s.io", "v1beta1")),
	}
	tests := []struct {
		name    string
		desired entries
		want    entries
	}{
		{"all left", nil, entries{old[0], old[1], old[2]}},
		{"one left", entries{entry("Secret", "a"), entry("Ingress", "a", api("networking.k8s.io", "v1"))}, entries{old[1]}},
		{"none left", entries{entry("Secret", "a"), entry("Secret", "b"), entry("Ingress", "a", api("networking.k8s.io", "v1"))}, entries{}},
		{"another group is another object", entries{entry("Secret", "a"), entry("Secret", "b"), entry("Ingress", "a", api("extensions", "v1beta1"))},
			entries{old[2]}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			NewWithT(t).Expect(inventory.Stale(old, tt.desired)).To(Equal(tt.want))
		})
	}
}

func TestRecordAndWithout(t *testing.T) {
	g := NewWithT(t)
	given := entries{entry("Secret", "a"), entry("Secret", "b", keep)}

	recorded := inventory.Record(given, entry("Secret", "b", applied("u", "d")), entry("Secret", "c", applied("v", "d")))
	g.Expect(recorded).To(Equal(entries{
		entry("Secret", "a"), entry("Secret", "b", applied("u", "d")), entry("Secret", "c", applied("v", "d")),
	}))
	g.Expect(inventory.Without(recorded, entry("Secret", "b"))).To(Equal(entries{entry("Secret", "a"), entry("Secret", "c", applied("v", "d"))}))
	g.Expect(given).To(Equal(entries{entry("Secret", "a"), entry("Secret", "b", keep)}), "inputs are left alone")
}

func TestChanged(t *testing.T) {
	given := entries{
		entry("Secret", "same", applied("u", "d1")), entry("Secret", "other", applied("u", "d1")), entry("Secret", "ahead"),
	}
	objects := []render.Object{
		object("v1", "Secret", "new", "d1"), object("v1", "Secret", "same", "d1"),
		object("v1", "Secret", "other", "d2"), object("v1", "Secret", "ahead", "d1"),
	}
	var names []string
	for _, o := range inventory.Changed(given, objects) {
		names = append(names, o.Object.GetName())
	}
	NewWithT(t).Expect(names).To(Equal([]string{"new", "other", "ahead"}))
}

func TestEqual(t *testing.T) {
	a, b := entry("Secret", "a", applied("u", "d")), entry("Secret", "b")
	tests := []struct {
		name  string
		given [2]entries
		want  bool
	}{
		{"both empty", [2]entries{nil, {}}, true},
		{"another order", [2]entries{{a, b}, {b, a}}, true},
		{"one more", [2]entries{{a}, {a, b}}, false},
		{"another digest", [2]entries{{a}, {entry("Secret", "a", applied("u", "e"))}}, false},
		{"another version", [2]entries{{a}, {entry("Secret", "a", applied("u", "d"), api("", "v2"))}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			NewWithT(t).Expect(inventory.Equal(tt.given[0], tt.given[1])).To(Equal(tt.want))
		})
	}
}

func TestWaves(t *testing.T) {
	widget := entry("Widget", "w", api("ex.test", "v1"))
	deployment := entry("Deployment", "d", api("apps", "v1"))
	webhook := entry("ValidatingWebhookConfiguration", "v", api("admissionregistration.k8s.io", "v1"), stage(1))
	crd := entry("CustomResourceDefinition", "c", api("apiextensions.k8s.io", "v1"), stage(-2))
	namespace := entry("Namespace", "n", stage(-2))
	account := entry("ServiceAccount", "s", stage(-1))
	config := entry("ConfigMap", "m", stage(-1))
	late := entry("ConfigMap", "late", stage(7))

	tests := []struct {
		name  string
		given entries
		want  []entries
	}{
		{"nothing", nil, nil},
		{"stages in reverse, kinds in reverse inside a stage",
			entries{namespace, crd, config, account, deployment, widget, webhook, late},
			[]entries{{late}, {webhook}, {widget}, {deployment}, {config, account}, {crd}, {namespace}}},
		{"one stage, one rank, one wave", entries{config, account}, []entries{{config, account}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			NewWithT(t).Expect(inventory.Waves(tt.given)).To(Equal(tt.want))
		})
	}
}
