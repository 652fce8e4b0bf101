// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
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
	from, to := q["from"], q["to"]
	if from == "" {
		from = sideLive
	}
	if to == "" {
		to = sideDesired
	}
	var objects []corev1alpha1.ObjectDiff
	var err error
	switch {
	case to == sideLive:
		return nil, apierrors.NewBadRequest(`to=live is not supported: give live as "from", its default`)
	case from == sideLive:
		objects, err = s.diffLive(ctx, release, to)
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

// diffLive compares the live objects with what applying the side would make of them.
func (s *Server) diffLive(ctx context.Context, release *corev1alpha1.Release, side string) ([]corev1alpha1.ObjectDiff, error) {
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	want, err := s.side(ctx, release, side)
	if err != nil {
		return nil, err
	}
	objects := planned(want)
	outcomes, err := s.compareAll(ctx, release, target, objects, want)
	if err != nil {
		return nil, err
	}
	var result []corev1alpha1.ObjectDiff
	for i, outcome := range outcomes {
		if outcome.Action == corev1alpha1.ActionUnchanged {
			continue
		}
		one, err := diffOf(objects[i], outcome)
		if err != nil {
			return nil, err
		}
		result = append(result, one)
	}
	deletions, err := s.deletions(ctx, release, target, want)
	if err != nil {
		return nil, err
	}
	for _, deletion := range deletions {
		if deletion.Action == corev1alpha1.ActionDelete {
			result = append(result, corev1alpha1.ObjectDiff{ObjectKey: deletion.ObjectKey, Action: deletion.Action, Message: deletion.Message})
		}
	}
	return result, nil
}

func diffOf(object plannedObject, outcome compare.Outcome) (corev1alpha1.ObjectDiff, error) {
	one := corev1alpha1.ObjectDiff{
		ObjectKey: object.Key(), Action: outcome.Action, Changes: outcome.Changes, Message: outcome.Message,
	}
	if outcome.Result == nil {
		return one, nil
	}
	var live map[string]any
	if outcome.Live != nil {
		live = outcome.Live.Object
	}
	var err error
	one.Unified, err = compare.Unified(live, outcome.Result.Object)
	return one, err
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
	var result []corev1alpha1.ObjectDiff
	for _, object := range planned(right) {
		old, ok := before[unversioned(object.Key())]
		delete(before, unversioned(object.Key()))
		if ok && old.Digest == object.Digest {
			continue
		}
		one, err := diffPair(object.Key(), old, object)
		if err != nil {
			return nil, err
		}
		result = append(result, one)
	}
	for _, object := range planned(left) {
		if _, gone := before[unversioned(object.Key())]; gone {
			one, err := diffPair(object.Key(), object, plannedObject{})
			if err != nil {
				return nil, err
			}
			result = append(result, one)
		}
	}
	return result, nil
}

// diffPair compares two renders of one object; either may be absent.
func diffPair(key corev1alpha1.ObjectKey, from, to plannedObject) (corev1alpha1.ObjectDiff, error) {
	one := corev1alpha1.ObjectDiff{ObjectKey: key, Action: corev1alpha1.ActionUpdate}
	var left, right map[string]any
	if from.Object.Object != nil {
		left = from.Object.Object.Object
	} else {
		one.Action = corev1alpha1.ActionCreate
	}
	if to.Object.Object != nil {
		right = to.Object.Object.Object
	} else {
		one.Action = corev1alpha1.ActionDelete
	}
	if left != nil && right != nil {
		one.Changes = compare.Fields(left, right)
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
	id, idErr := strconv.ParseInt(name, 10, 64)
	if idErr != nil && !strings.Contains(name, ":") {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%q is neither live, desired, the digest of a render nor a history id", name))
	}
	for i := range release.Status.History {
		entry := &release.Status.History[i]
		if entry.Render == name || idErr == nil && entry.ID == id {
			return entry, nil
		}
	}
	if applied := release.Status.Applied; applied != nil && applied.Render == name {
		return &corev1alpha1.HistoryEntry{Revision: applied.Revision, Render: name, Outcome: corev1alpha1.OutcomeApplied, At: applied.At}, nil
	}
	return nil, apierrors.NewNotFound(corev1alpha1.Resource("releases/history"), name)
}
