// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned/fake"
	extlisters "kumodo.io/convoy/client/listers/extensions/v1alpha1"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/observer/internal/testcluster"
)

// rulesOf gives rules that say of ConfigMaps that they are degraded, with the name of the
// set as the message.
func rulesOf(name string) extv1alpha1.HealthRuleSetSpec {
	return extv1alpha1.HealthRuleSetSpec{Rules: []extv1alpha1.HealthRule{{
		Name: "r", Target: extv1alpha1.HealthRuleTarget{Kind: "ConfigMap"}, Degraded: "true", Message: "'" + name + "'",
	}}}
}

func ruleSet(namespace, name string) *extv1alpha1.HealthRuleSet {
	return &extv1alpha1.HealthRuleSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Generation: 1}, Spec: rulesOf(name),
	}
}

func globalRuleSet(name string) *extv1alpha1.GlobalHealthRuleSet {
	return &extv1alpha1.GlobalHealthRuleSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1}, Spec: rulesOf(name),
	}
}

func newRules(g *WithT, sets []*extv1alpha1.HealthRuleSet, global []*extv1alpha1.GlobalHealthRuleSet) *Rules {
	local := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, set := range sets {
		g.Expect(local.Add(set)).To(Succeed())
	}
	wide := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, set := range global {
		g.Expect(wide.Add(set)).To(Succeed())
	}
	return &Rules{Sets: extlisters.NewHealthRuleSetLister(local), Global: extlisters.NewGlobalHealthRuleSetLister(wide)}
}

func TestOrderOfRules(t *testing.T) {
	for _, test := range []struct {
		name   string
		refs   []string
		sets   []*extv1alpha1.HealthRuleSet
		global []*extv1alpha1.GlobalHealthRuleSet
		want   string
		rule   string
	}{
		{"what is built in", nil, nil, nil, "", "builtin/core/ConfigMap"},
		{"global ones go before that, by name", nil, nil, []*extv1alpha1.GlobalHealthRuleSet{globalRuleSet("b"), globalRuleSet("a")}, "a", "GlobalHealthRuleSet/a/r"},
		{"those of the namespace go before global ones, by name", nil,
			[]*extv1alpha1.HealthRuleSet{ruleSet("ns", "y"), ruleSet("ns", "x")}, []*extv1alpha1.GlobalHealthRuleSet{globalRuleSet("a")}, "x", "HealthRuleSet/x/r"},
		{"those that the Release names go first, in its order", []string{"z", "y"},
			[]*extv1alpha1.HealthRuleSet{ruleSet("ns", "x"), ruleSet("ns", "y"), ruleSet("ns", "z")}, nil, "z", "HealthRuleSet/z/r"},
		{"those of other namespaces are not asked", []string{"x"}, []*extv1alpha1.HealthRuleSet{ruleSet("elsewhere", "x")}, nil, "", "builtin/core/ConfigMap"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app"}, Spec: corev1alpha1.ReleaseSpec{Health: &corev1alpha1.ReleaseHealthSpec{}}}
			for _, ref := range test.refs {
				release.Spec.Health.RuleSetRefs = append(release.Spec.Health.RuleSetRefs, corev1alpha1.LocalReference{Name: ref})
			}
			assessor, _ := newRules(g, test.sets, test.global).For(release)
			result := assessor.Assess(testcluster.Object(configMap))
			g.Expect(result.Message).To(Equal(test.want))
			g.Expect(result.Rule).To(Equal(test.rule))
		})
	}
}

func TestVersionOfRules(t *testing.T) {
	g := NewWithT(t)
	set := ruleSet("ns", "x")
	rules := newRules(g, []*extv1alpha1.HealthRuleSet{set, ruleSet("ns", "y")}, nil)
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	_, before := rules.For(release)
	_, again := rules.For(release)
	g.Expect(again).To(Equal(before))

	named := release.DeepCopy()
	named.Spec.Health = &corev1alpha1.ReleaseHealthSpec{RuleSetRefs: []corev1alpha1.LocalReference{{Name: "y"}}}
	_, reordered := rules.For(named)
	g.Expect(reordered).NotTo(Equal(before))

	set.Generation, set.Spec = 2, rulesOf("changed")
	assessor, after := rules.For(release)
	g.Expect(after).NotTo(Equal(before))
	g.Expect(assessor.Assess(testcluster.Object(configMap)).Message).To(Equal("changed"), "it is compiled again")

	rules.Forget(set.UID)
	g.Expect(rules.compiled).To(HaveLen(1))
}

func TestFaultyRulesMakeUnknown(t *testing.T) {
	g := NewWithT(t)
	set := ruleSet("ns", "x")
	set.Spec.Rules[0].Degraded = "object..."
	assessor, _ := newRules(g, []*extv1alpha1.HealthRuleSet{set}, nil).For(&corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}})
	g.Expect(assessor.Assess(testcluster.Object(configMap)).Status).To(Equal(corev1alpha1.HealthUnknown), "and not judged by something else")
	g.Expect(assessor.Assess(testcluster.Object(secretMap))).To(Equal(health.Assess(testcluster.Object(secretMap))))
}

func TestRuleSetController(t *testing.T) {
	for _, test := range []struct {
		name     string
		degraded string
		want     metav1.ConditionStatus
		message  string
	}{
		{"compiles", "object.data.a == 'x'", metav1.ConditionTrue, "all expressions compile; rules: 1"},
		{"does not", "object..", metav1.ConditionFalse, "spec.rules[0].degraded"},
		{"is not of type bool", "'text'", metav1.ConditionFalse, "spec.rules[0].degraded"},
		{"is very long", strings.Repeat("object..", 1000), metav1.ConditionFalse, "…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			set, wide := ruleSet("ns", "x"), globalRuleSet("x")
			set.Spec.Rules[0].Degraded, wide.Spec.Rules[0].Degraded = test.degraded, test.degraded
			client := fake.NewSimpleClientset(set, wide)
			rules := newRules(g, []*extv1alpha1.HealthRuleSet{set}, []*extv1alpha1.GlobalHealthRuleSet{wide})
			c := &RuleSetController{Client: client, Sets: rules.Sets, Global: rules.Global}
			for _, key := range []types.NamespacedName{{Namespace: "ns", Name: "x"}, {Name: "x"}, {Namespace: "ns", Name: "gone"}, {Name: "gone"}} {
				_, err := c.Reconcile(t.Context(), key)
				g.Expect(err).NotTo(HaveOccurred())
			}
			local, err := client.ExtensionsV1alpha1().HealthRuleSets("ns").Get(t.Context(), "x", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			global, err := client.ExtensionsV1alpha1().GlobalHealthRuleSets().Get(t.Context(), "x", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			for _, status := range []extv1alpha1.HealthRuleSetStatus{local.Status, global.Status} {
				condition := meta.FindStatusCondition(status.Conditions, corev1alpha1.ConditionReady)
				g.Expect(condition.Status).To(Equal(test.want))
				g.Expect(condition.Message).To(ContainSubstring(test.message))
				g.Expect(len(condition.Message)).To(BeNumerically("<", 3000))
				g.Expect(status.ObservedGeneration).To(BeEquivalentTo(1))
			}

			set.Status, wide.Status = local.Status, global.Status
			client.ClearActions()
			for _, key := range []types.NamespacedName{{Namespace: "ns", Name: "x"}, {Name: "x"}} {
				_, err := c.Reconcile(t.Context(), key)
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(client.Actions()).To(BeEmpty(), "nothing new is to be said")
		})
	}
}
