// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"

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
	return s.awaitHealthy(definitions, "the definitions before the preSync hooks", corev1alpha1.ReasonWaitingForStage)
}

// hookNeeds gives the definitions of the kinds of preSync hooks, all definitions in a first sync,
// since what a hook runs may make objects of any kind, and the namespaces that hooks lie in.
func (s *scope) hookNeeds() (definitions, namespaces []render.Object) {
	needed := map[prerequisite]bool{}
	for _, hook := range s.result.Hooks {
		if hook.On == corev1alpha1.HookPreSync {
			needed[definitionOf(hook.Object)] = true
			needed[namespaceOf(hook.Object)] = true
		}
	}
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
