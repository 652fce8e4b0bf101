// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/render/store"
)

const (
	sideLive    = "live"
	sideDesired = "desired"
)

// diff tells how the two sides differ; by default live from desired.
func (s *Server) diff(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error) {
	from, to := cmp.Or(q["from"], sideLive), cmp.Or(q["to"], sideDesired)
	var objects []corev1alpha1.ObjectDiff
	var err error
	switch {
	case from == sideLive && to == sideLive:
		return nil, apierrors.NewBadRequest("live does not differ from live: give desired, the digest of a render or a history id on one side")
	case from == sideLive:
		objects, err = s.diffLive(ctx, release, to, false)
	case to == sideLive:
		objects, err = s.diffLive(ctx, release, from, true)
	default:
		objects, err = s.diffRenders(ctx, release, from, to)
	}
	if err != nil {
		return nil, err
	}
	diff := &corev1alpha1.ReleaseDiff{From: from, To: to, Objects: objects, Changed: len(objects) > 0}
	if diff.Objects == nil {
		diff.Objects = []corev1alpha1.ObjectDiff{}
	}
	return diff, nil
}

// diffLive compares the live objects with what applying the side would make of them; reverse:
// with the live ones on the right.
func (s *Server) diffLive(ctx context.Context, release *corev1alpha1.Release, side string, reverse bool) ([]corev1alpha1.ObjectDiff, error) {
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	want, err := s.side(ctx, release, side)
	if err != nil {
		return nil, err
	}
	objects := planned(want)
	result := make([]corev1alpha1.ObjectDiff, len(objects))
	look, err := s.look(ctx, release, target, want)
	if err != nil {
		return nil, err
	}
	if err := look.each(ctx, objects, func(i int, outcome compare.Outcome) (int, error) {
		if outcome.Action == corev1alpha1.ActionUnchanged {
			return 0, nil
		}
		var err error
		result[i], err = diffOf(objects[i], outcome, reverse)
		return len(result[i].Unified) + weightOf(nil, result[i].Changes), err
	}); err != nil {
		return nil, err
	}
	result = slices.DeleteFunc(result, func(one corev1alpha1.ObjectDiff) bool { return one.Action == "" })
	deletions, err := s.deletions(ctx, release, target, want)
	if err != nil {
		return nil, err
	}
	for _, deletion := range deletions {
		if deletion.Action == corev1alpha1.ActionDelete {
			result = append(result, corev1alpha1.ObjectDiff{
				ObjectKey: deletion.ObjectKey, Action: turned(deletion.Action, reverse), Message: deletion.Message,
			})
		}
	}
	return result, nil
}

// diffOf is how an object differs from the live one, which is on the left, or on the right.
func diffOf(object plannedObject, outcome compare.Outcome, reverse bool) (corev1alpha1.ObjectDiff, error) {
	one := corev1alpha1.ObjectDiff{
		ObjectKey: object.Key(), Action: turned(outcome.Action, reverse), Changes: outcome.Changes,
		Message: outcome.Message, Reason: outcome.Reason,
	}
	if outcome.Result == nil {
		if reverse {
			one.Changes = nil // they say what a sync would change
		}
		return one, nil
	}
	var left, right map[string]any
	if outcome.Live != nil {
		left = outcome.Live.Object
	}
	right = outcome.Result.Object
	if reverse {
		left, right = right, left
		one.Changes = turnedChanges(outcome, left, right)
	}
	var err error
	one.Changes = compare.WithParents(left, one.Changes)
	one.Unified, err = compare.Unified(left, right)
	return one, err
}

// turned is an action seen from the other side.
func turned(action corev1alpha1.ObjectAction, reverse bool) corev1alpha1.ObjectAction {
	switch {
	case reverse && action == corev1alpha1.ActionCreate:
		return corev1alpha1.ActionDelete
	case reverse && action == corev1alpha1.ActionDelete:
		return corev1alpha1.ActionCreate
	}
	return action
}

// turnedChanges are the changes of an outcome in the other direction: the same fields, with
// the same managers, whose values are masked for their new sides.
func turnedChanges(outcome compare.Outcome, left, right map[string]any) []corev1alpha1.FieldChange {
	managers := map[string]string{}
	for _, change := range outcome.Changes {
		managers[change.Path] = change.Manager
	}
	if left == nil || right == nil {
		return nil
	}
	var changes []corev1alpha1.FieldChange
	for _, change := range compare.Fields(left, right) {
		if manager, ok := managers[change.Path]; ok {
			change.Manager = manager
			changes = append(changes, change)
		}
	}
	return changes
}

// diffRenders compares two renders; no cluster is asked about objects.
func (s *Server) diffRenders(ctx context.Context, release *corev1alpha1.Release, from, to string) ([]corev1alpha1.ObjectDiff, error) {
	left, err := s.side(ctx, release, from)
	if err != nil {
		return nil, err
	}
	right, err := s.side(ctx, release, to)
	if err != nil {
		return nil, err
	}
	before := map[corev1alpha1.ObjectKey]plannedObject{}
	for _, object := range planned(left) {
		before[unversioned(object.Key())] = object
	}
	type pair struct{ from, to plannedObject }
	var pairs []pair
	for _, object := range planned(right) {
		old, ok := before[unversioned(object.Key())]
		delete(before, unversioned(object.Key()))
		if !ok || old.Digest != object.Digest {
			pairs = append(pairs, pair{old, object})
		}
	}
	for _, object := range planned(left) {
		if _, gone := before[unversioned(object.Key())]; gone {
			pairs = append(pairs, pair{from: object})
		}
	}
	var result []corev1alpha1.ObjectDiff
	size := 0
	for _, objects := range pairs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		one, err := diffPair(objects.from, objects.to)
		if err != nil {
			return nil, err
		}
		if size += len(one.Unified) + weightOf(nil, one.Changes); size > maxAnswer {
			return nil, tooLong()
		}
		result = append(result, one)
	}
	return result, nil
}

// diffPair compares two renders of one object; either may be absent.
func diffPair(from, to plannedObject) (corev1alpha1.ObjectDiff, error) {
	one := corev1alpha1.ObjectDiff{Action: corev1alpha1.ActionUpdate}
	var left, right map[string]any
	if from.Object.Object != nil {
		one.ObjectKey, left = from.Key(), from.Object.Object.Object
	} else {
		one.Action = corev1alpha1.ActionCreate
	}
	if to.Object.Object != nil {
		one.ObjectKey, right = to.Key(), to.Object.Object.Object
	} else {
		one.Action = corev1alpha1.ActionDelete
	}
	if left != nil && right != nil {
		one.Changes = compare.WithParents(left, compare.Fields(left, right))
	}
	var err error
	one.Unified, err = compare.Unified(left, right)
	return one, err
}

// side finds one side of a comparison that is not live.
func (s *Server) side(ctx context.Context, release *corev1alpha1.Release, name string) (*desired.Desired, error) {
	if name != sideDesired {
		return s.past(ctx, release, name)
	}
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	return s.Desired.Current(ctx, release, target)
}

// past finds a past render by its digest or by a history id. It is read from the store
// where there is one, with source and cluster gone too, and otherwise made again.
func (s *Server) past(ctx context.Context, release *corev1alpha1.Release, name string) (*desired.Desired, error) {
	entry, err := historyEntry(release, name)
	if err != nil {
		return nil, err
	}
	stored, err := s.Desired.Stored(ctx, release, entry.Render)
	if err == nil || !errors.Is(err, desired.ErrNotReproducible) && !errors.Is(err, store.ErrNotFound) {
		return stored, err
	}
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	return s.Desired.Past(ctx, release, target, entry.Revision, entry.Render)
}

// historyEntry finds what somebody calls a past render. What is applied counts as past,
// also when the history is kept too short for it.
func historyEntry(release *corev1alpha1.Release, name string) (*corev1alpha1.HistoryEntry, error) {
	_, idErr := strconv.ParseInt(name, 10, 64)
	if idErr != nil && !strings.Contains(name, ":") {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%q is neither live, desired, the digest of a render nor a history id", name))
	}
	for i := range release.Status.History {
		entry := &release.Status.History[i]
		if entry.Render == name || strconv.FormatInt(entry.ID, 10) == name {
			return entry, nil
		}
	}
	if applied := release.Status.Applied; applied != nil && applied.Render == name {
		return &corev1alpha1.HistoryEntry{Revision: applied.Revision, Render: name, Outcome: corev1alpha1.OutcomeApplied, At: applied.At}, nil
	}
	return nil, apierrors.NewNotFound(corev1alpha1.Resource("releases/history"), name)
}
