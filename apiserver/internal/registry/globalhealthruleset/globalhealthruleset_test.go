// SPDX-License-Identifier: Apache-2.0

package globalhealthruleset

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	testingclock "k8s.io/utils/clock/testing"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/scheme"
)

func TestCreate(t *testing.T) {
	g := NewWithT(t)
	s, err := scheme.New()
	g.Expect(err).NotTo(HaveOccurred())
	set := &extv1alpha1.GlobalHealthRuleSet{ObjectMeta: metav1.ObjectMeta{Name: "rules"}}
	set.Spec.Rules = []extv1alpha1.HealthRule{{Name: "r", Target: extv1alpha1.HealthRuleTarget{Kind: "Thing"}, Healthy: "object.ready"}}
	rest.FillObjectMetaSystemFields(set)
	ctx := genericapirequest.WithNamespace(context.Background(), "")
	strategy := resource.NewStrategy(kind(), s)
	g.Expect(rest.BeforeCreate(strategy, ctx, set)).To(Succeed())
	g.Expect(set.Labels).To(BeEmpty())
	set.Spec.Rules[0].Healthy = "object."
	g.Expect(rest.BeforeCreate(strategy, ctx, set)).To(MatchError(ContainSubstring("spec.rules[0].healthy")))
}

func TestTable(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	set := &extv1alpha1.GlobalHealthRuleSet{ObjectMeta: metav1.ObjectMeta{Name: "rules", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	set.Spec.Rules = make([]extv1alpha1.HealthRule, 2)
	set.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Message: "why"}}
	table := resource.Table[*extv1alpha1.GlobalHealthRuleSet]{Columns: columns(), Clock: testingclock.NewFakePassiveClock(now)}
	printed, err := table.ConvertToTable(context.Background(), set, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(printed.Rows[0].Cells).To(Equal([]any{"rules", int64(2), "False", "60m", "why"}))
}
