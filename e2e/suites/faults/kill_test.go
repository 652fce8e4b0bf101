// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

const objects = 50

var _ = Describe("kill -9 in the middle of a first sync of 50 objects", Serial, func() {
	for _, name := range []string{installation.ControllerManager, installation.Observer, installation.APIServer} {
		It("of "+name+" loses track of nothing", func(ctx SpecContext) {
			files := map[string]string{}
			for i := range objects {
				files[fmt.Sprintf("app/%02d.yaml", i)] = scenario.ConfigMap(fmt.Sprintf("cm-%02d", i), "v", "1")
			}
			n := suite.NewNamespace(ctx, files)
			process := suite.Environment.Convoy.Process(name)

			By("killing it as soon as the first objects are there")
			n.Create(ctx, n.GitRelease("app", scenario.Edge, "app"))
			Eventually(ctx, applied(ctx, n), "30s", "1ms").ShouldNot(BeEmpty())
			Expect(process.Kill()).To(Succeed())

			By("every object that exists is named by the inventory")
			if name != installation.APIServer {
				Expect(namesOf(n.Inventory(ctx, "app"))).To(ContainElements(mustApplied(ctx, n)))
			}
			Expect(process.Restart(ctx)).To(Succeed())
			Eventually(ctx, n.Ready(ctx, "app")).Should(Succeed())
			Expect(namesOf(n.Inventory(ctx, "app"))).To(ConsistOf(mustApplied(ctx, n)))
			Expect(mustApplied(ctx, n)).To(HaveLen(objects))

			By("deleting the Release: nothing stays behind")
			n.MustKubectl(ctx, "-n", n.Name, "delete", "release", "app", "--timeout=90s")
			Expect(mustApplied(ctx, n)).To(BeEmpty())
		}, NodeTimeout(5*time.Minute))
	}
})

// applied asks which ConfigMaps of the namespace carry convoy's mark.
func applied(ctx context.Context, n *scenario.Namespace) func() ([]string, error) {
	return func() ([]string, error) {
		list, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).List(ctx, metav1.ListOptions{LabelSelector: corev1alpha1.LabelOwner})
		if err != nil {
			return nil, err
		}
		names := []string{}
		for _, item := range list.Items {
			names = append(names, item.Name)
		}
		return names, nil
	}
}

func mustApplied(ctx context.Context, n *scenario.Namespace) []string {
	GinkgoHelper()
	names, err := applied(ctx, n)()
	Expect(err).NotTo(HaveOccurred())
	return names
}

func namesOf(inventory *corev1alpha1.ReleaseInventory) []string {
	var names []string
	for _, entry := range inventory.Spec.Entries {
		names = append(names, entry.Name)
	}
	return names
}
