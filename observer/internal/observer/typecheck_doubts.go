// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/health"
)

// documentKey is what clusters of a namespace publish of a group version.
type documentKey struct {
	namespace string
	of        schema.GroupVersion
	hash      string
}

// conclude says anew what is wrong with the rules of each set: what was found with every schema
// of the kind that a cluster publishes. Others that are not published any more are dropped.
func (t *typeChecks) conclude() {
	current := map[documentKey]bool{}
	for key, cluster := range t.clusters {
		for gv, hash := range cluster.hashes {
			current[documentKey{key.cluster.Namespace, gv, hash}] = true
		}
	}
	for _, set := range t.sets {
		maps.DeleteFunc(set.found, func(key schemaKey, _ verdict) bool {
			return !current[documentKey{key.namespace, key.kind.GroupVersion(), key.hash}]
		})
		set.conclude()
	}
}

func (s *checkedSet) conclude() {
	byNamespace := map[string]map[string]string{}
	var all []string
	for i := range s.rules {
		rule := &s.rules[i]
		keys := s.schemasOf(rule)
		if places := s.findings(rule, keys); len(places) > 0 {
			all = append(all, summaryOf(rule, places, len(keys)))
		}
		for _, own := range byNamespaceOf(keys) {
			var texts []string
			for _, finding := range s.findings(rule, own) {
				texts = append(texts, finding.String())
			}
			if len(texts) == 0 {
				continue
			}
			namespace := own[0].namespace
			if byNamespace[namespace] == nil {
				byNamespace[namespace] = map[string]string{}
			}
			byNamespace[namespace][rule.Name] = strings.Join(texts, "; ")
		}
	}
	s.summary = strings.Join(all, "; ")
	s.doubts = make(map[string]doubts, len(byNamespace))
	for namespace, texts := range byNamespace {
		version := fnv.New64a()
		_, _ = fmt.Fprint(version, texts) // sorted by their keys
		s.doubts[namespace] = doubts{texts: texts, version: version.Sum64()}
	}
}

// schemasOf are the known schemas of the kind of a rule, those of a namespace next to each other.
func (s *checkedSet) schemasOf(rule *extv1alpha1.HealthRule) []schemaKey {
	var keys []schemaKey
	for key, verdict := range s.found {
		if verdict.known && health.Targets(rule, key.kind) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b schemaKey) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind.Version, b.kind.Version), cmp.Compare(a.hash, b.hash))
	})
	return keys
}

// byNamespaceOf divides what schemasOf gives.
func byNamespaceOf(keys []schemaKey) [][]schemaKey {
	var divided [][]schemaKey
	for i, key := range keys {
		if i == 0 || key.namespace != keys[i-1].namespace {
			divided = append(divided, nil)
		}
		divided[len(divided)-1] = append(divided[len(divided)-1], key)
	}
	return divided
}

// findings are what is wrong with a rule by each of some schemas.
func (s *checkedSet) findings(rule *extv1alpha1.HealthRule, keys []schemaKey) []health.Finding {
	each := make([][]health.Finding, len(keys))
	for i, key := range keys {
		each[i] = s.found[key].findings
	}
	return slices.DeleteFunc(health.Everywhere(each...), func(finding health.Finding) bool { return finding.Rule != rule.Name })
}

// summaryOf says where a rule does not fit, and how many schemas of its kind that was found with,
// and nothing of what these have.
func summaryOf(rule *extv1alpha1.HealthRule, places []health.Finding, schemas int) string {
	kind := schema.GroupKind{Group: rule.Target.Group, Kind: rule.Target.Kind}
	var texts []string
	for _, place := range places {
		texts = append(texts, fmt.Sprintf("expression %s: at %d:%d", place.Field, place.Line, place.Column))
	}
	return fmt.Sprintf("rule %q: %s: does not fit any of the schemas of %s that clusters publish (%d)", rule.Name, strings.Join(texts, ", "), kind, schemas)
}

// doubts are what is to be said of the rules of a set in a namespace.
func (t *typeChecks) doubts(source ruleSource, namespace string) doubts {
	t.mu.Lock()
	defer t.mu.Unlock()
	set := t.sets[source.uid]
	if set == nil || set.generation != source.generation {
		return doubts{}
	}
	return set.doubts[namespace]
}

// summary is what is to be said of the rules of a set where no namespace's schemas may be quoted.
func (t *typeChecks) summary(source ruleSource) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if set := t.sets[source.uid]; set != nil && set.generation == source.generation {
		return set.summary
	}
	return ""
}

func (t *typeChecks) forget(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sets, uid)
}
