// SPDX-License-Identifier: Apache-2.0

package order_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kumodo.io/convoy/render/internal/order"
)

func TestKindsComeInOrder(t *testing.T) {
	g := NewWithT(t)
	want := []schema.GroupKind{
		{Kind: "Namespace"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		{Kind: "ServiceAccount"},
		{Kind: "Secret"},
		{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"},
		{Kind: "Service"},
		{Group: "apps", Kind: "Deployment"},
		{Group: "batch", Kind: "Job"},
		{Group: "example.test", Kind: "Deployment"}, // another group is another kind
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
		{Group: "apiregistration.k8s.io", Kind: "APIService"},
	}
	for i := 1; i < len(want); i++ {
		g.Expect(order.Rank(want[i-1])).To(BeNumerically("<", order.Rank(want[i])), want[i].String())
		g.Expect(order.Stage(want[i-1])).To(BeNumerically("<=", order.Stage(want[i])), want[i].String())
	}
	g.Expect(order.Stage(want[0])).To(Equal(order.Foundations))
	g.Expect(order.Stage(want[3])).To(Equal(order.Policies))
	g.Expect(order.Stage(want[8])).To(Equal(order.Workloads))
	g.Expect(order.Stage(want[10])).To(Equal(order.Admission))
}
