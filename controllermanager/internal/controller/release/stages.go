// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// stage is the objects that are applied at once.
type stage struct {
	number  int32
	objects []render.Object
}

// stagesOf gives the stages of a render, which has its objects in order of stage. What needs
// another object of the render comes after it, whatever its stage is: a custom resource after
// its definition, and everything in a namespace after that.
func stagesOf(objects []render.Object) []stage {
	needed := neededStages(objects)
	byNumber := map[int32][]render.Object{}
	for _, object := range objects {
		number := object.Stage
		for _, need := range []prerequisite{definitionOf(object), namespaceOf(object)} {
			if at, ok := needed[need]; ok && at >= number {
				number = at + 1
			}
		}
		byNumber[number] = append(byNumber[number], object)
	}
	var stages []stage
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		stages = append(stages, stage{number: number, objects: byNumber[number]})
	}
	return stages
}

// prerequisite is what objects of a render need: a kind that is defined, or a namespace.
type prerequisite struct {
	kind      schema.GroupKind
	namespace string
}

func definitionOf(object render.Object) prerequisite {
	return prerequisite{kind: object.Object.GroupVersionKind().GroupKind()}
}

func namespaceOf(object render.Object) prerequisite {
	return prerequisite{namespace: object.Object.GetNamespace()}
}

// neededStages gives the stages in which a render brings what others of its objects need.
func neededStages(objects []render.Object) map[prerequisite]int32 {
	stages := map[prerequisite]int32{}
	for _, object := range objects {
		if gives, ok := given(object); ok {
			stages[gives] = object.Stage
		}
	}
	return stages
}

// given is what others may need of an object; ok is false when that is nothing.
func given(object render.Object) (gives prerequisite, ok bool) {
	switch object.Object.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		return prerequisite{namespace: object.Object.GetName()}, true
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		group, _, _ := unstructured.NestedString(object.Object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(object.Object.Object, "spec", "names", "kind")
		return prerequisite{kind: schema.GroupKind{Group: group, Kind: kind}}, true
	}
	return prerequisite{}, false
}

// applyStages applies what differs from what was applied last, stage by stage. A stage
// that has something to apply begins when the objects of those before it are healthy, all
// of them, whether or not they changed.
func (c *Controller) applyStages(ctx context.Context, s *scope) outcome {
	stages := stagesOf(s.result.Objects)
	c.await(s)
	if len(s.leftOut) > 0 {
		c.await(s, ownersOf(s.leftOut)...)
	}
	for i, stage := range stages {
		due := inventory.Changed(s.entries(), stage.objects)
		if len(due) == 0 {
			continue
		}
		for _, before := range stages[:i] {
			if out := c.awaitHealthy(ctx, s, before.objects, fmt.Sprintf("stage %d", before.number), corev1alpha1.ReasonWaitingForStage); out.kind != proceeds {
				return out
			}
		}
		if out := c.applyBatch(ctx, s, due); out.kind != proceeds {
			if left := s.dueIn(stages[i+1:]); out.kind == fails && left > 0 {
				out.message += "; " + laterStages(left)
			}
			return out
		}
	}
	return next()
}

func laterStages(n int) string {
	if n == 1 {
		return "1 object of a later stage was not tried"
	}
	return fmt.Sprintf("%d objects of later stages were not tried", n)
}

// dueIn counts the objects of stages that were not applied as they are desired.
func (s *scope) dueIn(stages []stage) int {
	n := 0
	for _, stage := range stages {
		n += len(inventory.Changed(s.entries(), stage.objects))
	}
	return n
}

// applyBatch applies objects at once and has the inventory of the scope say which of them are
// as desired now.
func (c *Controller) applyBatch(ctx context.Context, s *scope, objects []render.Object) outcome {
	results := s.applier.Apply(ctx, objects)
	var applied []corev1alpha1.InventoryEntry
	var failed []apply.Result
	for i, result := range results {
		if !identityRefused(result.Err) {
			delete(s.ahead, inventory.KeyOf(result.Key))
		}
		if result.Err != nil {
			c.awaitOwner(s, result.Err)
			if c.leaveOut(s, result) {
				continue
			}
			failed = append(failed, result)
			s.changes.failed++
			continue
		}
		s.changes.note(result.Action)
		applied = append(applied, entryOf(objects[i], result, ""))
	}
	if len(applied) > 0 {
		s.setEntries(inventory.Record(s.entries(), applied...))
	}
	if len(failed) > 0 {
		s.takeBack(failed)
		return failedObjects(failed, len(objects))
	}
	return next()
}

// entryOf is the entry of an object that was applied.
func entryOf(object render.Object, result apply.Result, hook string) corev1alpha1.InventoryEntry {
	return corev1alpha1.InventoryEntry{
		ObjectKey: object.Key(), UID: result.UID, Digest: object.Digest, ResourceVersion: result.ResourceVersion,
		Stage: object.Stage, Hook: hook, Keep: object.Keep, Adopted: result.Adopted,
	}
}

func failedObjects(failed []apply.Result, total int) outcome {
	out := fail(corev1alpha1.ConditionApplied, apply.Reason(failed[0].Err), failed[0].Err)
	out.soon = !slices.ContainsFunc(failed, func(result apply.Result) bool { return !apply.Retryable(result.Err) })
	out.message = listed(byCause(failed), "; ")
	if total > 1 {
		out.message = fmt.Sprintf("%d of %s failed: %s", len(failed), count(total, "object"), out.message)
	}
	return out
}

// byCause says what failed and why, and a cause that objects have in common once.
func byCause(failed []apply.Result) []string {
	type group struct {
		names []string
		text  string
	}
	var groups []*group
	byText := map[string]*group{}
	for _, result := range failed {
		text := result.Err.Error()
		// Servers quote the object's name, and nothing else tells the causes apart.
		common := strings.ReplaceAll(text, strconv.Quote(result.Key.Name), "it")
		g := byText[common]
		if g == nil {
			g = &group{text: text}
			byText[common] = g
			groups = append(groups, g)
		} else {
			g.text = common
		}
		g.names = append(g.names, objectName(result.Key))
	}
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = listed(g.names, ", ") + ": " + g.text
	}
	return texts
}

func (n *changes) note(action apply.Action) {
	switch action {
	case apply.Created, apply.Recreated:
		n.created++
	case apply.Configured:
		n.configured++
	default:
		n.unchanged++
	}
}

// awaitHealthy waits until the given objects are healthy, as the inventory's status tells
// for its present generation. what names them in the message.
func (c *Controller) awaitHealthy(ctx context.Context, s *scope, objects []render.Object, what, reason string) outcome {
	objects = slices.DeleteFunc(slices.Clone(objects), func(object render.Object) bool {
		return s.leavesOut(object.Key()) || apply.Passive(schema.GroupKind{Group: object.Key().Group, Kind: object.Key().Kind})
	})
	if len(objects) == 0 {
		return next()
	}
	if !s.healthIsCurrent() {
		s.overdue()
		return waitUnderWay(reason, fmt.Sprintf("waiting for %s: the health of %s is not known yet", what, count(len(objects), "object")), 0)
	}
	health := s.healthByKey()
	var ill []ailment
	var unknown []corev1alpha1.ObjectKey
	for _, object := range objects {
		a := ailmentOf(object.Key(), health[inventory.KeyOf(object.Key())])
		if a.severity > 0 {
			ill = append(ill, a)
		}
		if a.status == corev1alpha1.HealthUnknown {
			unknown = append(unknown, object.Key())
		}
	}
	if len(ill) == 0 {
		return next()
	}
	waiting := fmt.Sprintf("waiting for %s: %s", what, ailments(ill))
	if !s.overdue() {
		return waitUnderWay(reason, waiting, 0)
	}
	// That nobody can ask the target for their health is no failure of theirs.
	if len(unknown) == len(ill) {
		if _, err := lookUp(ctx, s.target, unknown[0]); ofConnection(err) {
			return waitUnderWay(apply.Reason(err), fmt.Sprintf("%s; looking at %s: %v", waiting, objectName(unknown[0]), err), longestSoon)
		}
	}
	out := waitUnderWay(corev1alpha1.ReasonHealthTimeout, fmt.Sprintf("%s is not healthy after %s: %s", what, timeout(s.release), ailments(ill)), 0)
	out.unjudged = len(unknown) == len(ill)
	return out
}
