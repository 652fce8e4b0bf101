// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/health"
)

const (
	// typeCheckInterval is when it is looked whether a target publishes other schemas by now.
	typeCheckInterval = time.Hour
	// typeCheckPause is when a target is asked again whose schemas could not be read.
	typeCheckPause = 10 * time.Minute
	// typeCheckRetry is when a pass looks whether a check has come to its end.
	typeCheckRetry = 5 * time.Second
)

// typeChecks hold rules of health against the schemas that targets publish of the kinds that
// the rules are for, beside the passes. Of a schema only what was found stays, by the hash that
// its server gives it: clusters of a namespace with the same version of a kind are one. The zero
// value is ready for use.
type typeChecks struct {
	mu       sync.Mutex
	waiting  []*typeCheck
	working  map[clusterKey]bool
	decoding sync.Mutex
	clusters map[clusterKey]*published
	sets     map[types.UID]*checkedSet
}

// clusterKey names a cluster. The server is in it as a Cluster may come to mean another one.
type clusterKey struct {
	cluster types.NamespacedName
	server  string
}

// published are the hashes of the schemas that a cluster publishes, when they were last read, of
// the groups of which somebody wanted to know.
type published struct {
	groups map[string]bool
	hashes map[schema.GroupVersion]string
	until  time.Time
	failed bool
}

// schemaKey is the schema of a kind. Clusters of other namespaces are other people's, who could
// publish something else under a hash.
type schemaKey struct {
	namespace string
	kind      schema.GroupVersionKind
	hash      string
}

// checkedSet is what was found of a rule set at one generation.
type checkedSet struct {
	generation int64
	rules      []extv1alpha1.HealthRule // the informer's
	found      map[schemaKey]verdict
	// doubts are what is to be said of its rules, by the namespace in which it is.
	doubts map[string]doubts
	// summary is what is to be said of them to whoever may read in none of the namespaces.
	summary string
	// told is what this process last wrote into its status.
	told string
}

// doubts are why rules may be wrong, by the name of the rule. They quote schemas of clusters, and
// are told in the namespace of these only.
type doubts struct {
	texts map[string]string
	// version is another one for other texts, 0 for none.
	version uint64
}

// verdict is what was found with one schema; known is false when the server has none of the kind.
type verdict struct {
	known    bool
	findings []health.Finding
}

// typeCheck is what is to be checked with the schemas of one cluster.
type typeCheck struct {
	key     clusterKey
	cluster *corev1alpha1.Cluster
	sets    map[schema.GroupVersionKind]map[types.UID]ruleSource
}

// checkTypes has the rules for kinds of entries held against the schemas of the target. It waits
// for nothing; true is that the outcome is not there yet.
func (c *HealthController) checkTypes(ctx context.Context, release *corev1alpha1.Release, entries []corev1alpha1.InventoryEntry, t *Target) bool {
	wanted := c.Rules.wanted(release, entries)
	if len(wanted) == 0 {
		return false
	}
	check := &typeCheck{key: clusterKey{cluster: t.name(), server: t.Server()}, cluster: t.Cluster, sets: wanted}
	known := &c.Rules.types
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.covers(check, c.Clock.Now()) {
		return false
	}
	known.enqueue(check)
	c.startTypeChecks(context.WithoutCancel(ctx)) // they serve other Releases too
	return true
}

// wanted are the rule sets with rules for the kinds of entries.
func (r *Rules) wanted(release *corev1alpha1.Release, entries []corev1alpha1.InventoryEntry) map[schema.GroupVersionKind]map[types.UID]ruleSource {
	kinds := map[schema.GroupVersionKind]bool{}
	for i := range entries {
		kinds[entries[i].GroupVersionKind()] = true
	}
	wanted := map[schema.GroupVersionKind]map[types.UID]ruleSource{}
	for _, source := range r.sources(release) {
		set := r.compile(source)
		for kind := range kinds {
			if !set.Has(kind.GroupKind()) {
				continue
			}
			if wanted[kind] == nil {
				wanted[kind] = map[types.UID]ruleSource{}
			}
			wanted[kind][source.uid] = source
		}
	}
	return wanted
}

// covers tells whether nothing of a check is left to do for now.
func (t *typeChecks) covers(check *typeCheck, now time.Time) bool {
	cluster := t.clusters[check.key]
	if cluster == nil || !now.Before(cluster.until) {
		return false
	}
	if cluster.failed {
		return true
	}
	for kind, sets := range check.sets {
		if !cluster.groups[kind.Group] {
			return false
		}
		hash, ok := cluster.hashes[kind.GroupVersion()]
		for uid, source := range sets {
			if set := t.sets[uid]; ok && !set.has(source.generation, schemaKey{check.key.cluster.Namespace, kind, hash}) {
				return false
			}
		}
	}
	return true
}

func (s *checkedSet) has(generation int64, key schemaKey) bool {
	if s == nil || s.generation != generation {
		return false
	}
	_, ok := s.found[key]
	return ok
}

// verdict is what was found of a set with a schema.
func (t *typeChecks) verdict(source ruleSource, key schemaKey) (verdict, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if set := t.sets[source.uid]; set.has(source.generation, key) {
		return set.found[key], true
	}
	return verdict{}, false
}

// groups are those whose schemas are to be looked for in a cluster: those of a check, and those of
// the checks before, for which they still count.
func (t *typeChecks) groups(check *typeCheck) map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	groups := map[string]bool{}
	if cluster := t.clusters[check.key]; cluster != nil {
		maps.Copy(groups, cluster.groups)
	}
	for kind := range check.sets {
		groups[kind.Group] = true
	}
	return groups
}

// miss notes that a cluster could not be asked what it publishes. What is known of it stands.
func (t *typeChecks) miss(check *typeCheck, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begin()
	cluster := &published{until: now.Add(typeCheckPause), failed: true}
	if before := t.clusters[check.key]; before != nil {
		cluster.groups, cluster.hashes = before.groups, before.hashes
	}
	t.clusters[check.key] = cluster
}

func (t *typeChecks) begin() {
	if t.clusters == nil {
		t.clusters, t.sets = map[clusterKey]*published{}, map[types.UID]*checkedSet{}
	}
}

// learn takes over what a check found, and what the cluster publishes; failed is that not all of
// it could be read.
func (t *typeChecks) learn(check *typeCheck, cluster *published, found map[types.UID]map[schemaKey]verdict, failed bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begin()
	cluster.until, cluster.failed = now.Add(typeCheckInterval), failed
	if failed {
		cluster.until = now.Add(typeCheckPause)
	}
	t.clusters[check.key] = cluster
	for key, one := range t.clusters {
		if now.Sub(one.until) > typeCheckInterval {
			delete(t.clusters, key) // nothing there has rules any more
		}
	}
	for uid, source := range check.sources() {
		set := t.sets[uid]
		if set == nil || set.generation < source.generation {
			set = &checkedSet{generation: source.generation, rules: source.rules, found: map[schemaKey]verdict{}}
			t.sets[uid] = set
		}
		if set.generation == source.generation {
			maps.Copy(set.found, found[uid])
		}
	}
	t.conclude()
}

// sources are the rule sets that a check is about.
func (c *typeCheck) sources() map[types.UID]ruleSource {
	sources := map[types.UID]ruleSource{}
	for _, sets := range c.sets {
		maps.Copy(sources, sets)
	}
	return sources
}
