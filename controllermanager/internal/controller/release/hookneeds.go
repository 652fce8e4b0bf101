// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"slices"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// applyNeeds applies what of the render has to be there before its preSync hooks are, and waits
// until definitions are in effect.
func (c *Controller) applyNeeds(ctx context.Context, s *scope) outcome {
	definitions, namespaces := s.hookNeeds()
	c.await(s)
	if due := inventory.Changed(s.entries(), append(namespaces, definitions...)); len(due) > 0 {
		if out := c.applyBatch(ctx, s, due); out.kind != proceeds {
			return out
		}
	}
	return c.awaitHealthy(ctx, s, definitions, "the definitions before the preSync hooks", corev1alpha1.ReasonWaitingForStage)
}

// hookNeeds gives the definitions of the kinds of preSync hooks, all definitions in a first sync,
// since what a hook runs may make objects of any kind, and the namespaces that hooks lie in.
func (s *scope) hookNeeds() (definitions, namespaces []render.Object) {
	needed := s.neededBy(corev1alpha1.HookPreSync)
	for _, object := range s.result.Objects {
		gives, ok := given(object)
		switch {
		case !ok:
		case gives.namespace != "" && needed[gives]:
			namespaces = append(namespaces, object)
		case gives.namespace == "" && (needed[gives] || s.applied().Render == ""):
			definitions = append(definitions, object)
		}
	}
	return definitions, namespaces
}

// neededBy gives the kinds and the namespaces of the objects of a point's hooks.
func (s *scope) neededBy(point corev1alpha1.HookPoint) map[prerequisite]bool {
	needed := map[prerequisite]bool{}
	for _, hook := range s.result.Hooks {
		if hook.On == point {
			needed[definitionOf(hook.Object)] = true
			needed[namespaceOf(hook.Object)] = true
		}
	}
	return needed
}

// postDeleteNeeds gives the entries of the Release's own objects that its postDelete hooks cannot
// run without: the namespaces that they lie in, and the definitions of their kinds.
func (s *scope) postDeleteNeeds() []corev1alpha1.InventoryEntry {
	if s.result == nil {
		return nil
	}
	needed := s.neededBy(corev1alpha1.HookPostDelete)
	keys := map[string]bool{}
	for _, object := range s.result.Objects {
		if gives, ok := given(object); ok && needed[gives] {
			keys[inventory.KeyOf(object.Key())] = true
		}
	}
	return slices.DeleteFunc(s.objectEntries(), func(entry corev1alpha1.InventoryEntry) bool {
		return !keys[inventory.Key(entry)] && (len(s.result.Objects) > 0 || !mayGive(entry, needed))
	})
}

// aroundHooks gives the entries of the Release's own objects that what hooks left lies in, or is
// defined by: they go only after it.
func (s *scope) aroundHooks() []corev1alpha1.InventoryEntry {
	around := map[prerequisite]bool{}
	for _, entry := range s.entries() {
		if entry.Hook != "" {
			around[prerequisite{namespace: entry.Namespace}] = true
			around[prerequisite{kind: entry.GroupVersionKind().GroupKind()}] = true
		}
	}
	return slices.DeleteFunc(s.objectEntries(), func(entry corev1alpha1.InventoryEntry) bool { return !mayGive(entry, around) })
}

// mayGive tells whether an object of which only the entry is known may give something that is needed.
// A definition is named by its group.
func mayGive(entry corev1alpha1.InventoryEntry, needed map[prerequisite]bool) bool {
	for need := range needed {
		switch entry.Kind {
		case "Namespace":
			if entry.Group == "" && need.namespace == entry.Name {
				return true
			}
		case "CustomResourceDefinition":
			if _, group, _ := strings.Cut(entry.Name, "."); need.kind.Group == group && group != "" {
				return true
			}
		}
	}
	return false
}
