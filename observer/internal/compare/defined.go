// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// defined is the outcome for an object whose kind, or version of it, the same sync defines: the
// target cannot be asked yet what applying it would change.
func (c *Comparer) defined(ctx context.Context, desired render.Object) Outcome {
	served := desired.Key()
	served.Version = ""
	resource, err := c.resource(ctx, served, false)
	if meta.IsNoMatchError(err) {
		return Outcome{Action: corev1alpha1.ActionCreate, Simulated: true, Message: "the kind is defined by the same sync", Result: desired.Object}
	}
	if err != nil {
		return failed(err)
	}
	live, err := c.read(ctx, resource, served)
	if err != nil {
		return failed(err)
	}
	message := fmt.Sprintf("version %s of the kind is defined by the same sync", desired.Object.GroupVersionKind().Version)
	if live == nil {
		return Outcome{Action: corev1alpha1.ActionCreate, Simulated: true, Message: message, Result: desired.Object}
	}
	owner, foreign := c.foreign(live)
	if foreign && (c.GivenUp == nil || !c.GivenUp(ctx, owner, desired.Key())) {
		return c.belongs(owner, live)
	}
	body := c.body(desired.Object, live)
	result := &unstructured.Unstructured{Object: overlaid(live.Object, body.Object, ownedByConvoy(live)).(map[string]any)}
	outcome := differs(live, result, c.changes(desired.Object, live, result))
	outcome.Simulated = true
	outcome.Message = fmt.Sprintf("%s, and the object compared as version %s has it", message, live.GroupVersionKind().Version)
	if foreign {
		outcome.Message = c.movesFrom(owner) + "; " + outcome.Message
	}
	return outcome
}

// overlaid is about what applying makes of a live value, which is not changed: applied fields are
// as applied, and those that convoy had and are applied no more go. Items of lists are held
// against those at the same place.
func overlaid(live, applied any, owned map[string]any) any {
	switch applied := applied.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		if !ok {
			return applied
		}
		result := maps.Clone(live)
		for name, inner := range owned {
			field, ok := strings.CutPrefix(name, "f:")
			if _, stays := applied[field]; !ok || stays {
				continue
			}
			if inner, _ := inner.(map[string]any); len(inner) == 0 {
				delete(result, field)
			} else if within, ok := result[field].(map[string]any); ok {
				result[field] = overlaid(within, map[string]any{}, inner)
			}
		}
		for field, value := range applied {
			inner, _ := owned["f:"+field].(map[string]any)
			if value == nil {
				delete(result, field)
			} else {
				result[field] = overlaid(live[field], value, inner)
			}
		}
		return result
	case []any:
		live, _ := live.([]any)
		result := make([]any, len(applied))
		for i := range applied {
			var before any
			if i < len(live) {
				before = live[i]
			}
			result[i] = overlaid(before, applied[i], nil)
		}
		return result
	}
	return applied
}
