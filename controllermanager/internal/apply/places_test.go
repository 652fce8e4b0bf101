// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// applied applies objects that the marks of the Release are on, and gives their entries.
func applied(t *testing.T, s *apiServer, objects ...render.Object) []corev1alpha1.InventoryEntry {
	g := NewWithT(t)
	for _, o := range objects {
		render.Mark(o.Object, installation, release().Namespace, release().Name)
	}
	var entries []corev1alpha1.InventoryEntry
	for _, r := range applier(s, release()).Apply(t.Context(), objects) {
		g.Expect(r.Err).NotTo(HaveOccurred())
		g.Expect(r.ResourceVersion).NotTo(BeEmpty())
		entries = append(entries, corev1alpha1.InventoryEntry{ObjectKey: r.Key, UID: r.UID, Digest: r.Digest, ResourceVersion: r.ResourceVersion})
	}
	s.asked()
	return entries
}

func TestUntouched(t *testing.T) {
	const path = "api/v1/namespaces/shop/configmaps/b"
	configMap := func(name string) render.Object {
		return rendered("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: shop}, data: {k: v}}")
	}
	for _, test := range []struct {
		name string
		do   func(s *apiServer, b *corev1alpha1.InventoryEntry)
		want bool
	}{
		{"nobody wrote to it", func(*apiServer, *corev1alpha1.InventoryEntry) {}, true},
		{"a person changed a field", func(s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(path, func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, "x", "data", "k") })
		}, false},
		{"it is gone", func(s *apiServer, _ *corev1alpha1.InventoryEntry) { s.drop(path) }, false},
		{"the marks are off", func(s *apiServer, _ *corev1alpha1.InventoryEntry) {
			s.change(path, func(o *unstructured.Unstructured) { o.SetLabels(nil) })
		}, false},
		{"it is another object", func(_ *apiServer, b *corev1alpha1.InventoryEntry) { b.UID = "another" }, false},
		{"it was applied by one that did not note the version", func(_ *apiServer, b *corev1alpha1.InventoryEntry) { b.ResourceVersion = "" }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			entries := applied(t, s, configMap("a"), configMap("b"))
			test.do(s, &entries[1])
			untouched := applier(s, release(), entries...).Untouched(t.Context(), entries)
			g.Expect(untouched[inventory.Key(entries[0])]).To(BeTrue())
			g.Expect(untouched[inventory.Key(entries[1])]).To(Equal(test.want))
			g.Expect(s.asked()).To(Equal([]string{"list api/v1/namespaces/shop/configmaps"}), "one request for all of a kind")
		})
	}
}

func TestUntouchedWithoutTheRightToList(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	entries := applied(t, s, settings("{k: v}"))
	s.refuse = func(r request) *metav1.Status {
		if r.verb == "list" {
			return statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "no lists")
		}
		return nil
	}
	g.Expect(applier(s, release(), entries...).Untouched(t.Context(), entries)).To(BeEmpty())
	g.Expect(applier(s, release(), entries...).Untouched(t.Context(), nil)).To(BeEmpty())
}

// Who runs the target decides how many pages a list has, not how many are read.
func TestAListWithoutAnEnd(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	var pages atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":"more"},
			"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"object-%d","namespace":"shop"}}]}`, pages.Add(1))
	}))
	t.Cleanup(server.Close)
	var err error
	s.metadata, err = metadata.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	g.Expect(err).NotTo(HaveOccurred())
	var entries []corev1alpha1.InventoryEntry
	for i := range 2 * listFrom {
		entries = append(entries, ahead(settings("{}")))
		entries[i].Name = fmt.Sprint("object-", 2*i)
		entries[i].UID, entries[i].ResourceVersion = "one", "1"
	}
	a := applier(s, release(), entries...)

	g.Expect(a.survey(t.Context(), entries)).To(HaveLen(listFrom), "of what was asked for, those of the pages that were read")
	g.Expect(pages.Swap(0)).To(Equal(int64(len(entries))))
	g.Expect(a.Untouched(t.Context(), entries)).To(BeEmpty())
	g.Expect(pages.Swap(0)).To(Equal(int64(len(entries))))

	a.options.Others = neighbourhood{kinds: []schema.GroupVersionKind{entries[0].GroupVersionKind()}}
	_, _, err = a.tenant(t.Context(), "shop")
	g.Expect(err).To(MatchError(ContainSubstring("has not ended after 200 pages")))
}
