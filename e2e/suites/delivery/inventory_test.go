// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var _ = Describe("An inventory that does not fit into one object", func() {
	It("has pages, which are judged, shrink, and go with the Release", func(ctx SpecContext) {
		const n = 4000
		many := func(n int, value string) string {
			var text strings.Builder
			for i := range n {
				fmt.Fprintf(&text, "---\n%s", scenario.ConfigMap(fmt.Sprintf("a-config-map-%05d", i), "v", value))
			}
			return text.String()
		}
		sns := suite.NewNamespace(ctx, map[string]string{"app/all.yaml": many(n, "1")})
		sns.Create(ctx, sns.GitRelease("app", scenario.Edge, "app"))
		Eventually(ctx, sns.Ready(ctx, "app"), 4*time.Minute).Should(Succeed())
		pages := func(g Gomega) []corev1alpha1.ReleaseInventory {
			list, err := sns.API.CoreV1alpha1().ReleaseInventories(sns.Name).List(ctx, metav1.ListOptions{FieldSelector: "spec.releaseRef.name=app"})
			g.Expect(err).NotTo(HaveOccurred())
			return list.Items
		}
		entries, healthy := 0, 0
		all := pages(NewGomega(func(message string, _ ...int) { Fail(message) }))
		Expect(len(all)).To(BeNumerically(">", 1))
		for i, page := range all {
			name := "app"
			if i > 0 {
				name = fmt.Sprintf("app.%d", i)
			}
			Expect(page.Name).To(Equal(name))
			entries += len(page.Spec.Entries)
			healthy += int(page.Status.Summary.Healthy)
		}
		Expect(entries).To(Equal(n))
		Expect(healthy).To(Equal(n))
		sns.AwaitCondition(ctx, "app", corev1alpha1.ConditionInSync, metav1.ConditionTrue)

		sns.Commit(ctx, map[string]string{"app/all.yaml": many(20, "1")})
		sns.Sync(ctx, "app")
		Eventually(ctx, func(g Gomega) {
			g.Expect(pages(g)).To(HaveLen(1))
			g.Expect(sns.Inventory(ctx, "app").Spec.Entries).To(HaveLen(20))
		}, 4*time.Minute).Should(Succeed())
		sns.AwaitReady(ctx, "app")
	}, NodeTimeout(10*time.Minute))
})
