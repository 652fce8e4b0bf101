// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
	"kumodo.io/convoy/render"
)

// Ignored tells whether a change lies at or under one of the JSON pointers paths. A parent
// that is new as a whole does not: it may bring more than the ignored field.
func Ignored(change corev1alpha1.FieldChange, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return path == "" || change.Path == path || strings.HasPrefix(change.Path, path+"/")
	})
}

// ignoredPaths are the fields of an object that spec.drift.ignore leaves alone.
func ignoredPaths(release *corev1alpha1.Release, object *unstructured.Unstructured) []string {
	if release.Spec.Drift == nil {
		return nil
	}
	var paths []string
	for _, ignore := range release.Spec.Drift.Ignore {
		if render.Selects(ignore.Target, object) {
			paths = append(paths, ignore.Paths...)
		}
	}
	return paths
}

// keepLive makes the field of body at a JSON pointer what it is in live: absent, where live
// has none. Places in lists are those of body, and the items of live are found by name
// where they have one, as managed.Counterpart does. Where body has no such parent it stays as it is.
func keepLive(body, live map[string]any, path string) {
	tokens := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range tokens {
		tokens[i] = unescape(tokens[i])
	}
	var parent, counterpart any = body, live
	last := len(tokens) - 1
	for _, token := range tokens[:last] {
		next, ok := child(parent, token)
		if !ok {
			return
		}
		counterpart, _ = childLike(counterpart, parent, token)
		parent = next
	}
	value, ok := childLike(counterpart, parent, tokens[last])
	switch holder := parent.(type) {
	case map[string]any:
		if ok {
			holder[tokens[last]] = value
		} else {
			delete(holder, tokens[last])
		}
	case []any:
		if i, err := strconv.Atoi(tokens[last]); ok && err == nil && i >= 0 && i < len(holder) {
			holder[i] = value
		}
	}
}

// child is the member of a map or list that a token of a JSON pointer names.
func child(of any, token string) (any, bool) {
	switch of := of.(type) {
	case map[string]any:
		value, ok := of[token]
		return value, ok
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(of) {
			return of[i], true
		}
	}
	return nil, false
}

// childLike is the member of a map or list that corresponds to the one that token names in
// another one, which has the same place in another object.
func childLike(of, other any, token string) (any, bool) {
	items, isList := of.([]any)
	others, isListToo := other.([]any)
	if place, err := strconv.Atoi(token); err == nil && isList && isListToo {
		token = strconv.Itoa(managed.Counterpart(items, others, place))
	}
	return child(of, token)
}
