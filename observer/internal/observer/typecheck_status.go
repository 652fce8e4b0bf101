// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
)

const (
	// conditionMistyped of a rule set is True while a rule asks of its objects what no known
	// schema of their kind has. It is not there else.
	conditionMistyped = "Mistyped"
	// reasonNotInSchema is its reason.
	reasonNotInSchema = "NotInSchema"

	// othersCount is how long it stands what another process has found: each knows the clusters
	// of its own shards.
	othersCount = 24 * time.Hour
)

// tellTypes says in the status of a rule set what was found of its types, or takes back what this
// process said.
func (c *HealthController) tellTypes(ctx context.Context, source ruleSource) error {
	known := &c.Rules.types
	conditions, generation, err := c.conditionsOf(source)
	if err != nil || generation != source.generation {
		return ignoreNotFound(err)
	}
	said := typesSaid{before: known.told(source), now: known.message(source), at: c.Clock.Now()}
	if said.in(&conditions, source.generation) {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return c.writeTypes(ctx, source, said) })
		if err != nil {
			return ignoreNotFound(fmt.Errorf("status of %s %s: %w", source.kind, source.name, err))
		}
	}
	known.tell(source, said.now)
	return nil
}

// message is what is wrong with the rules of a set, "" when nothing is. One without a namespace is
// read by people who may not read what clusters of namespaces publish.
func (t *typeChecks) message(source ruleSource) string {
	if source.kind == kindGlobalRuleSet {
		if summary := t.summary(source); summary != "" {
			return shorten(adviceOnTypes + summary)
		}
		return ""
	}
	texts := t.doubts(source, source.namespace).texts
	if len(texts) == 0 {
		return ""
	}
	var all []string
	for _, rule := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, fmt.Sprintf("rule %q: %s", rule, texts[rule]))
	}
	return shorten(adviceOnTypes + strings.Join(all, "; "))
}

const adviceOnTypes = "correct the rule, or read with dyn() what objects have nevertheless: "

// told is what this process last said of a set.
func (t *typeChecks) told(source ruleSource) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if set := t.sets[source.uid]; set != nil {
		return set.told
	}
	return ""
}

func (t *typeChecks) tell(source ruleSource, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if set := t.sets[source.uid]; set != nil {
		set.told = message
	}
}

// typesSaid is what this process says of the types of a rule set.
type typesSaid struct {
	before, now string
	at          time.Time
}

// in brings the conditions of a set in line with what is said, and tells whether they changed.
// What another process says of the same generation is left for a day.
func (s typesSaid) in(conditions *[]metav1.Condition, generation int64) bool {
	known := meta.FindStatusCondition(*conditions, conditionMistyped)
	if known != nil && known.ObservedGeneration == generation {
		mine := known.Message == s.before || known.Message == s.now
		if !mine && s.at.Sub(known.LastTransitionTime.Time) < othersCount {
			return false
		}
	}
	if s.now == "" {
		return meta.RemoveStatusCondition(conditions, conditionMistyped)
	}
	if known != nil && known.Message != s.now {
		meta.RemoveStatusCondition(conditions, conditionMistyped) // the time is that of the message
	}
	return meta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionMistyped, Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: reasonNotInSchema, Message: s.now, LastTransitionTime: metav1.NewTime(s.at),
	})
}

// conditionsOf gives the conditions of a rule set as the informer has it, the caller's to change.
func (c *HealthController) conditionsOf(source ruleSource) ([]metav1.Condition, int64, error) {
	if source.kind == kindGlobalRuleSet {
		set, err := c.Rules.Global.Get(source.name)
		if err != nil {
			return nil, 0, err
		}
		return slices.Clone(set.Status.Conditions), set.Generation, nil
	}
	set, err := c.Rules.Sets.HealthRuleSets(source.namespace).Get(source.name)
	if err != nil {
		return nil, 0, err
	}
	return slices.Clone(set.Status.Conditions), set.Generation, nil
}

// writeTypes writes what is to be said into the rule set as it is at the host.
func (c *HealthController) writeTypes(ctx context.Context, source ruleSource, said typesSaid) error {
	change := func(object metav1.Object, status *extv1alpha1.HealthRuleSetStatus) bool {
		return object.GetUID() == source.uid && object.GetGeneration() == source.generation &&
			said.in(&status.Conditions, source.generation)
	}
	if source.kind == kindGlobalRuleSet {
		client := c.Client.ExtensionsV1alpha1().GlobalHealthRuleSets()
		set, err := client.Get(ctx, source.name, metav1.GetOptions{})
		if err != nil || !change(set, &set.Status) {
			return err
		}
		_, err = client.UpdateStatus(ctx, set, metav1.UpdateOptions{})
		return err
	}
	client := c.Client.ExtensionsV1alpha1().HealthRuleSets(source.namespace)
	set, err := client.Get(ctx, source.name, metav1.GetOptions{})
	if err != nil || !change(set, &set.Status) {
		return err
	}
	_, err = client.UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}
