// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/observer/internal/compare"
)

// judgement is the health of an object as it was at one resourceVersion.
type judgement struct {
	// entry is shared with the inventory.
	entry   *corev1alpha1.InventoryEntry
	version string
	rules   string
	health.Result
	// leaving is true for an object that is being deleted.
	leaving bool
	// served is false when the cluster does not serve the object's kind.
	served bool
	// err is why the object could not be read.
	err error
	// until is when what was told of what lies beside the object is to be asked for anew; zero:
	// nothing was.
	until time.Time
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

// finder finds judgements by the identity of their entries. Inventories seldom change in more
// than what is said of their entries, so that the place of one is where it was; no index is
// kept for the rest.
func (j judged) finder() func(i int, key corev1alpha1.ObjectKey) (judgement, bool) {
	index := sync.OnceValue(func() map[corev1alpha1.ObjectKey]int {
		places := make(map[corev1alpha1.ObjectKey]int, len(j.results))
		for i, one := range j.results {
			places[identity(one.entry.ObjectKey)] = i
		}
		return places
	})
	return func(i int, key corev1alpha1.ObjectKey) (judgement, bool) {
		if i < len(j.results) && identity(j.results[i].entry.ObjectKey) == identity(key) {
			return j.results[i], true
		}
		i, ok := index()[identity(key)]
		if !ok {
			return judgement{}, false
		}
		return j.results[i], true
	}
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
	results := make([]judgement, len(entries))
	at, since := c.Clock.Now(), c.unwell(inventory)
	find := before.finder()
	var places []int
	var keys []corev1alpha1.ObjectKey
	for i := range entries {
		entry := &entries[i]
		if neverApplied(*entry) {
			results[i] = judgement{entry: entry, served: true, Result: health.Result{
				Status: corev1alpha1.HealthMissing, Message: "not applied yet", Rule: "inventory",
			}}
			continue
		}
		old, ok := find(i, entry.ObjectKey)
		version, seen := c.version(ctx, around.target, entry.ObjectKey)
		if ok && seen && old.err == nil && old.version == version && old.rules == rules && old.counts(at) && old.stands(entry, noneBetween) {
			results[i] = old
			results[i].entry = entry
			continue
		}
		if results[i], ok = existing(assessor, entry, version, seen); !ok {
			places, keys = append(places, i), append(keys, entry.ObjectKey)
		}
		results[i].rules = rules
	}
	reader.Each(ctx, keys, func(n int, live *unstructured.Unstructured) {
		i := places[n]
		results[i] = read(ctx, reader, assessor, around, &entries[i], live, since)
		results[i].rules = rules
	})
	now := judged{inventory: inventory.UID, generation: inventory.Generation, results: results}
	for _, result := range results {
		if !result.served && result.entry.UID != "" {
			now.unserved = before.unserved + 1
		}
	}
	return now
}

// counts tells whether what a judgement knows of what lies beside the object still does.
func (j judgement) counts(now time.Time) bool { return j.until.IsZero() || now.Before(j.until) }

// unwell tells since when an object is on its way or worse, as it was last written; now if it
// was not so far.
func (c *HealthController) unwell(inventory *corev1alpha1.ReleaseInventory) func(entry *corev1alpha1.InventoryEntry) time.Time {
	written := sync.OnceValue(func() map[corev1alpha1.ObjectKey]corev1alpha1.ObjectHealth { return healthOf(inventory) })
	return func(entry *corev1alpha1.InventoryEntry) time.Time {
		one := written()[identity(entry.ObjectKey)]
		if one.Since != nil && (one.Status == corev1alpha1.HealthProgressing || one.Status == corev1alpha1.HealthDegraded) {
			return one.Since.Time
		}
		return c.Clock.Now()
	}
}

// stands tells whether a judgement counts for what the entry is by now, when the object has the
// same version in its watch. Before an object is applied its entry loses its digest, and has it
// again afterwards, while the watch may be late. Without its digest, nobody counts on the
// judgement. With it, the entry has the version at which the object was applied; if the
// object has another one since, as those do that controllers write to, the entry must be
// the same and no generation of the inventory lie between: then it was judged anew when it got
// its digest back.
func (j judgement) stands(entry *corev1alpha1.InventoryEntry, noneBetween bool) bool {
	was := *j.entry
	was.Digest, was.ResourceVersion = entry.Digest, entry.ResourceVersion
	if was != *entry {
		return false
	}
	return entry.Digest == "" || entry.ResourceVersion == j.version || noneBetween && *j.entry == *entry
}

// neverApplied tells an entry that was written ahead of its object, which was not applied so
// far. What the cluster has of that name, if anything, is not the Release's.
func neverApplied(entry corev1alpha1.InventoryEntry) bool {
	return entry.UID == "" && entry.Digest == ""
}

// existing judges an object of a kind that is well by existing, when its watch has it as it was
// applied. Nothing of it needs to be read.
func existing(assessor *health.Assessor, entry *corev1alpha1.InventoryEntry, version string, seen bool) (judgement, bool) {
	if !seen || version == "" || version != entry.ResourceVersion {
		return judgement{}, false
	}
	result, ok := assessor.Existing(schema.GroupKind{Group: entry.Group, Kind: entry.Kind})
	return judgement{entry: entry, version: version, served: true, Result: result}, ok
}

// read judges an object as it is now; live is nil when it was not listed. since tells since when
// it is not well.
func read(ctx context.Context, reader *compare.Comparer, assessor *health.Assessor, around *surroundings,
	entry *corev1alpha1.InventoryEntry, live *unstructured.Unstructured, since func(*corev1alpha1.InventoryEntry) time.Time,
) judgement {
	var err error
	served := true
	if live == nil {
		live, served, err = reader.Live(ctx, corev1alpha1.ObjectUID{ObjectKey: entry.ObjectKey, UID: entry.UID})
		err = around.target.Blame(err)
	}
	result := judgement{entry: entry, version: versionOf(live), served: served, err: err}
	switch {
	case err != nil:
		result.Result = health.Result{Status: corev1alpha1.HealthUnknown, Message: err.Error(), Rule: "read"}
	case !served:
		result.Result = health.Result{Status: corev1alpha1.HealthMissing, Message: "the cluster does not serve its kind", Rule: "read"}
	default:
		result.Result = assessor.AssessIn(live, around.of(ctx, live, func() time.Time { return since(entry) }, &result.until))
		result.leaving = live != nil && live.GetDeletionTimestamp() != nil
	}
	return result
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
	for i := range results {
		results[i].Result = health.Result{Status: corev1alpha1.HealthUnknown, Message: err.Error(), Rule: "connection"}
	}
	return results
}
