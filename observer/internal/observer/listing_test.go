// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Many objects of a kind that controllers have written to since they were applied cost a list
// for each page, not a read for each.
func TestManyObjectsAreListed(t *testing.T) {
	const many, path = 1200, "/apis/apps/v1/namespaces/ns/deployments"
	deployment := func(i int) string { return strings.Replace(ready, "name: web", fmt.Sprintf("name: web-%04d", i), 1) }
	for _, test := range []struct {
		name   string
		do     func(w *world)
		want   []string // all requests of a loop
		health corev1alpha1.HealthSummary
		insync string
	}{
		{"all are well", func(*world) {}, nil, corev1alpha1.HealthSummary{Healthy: many}, "True InSync"},
		{"one is gone", func(w *world) { w.cluster.Delete(deployment(7)) }, []string{"GET " + path + "/web-0007"},
			corev1alpha1.HealthSummary{Healthy: many - 1, Missing: 1}, "False Drifted"},
		{"one lost its mark", func(w *world) {
			w.cluster.Put(changed(marked(deployment(7)), func(o *unstructured.Unstructured) { o.SetLabels(nil) }))
		}, []string{"GET " + path + "/web-0007"}, corev1alpha1.HealthSummary{Healthy: many}, "False Drifted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			var all []string
			for i := range many {
				all = append(all, deployment(i))
			}
			w.applied(all...)
			test.do(w)
			w.cluster.Asked()
			pages := []string{"GET " + path, "GET " + path, "GET " + path}
			w.judge()
			w.Expect(w.cluster.Asked()).To(Equal(append(pages, test.want...)))
			w.Expect(*w.inventory().Status.Summary).To(Equal(test.health))
			w.look()
			asked := w.cluster.Asked()
			w.Expect(asked[:3]).To(Equal(pages))
			w.Expect(len(asked)).To(BeNumerically("<=", 3+2*len(test.want)), "a dry run for what differs")
			w.expectInSync(test.insync, "")
		})
	}
}

// Whoever may read objects need not be allowed to list them.
func TestManyObjectsThatMayNotBeListed(t *testing.T) {
	w := newWorld(t)
	var all []string
	for i := range 20 {
		all = append(all, strings.Replace(ready, "name: web", fmt.Sprintf("name: web-%04d", i), 1))
	}
	w.applied(all...)
	w.cluster.Refuse(http.MethodGet+" /apis/apps/v1/namespaces/ns/deployments", apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "", nil))
	w.judge()
	w.Expect(w.cluster.Asked()).To(HaveLen(21))
	w.Expect(*w.inventory().Status.Summary).To(Equal(corev1alpha1.HealthSummary{Healthy: 20}))
	w.look()
	w.expectInSync("True InSync", "20 objects")
}
