// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/desired"
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
	connection, _, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	var want *desired.Desired
	if side == sideDesired {
		want, err = s.Desired.Current(ctx, release, connection)
	} else {
		want, err = s.past(ctx, release, side)
	}
	if err != nil {
		return nil, err
	}
	objects := planned(want)
	var result []corev1alpha1.ObjectDiff
	for i, outcome := range s.compareAll(ctx, release, connection, objects, want) {
		if outcome.Action == corev1alpha1.ActionUnchanged {
			continue
		}
		one, err := diffOf(objects[i], outcome)
		if err != nil {
			return nil, err
		}
		result = append(result, one)
	}
	deletions, err := s.deletions(release, want)
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
	key := object.Key()
	one := corev1alpha1.ObjectDiff{
		ObjectKey: key, Action: outcome.Action, Changes: compare.MaskChanges(key, outcome.Changes), Message: outcome.Message,
	}
	if outcome.Action == corev1alpha1.ActionError {
		return one, nil
	}
	result := object.Object.Object.Object
	if outcome.Result != nil {
		result = outcome.Result.Object
	}
	var live map[string]any
	if outcome.Live != nil {
		live = outcome.Live.Object
	}
	var err error
	one.Unified, err = compare.Unified(key, live, result)
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
		before[unversioned(object)] = object
	}
	var result []corev1alpha1.ObjectDiff
	for _, object := range planned(right) {
		old, ok := before[unversioned(object)]
		delete(before, unversioned(object))
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
		if _, gone := before[unversioned(object)]; gone {
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
		one.Changes = compare.MaskChanges(key, compare.Fields(left, right))
	}
	var err error
	one.Unified, err = compare.Unified(key, left, right)
	return one, err
}

func unversioned(object plannedObject) corev1alpha1.ObjectKey {
	key := object.Key()
	key.Version = ""
	return key
}

// side finds one side of a comparison of renders.
func (s *Server) side(ctx context.Context, release *corev1alpha1.Release, name string) (*desired.Desired, error) {
	if name != sideDesired {
		return s.past(ctx, release, name)
	}
	connection, _, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	return s.Desired.Current(ctx, release, connection)
}

// past finds a past render by its digest or by a history id. It is read from the store,
// or made again from its revision where there is none.
func (s *Server) past(ctx context.Context, release *corev1alpha1.Release, name string) (*desired.Desired, error) {
	entry, err := historyEntry(release, name)
	if err != nil {
		return nil, err
	}
	if s.Desired.Store != nil {
		return s.Desired.Stored(ctx, release, entry.Render)
	}
	connection, _, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	made, err := s.Desired.At(ctx, release, connection, entry.Revision)
	if err != nil {
		return nil, err
	}
	if made.Digest != entry.Render {
		return nil, fmt.Errorf("%w: revision %s no longer gives render %s with the Release's present spec; a render store keeps past renders",
			desired.ErrNotReproducible, entry.Revision, entry.Render)
	}
	return made, nil
}

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
	return nil, apierrors.NewNotFound(corev1alpha1.Resource("releases/history"), name)
}
