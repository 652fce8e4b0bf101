// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/observer/internal/compare"
)

// judgement is the health of an object as it was at one resourceVersion. There is one for each
// object, so that it has to be small, and keeps nothing of the inventory: of that there is another
// one each time it is written.
type judgement struct {
	// object is the fingerprint of the entry without what an apply changes, entry that of all.
	object, entry uint64
	version       string
	*assessment
}

// assessment is what was found of an object. Those of which the same was found share it.
type assessment struct {
	rules string
	health.Result
	// leaving is true for an object that is being deleted.
	leaving bool
	// served is false when the cluster does not serve the object's kind.
	served bool
	// err is why the object could not be read.
	err error
	// until is when what was told of what lies beside the object, or by an earlier process, is to be
	// asked for anew; zero: nothing was.
	until time.Time
}

// assessments are those of one pass.
type assessments map[assessment]*assessment

// one gives an equal assessment that was there before, else this one.
func (a assessments) one(found assessment) *assessment {
	if found.err == nil { // otherwise it may not be comparable
		if known, ok := a[found]; ok {
			return known
		}
	}
	kept := new(assessment)
	*kept = found
	if found.err == nil {
		a[found] = kept
	}
	return kept
}

// judged is the health of the entries of one generation of an inventory. It is not changed
// once it is made.
type judged struct {
	inventory  types.UID
	generation int64
	results    []judgement
	// unserved counts the passes in a row in which the kind of an applied object was not
	// served.
	unserved int
}

// finder finds one of all by its key, for who has something in the same order: the entries of an
// inventory, or another generation of them. These seldom change in more than what is said of them, so
// that the place of one is where it was; no index is kept for the rest.
func finder[T any, K comparable](all []T, keyOf func(*T) K) func(i int, key K) (T, bool) {
	index := sync.OnceValue(func() map[K]int {
		places := make(map[K]int, len(all))
		for i := range all {
			places[keyOf(&all[i])] = i
		}
		return places
	})
	return func(i int, key K) (T, bool) {
		if i < len(all) && keyOf(&all[i]) == key {
			return all[i], true
		}
		if i, ok := index()[key]; ok {
			return all[i], true
		}
		var none T
		return none, false
	}
}

// objectOf is the fingerprint of an entry without what an apply changes.
func objectOf(entry corev1alpha1.InventoryEntry) uint64 {
	entry.Digest, entry.ResourceVersion = "", ""
	return fingerprint(entry)
}

// judge gives the health of every entry, in their order.
//
// What is known of an object stands as long as it can be seen that nothing changed; see
// judged.stands.
func (c *HealthController) judge(ctx context.Context, release *corev1alpha1.Release, inventory *corev1alpha1.ReleaseInventory,
	around *surroundings, reader *compare.Comparer,
) judged {
	before := c.remembered(nameOf(release), inventory.Name)
	if before.inventory != inventory.UID || before.generation > inventory.Generation {
		before.results = nil
	}
	noneBetween := before.generation >= inventory.Generation-1
	assessor, rules := c.Rules.For(release)
	entries := inventory.Spec.Entries
	results, said := make([]judgement, len(entries)), assessments{}
	at, since := c.Clock.Now(), c.unwell(inventory)
	find := finder(before.results, func(one *judgement) uint64 { return one.object })
	earlier, trusted := told(inventory, before), at.Add(trust+rand.N(trust))
	var places []int
	var keys []corev1alpha1.ObjectKey
	for i := range entries {
		entry, one := &entries[i], &results[i]
		one.object, one.entry = objectOf(*entry), fingerprint(*entry)
		if neverApplied(*entry) {
			one.assessment = said.one(assessment{served: true, Result: health.Result{
				Status: corev1alpha1.HealthMissing, Message: whyNotApplied(release), Rule: "inventory",
			}})
			continue
		}
		old, ok := find(i, one.object)
		version, seen := c.version(ctx, around.target, entry.ObjectKey)
		if ok && seen && old.err == nil && old.version == version && old.rules == rules && old.counts(at) && old.stands(entry, one.entry, noneBetween) {
			one.version, one.assessment = version, said.one(*old.assessment)
			continue
		}
		if result, ok := existing(assessor, entry, version, seen); ok {
			one.version, one.assessment = version, said.one(assessment{rules: rules, served: true, Result: result})
			continue
		}
		if result, ok := wasHealthy(assessor, entry, earlier(i), version, seen); ok {
			one.version, one.assessment = version, said.one(assessment{rules: rules, served: true, Result: result, until: trusted})
			continue
		}
		places, keys = append(places, i), append(keys, entry.ObjectKey)
	}
	reader.Each(ctx, keys, func(n int, live *unstructured.Unstructured) {
		one := &results[places[n]]
		one.version, one.assessment = read(ctx, reader, assessor, around, &entries[places[n]], live, func() time.Time { return since(places[n]) })
		one.rules = rules
	})
	now := judged{inventory: inventory.UID, generation: inventory.Generation, results: results}
	for i := range results {
		results[i].assessment = said.one(*results[i].assessment)
		if !results[i].served && entries[i].UID != "" {
			now.unserved = before.unserved + 1
		}
	}
	return now
}

// counts tells whether what a judgement knows of what lies beside the object still does.
func (a assessment) counts(now time.Time) bool { return a.until.IsZero() || now.Before(a.until) }

// unwell tells since when an object is on its way or worse, as it was last written; now if it
// was not so far.
func (c *HealthController) unwell(inventory *corev1alpha1.ReleaseInventory) func(i int) time.Time {
	before := written(inventory)
	return func(i int) time.Time {
		one, _ := before(i, inventory.Spec.Entries[i].ObjectKey)
		if one.Since != nil && (one.Status == corev1alpha1.HealthProgressing || one.Status == corev1alpha1.HealthDegraded) {
			return one.Since.Time
		}
		return c.Clock.Now()
	}
}

// stands tells whether a judgement of the object of an entry, with the fingerprint now, counts for
// what the entry is by now, when the object has the same version in its watch. Before an object is
// applied its entry loses its digest, and has it again afterwards, while the watch may be late.
// Without its digest, nobody counts on the judgement. With it, the entry has the version at which
// the object was applied; if the object has another one since, as those do that controllers write
// to, the entry must be the same and no generation of the inventory lie between: then it was judged
// anew when it got its digest back.
func (j judgement) stands(entry *corev1alpha1.InventoryEntry, now uint64, noneBetween bool) bool {
	return entry.Digest == "" || entry.ResourceVersion == j.version || noneBetween && j.entry == now
}

// neverApplied tells an entry that was written ahead of its object, which was not applied so
// far. What the cluster has of that name, if anything, is not the Release's.
func neverApplied(entry corev1alpha1.InventoryEntry) bool {
	return entry.UID == "" && entry.Digest == ""
}

// whyNotApplied says of a Release why an object in its inventory was never applied.
func whyNotApplied(release *corev1alpha1.Release) string {
	if release.Status.Rollback != nil && !incomplete(release) {
		return "left out of the rollback: another Release has it, and gives it back when it has it no more"
	}
	return "not applied yet"
}

// existing judges an object of a kind that is well by existing, when its watch has it as it was
// applied. Nothing of it needs to be read.
func existing(assessor *health.Assessor, entry *corev1alpha1.InventoryEntry, version string, seen bool) (health.Result, bool) {
	if !seen || version == "" || version != entry.ResourceVersion {
		return health.Result{}, false
	}
	return assessor.Existing(schema.GroupKind{Group: entry.Group, Kind: entry.Kind})
}

// trust is for how long, and up to twice that, a judgement counts that an earlier process made: it may have
// judged by other rules.
const trust = time.Hour

// told finds what an earlier process wrote of the entry at a place, for a process that knows nothing of them
// yet; the zero value when that was of another generation of the inventory.
func told(inventory *corev1alpha1.ReleaseInventory, before judged) func(i int) corev1alpha1.ObjectHealth {
	if before.results != nil || inventory.Status.ObservedGeneration != inventory.Generation {
		return func(int) corev1alpha1.ObjectHealth { return corev1alpha1.ObjectHealth{} }
	}
	find := written(inventory)
	return func(i int) corev1alpha1.ObjectHealth {
		one, _ := find(i, inventory.Spec.Entries[i].ObjectKey)
		return one
	}
}

// wasHealthy gives the judgement that an earlier process wrote of an object, told, which knew the entry as it
// is: when the watch has the object as it was applied, it was judged in that version, and what is built in
// judges healthy by the object alone. Nothing of it needs to be read.
func wasHealthy(assessor *health.Assessor, entry *corev1alpha1.InventoryEntry, told corev1alpha1.ObjectHealth, version string, seen bool) (health.Result, bool) {
	rule, ok := assessor.Builtin(schema.GroupKind{Group: entry.Group, Kind: entry.Kind})
	if !ok || !seen || version == "" || version != entry.ResourceVersion || told.Status != corev1alpha1.HealthHealthy {
		return health.Result{}, false
	}
	return health.Result{Status: told.Status, Message: told.Message, Rule: rule}, true
}

// read judges an object as it is now; live is nil when it was not listed. since tells since when
// it is not well.
func read(ctx context.Context, reader *compare.Comparer, assessor *health.Assessor, around *surroundings,
	entry *corev1alpha1.InventoryEntry, live *unstructured.Unstructured, since func() time.Time,
) (version string, found *assessment) {
	var err error
	served := true
	if live == nil {
		live, served, err = reader.Live(ctx, corev1alpha1.ObjectUID{ObjectKey: entry.ObjectKey, UID: entry.UID})
		err = around.target.Blame(err)
	}
	result := &assessment{served: served, err: err}
	switch {
	case err != nil:
		result.Result = health.Result{Status: corev1alpha1.HealthUnknown, Message: err.Error(), Rule: "read"}
	case !served:
		result.Result = health.Result{Status: corev1alpha1.HealthMissing, Message: "the cluster does not serve its kind", Rule: "read"}
	default:
		result.Result = assessor.AssessIn(live, around.of(ctx, live, since, &result.until))
		result.leaving = live != nil && live.GetDeletionTimestamp() != nil
	}
	return versionOf(live), result
}

func versionOf(live *unstructured.Unstructured) string {
	if live == nil {
		return ""
	}
	return live.GetResourceVersion()
}

// unservedRetry is when a kind that was applied and is not served is first asked for again.
const unservedRetry = 3 * time.Second

// next is when to look again if nothing happens: soon after a failure, soon at first when a
// kind is not served yet, and when what lies beside an object is to be looked at anew.
func (j judged) next(now time.Time, resync time.Duration) time.Duration {
	for _, result := range j.results {
		if result.err != nil {
			resync = min(resync, retryInterval)
		}
		if !result.until.IsZero() {
			resync = min(resync, untilFrom(now, result.until))
		}
	}
	if j.unserved > 0 {
		resync = min(resync, unservedRetry<<min(j.unserved-1, 10))
	}
	return resync
}

// untilFrom is how long it is until then; never nothing, which would mean never.
func untilFrom(now, then time.Time) time.Duration { return max(then.Sub(now), time.Millisecond) }

// unreachable is the health of every entry when the target cannot be asked: never the last
// known one. It counts as a judgement on the present inventory, lest nobody learn why there
// is none; whoever waits for health waits for another one than unknown.
func unreachable(inventory *corev1alpha1.ReleaseInventory, err error) []judgement {
	results := make([]judgement, len(inventory.Spec.Entries))
	all := &assessment{Result: health.Result{Status: corev1alpha1.HealthUnknown, Message: err.Error(), Rule: "connection"}}
	for i := range results {
		results[i].assessment = all
	}
	return results
}
