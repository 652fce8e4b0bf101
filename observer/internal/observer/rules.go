// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	extlisters "kumodo.io/convoy/client/listers/extensions/v1alpha1"
	"kumodo.io/convoy/health"
)

// Rules finds the rules of health that hold for a Release and keeps them compiled.
type Rules struct {
	Sets   extlisters.HealthRuleSetLister
	Global extlisters.GlobalHealthRuleSetLister

	mu       sync.Mutex
	compiled map[types.UID]compiledSet
	types    typeChecks
}

type compiledSet struct {
	generation int64
	set        *health.RuleSet
}

// ruleSource is a rule set of either kind as it is at one generation.
type ruleSource struct {
	kind            string
	namespace, name string
	uid             types.UID
	generation      int64
	rules           []extv1alpha1.HealthRule // the informer's
}

func sourceOf(object metav1.Object, kind string, rules []extv1alpha1.HealthRule) ruleSource {
	return ruleSource{
		kind: kind, namespace: object.GetNamespace(), name: object.GetName(), uid: object.GetUID(), generation: object.GetGeneration(), rules: rules,
	}
}

// For returns an assessor with the rule sets that the Release names, then the other ones
// of its namespace, then the global ones, and a string that changes when any of them does.
// An object that a faulty rule is for is unknown, rather than judged by something else.
func (r *Rules) For(release *corev1alpha1.Release) (*health.Assessor, string) {
	sources := r.sources(release)
	sets := make([]*health.RuleSet, len(sources))
	var version strings.Builder
	for i, source := range sources {
		sets[i] = r.compile(source)
		doubts := r.types.doubts(source, release.Namespace)
		if len(doubts.texts) > 0 {
			sets[i] = sets[i].Doubting(doubts.texts)
		}
		fmt.Fprintf(&version, "%s/%d/%d,", source.uid, source.generation, doubts.version)
	}
	return health.NewAssessor(sets...), version.String()
}

// sources are the rule sets that hold for a Release, in the order in which they are asked.
func (r *Rules) sources(release *corev1alpha1.Release) []ruleSource {
	var sources []ruleSource
	for _, set := range r.local(release) {
		sources = append(sources, sourceOf(set, kindRuleSet, set.Spec.Rules))
	}
	global, _ := r.Global.List(labels.Everything())
	slices.SortFunc(global, func(a, b *extv1alpha1.GlobalHealthRuleSet) int { return cmp.Compare(a.Name, b.Name) })
	for _, set := range global {
		sources = append(sources, sourceOf(set, kindGlobalRuleSet, set.Spec.Rules))
	}
	return sources
}

const (
	kindRuleSet       = "HealthRuleSet"
	kindGlobalRuleSet = "GlobalHealthRuleSet"
)

// local are the rule sets of the Release's namespace, those that it names first.
func (r *Rules) local(release *corev1alpha1.Release) []*extv1alpha1.HealthRuleSet {
	sets, _ := r.Sets.HealthRuleSets(release.Namespace).List(labels.Everything())
	rank := map[string]int{}
	if release.Spec.Health != nil {
		for i, ref := range release.Spec.Health.RuleSetRefs {
			rank[ref.Name] = i - len(release.Spec.Health.RuleSetRefs)
		}
	}
	slices.SortFunc(sets, func(a, b *extv1alpha1.HealthRuleSet) int {
		return cmp.Or(cmp.Compare(rank[a.Name], rank[b.Name]), cmp.Compare(a.Name, b.Name))
	})
	return sets
}

func (r *Rules) compile(source ruleSource) *health.RuleSet {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.compiled[source.uid]; ok && known.generation == source.generation {
		return known.set
	}
	// What is wrong with it is said by the conditions of the set.
	set, _ := health.Compile(source.rules, source.kind+"/"+source.name, field.NewPath("spec", "rules"))
	if r.compiled == nil {
		r.compiled = map[types.UID]compiledSet{}
	}
	r.compiled[source.uid] = compiledSet{generation: source.generation, set: set}
	return set
}

// Forget drops a rule set that was deleted.
func (r *Rules) Forget(uid types.UID) {
	r.types.forget(uid)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.compiled, uid)
}
