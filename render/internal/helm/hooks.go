// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/release"

	"kumodo.io/convoy/render/internal/manifest"
)

// Hook is an object that a chart wants to run at points of its life.
type Hook struct {
	manifest.Document
	// Events at which it runs: pre-install and so on, sorted.
	Events []release.HookEvent
	// Weight orders the hooks of an event, the lowest first.
	Weight int
	// DeletePolicies say when the object is deleted.
	DeletePolicies []release.HookDeletePolicy
}

// events are the names that charts use, those of old charts included.
var events = map[string]release.HookEvent{
	"pre-install": release.HookPreInstall, "post-install": release.HookPostInstall,
	"pre-upgrade": release.HookPreUpgrade, "post-upgrade": release.HookPostUpgrade,
	"pre-delete": release.HookPreDelete, "post-delete": release.HookPostDelete,
	"pre-rollback": release.HookPreRollback, "post-rollback": release.HookPostRollback,
	"test": release.HookTest, "test-success": release.HookTest,
}

// separate parts hooks from other objects by their annotations.
func separate(documents []manifest.Document) *Output {
	output := &Output{}
	for _, d := range documents {
		annotation, ok := d.Object.GetAnnotations()[release.HookAnnotation]
		if !ok {
			output.Objects = append(output.Objects, d)
			continue
		}
		if hook, ok := newHook(d, annotation); ok {
			output.Hooks = append(output.Hooks, hook)
		}
	}
	return output
}

// newHook reads the annotations of a hook. As in Helm, a hook with an event that does not
// exist is no object and no hook: old charts have such.
func newHook(d manifest.Document, annotation string) (Hook, bool) {
	hook := Hook{Document: d}
	for _, name := range list(annotation) {
		event, ok := events[name]
		if !ok {
			return Hook{}, false
		}
		hook.Events = append(hook.Events, event)
	}
	slices.Sort(hook.Events)
	hook.Events = slices.Compact(hook.Events)
	annotations := d.Object.GetAnnotations()
	// As in Helm, what is no number is 0.
	hook.Weight, _ = strconv.Atoi(strings.TrimSpace(annotations[release.HookWeightAnnotation]))
	for _, name := range list(annotations[release.HookDeleteAnnotation]) {
		hook.DeletePolicies = append(hook.DeletePolicies, release.HookDeletePolicy(name))
	}
	return hook, true
}

func list(annotation string) []string {
	var items []string
	for item := range strings.SplitSeq(annotation, ",") {
		if item = strings.ToLower(strings.TrimSpace(item)); item != "" {
			items = append(items, item)
		}
	}
	return items
}
