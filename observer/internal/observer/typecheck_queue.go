// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

const (
	// typeChecksAtOnce is how many targets are checked at a time, and typeChecksOfNamespace how
	// many of one namespace: whoever has targets that hang waits for them alone.
	typeChecksAtOnce      = 8
	typeChecksOfNamespace = 2
)

// enqueue adds a check to what waits for the same cluster.
func (t *typeChecks) enqueue(check *typeCheck) {
	for _, waiting := range t.waiting {
		if waiting.key != check.key {
			continue
		}
		for kind, sets := range check.sets {
			if waiting.sets[kind] == nil {
				waiting.sets[kind] = map[types.UID]ruleSource{}
			}
			maps.Copy(waiting.sets[kind], sets)
		}
		return
	}
	t.waiting = append(t.waiting, check)
}

// next takes the first check that may begin, nil when none may.
func (t *typeChecks) next() *typeCheck {
	if len(t.working) >= typeChecksAtOnce {
		return nil
	}
	ofNamespace := map[string]int{}
	for key := range t.working {
		ofNamespace[key.cluster.Namespace]++
	}
	for i, check := range t.waiting {
		if t.working[check.key] || ofNamespace[check.key.cluster.Namespace] >= typeChecksOfNamespace {
			continue
		}
		t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
		if t.working == nil {
			t.working = map[clusterKey]bool{}
		}
		t.working[check.key] = true
		return check
	}
	return nil
}

// startTypeChecks begins the checks that may begin, each in a goroutine of its own. The lock is
// held by the caller.
func (c *HealthController) startTypeChecks(ctx context.Context) {
	known := &c.Rules.types
	for check := known.next(); check != nil; check = known.next() {
		go func() {
			c.tryTypeCheck(ctx, check)
			known.mu.Lock()
			defer known.mu.Unlock()
			delete(known.working, check.key)
			c.startTypeChecks(ctx)
		}()
	}
}

// tryTypeCheck makes a check. What goes wrong, a panic in a library that reads what the target
// publishes too, goes to the log, and the target is left in peace for a while.
func (c *HealthController) tryTypeCheck(ctx context.Context, check *typeCheck) {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "Cluster", klog.KRef(check.key.cluster.Namespace, check.key.cluster.Name))
	defer func() {
		if cause := recover(); cause != nil {
			c.Rules.types.miss(check, c.Clock.Now())
			// What it says may quote the schema.
			logger.Error(nil, "Holding rules of health against the schemas of a cluster panicked", "type", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
		}
	}()
	if err := c.makeTypeCheck(ctx, check); err != nil {
		logger.V(1).Info("Rules of health not held against the schemas of a cluster", "err", err)
	}
}
