// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/lossless"
	"kumodo.io/convoy/render/internal/manifest"
)

// hookItem is a hook on its way into a Result.
type hookItem struct {
	item
	hook Hook // without Object
}

// defaultTimeout is what spec.sync.timeout is when it is not set.
const defaultTimeout = 5 * time.Minute

// timeoutOf gives how long hooks that say nothing themselves may take.
func timeoutOf(spec corev1alpha1.ReleaseSpec) time.Duration {
	if spec.Sync.Timeout != nil {
		return spec.Sync.Timeout.Duration
	}
	return defaultTimeout
}

// lifecycleHook parses a hook of the Release.
func lifecycleHook(h corev1alpha1.Hook, timeout time.Duration) (hookItem, error) {
	decoded, err := lossless.JSON(h.Template.Raw)
	if err != nil {
		return hookItem{}, err
	}
	if decoded, err = lossless.Object(decoded); err != nil {
		return hookItem{}, err
	}
	object, ok := decoded.(map[string]any)
	if !ok {
		return hookItem{}, errors.New("an object is expected")
	}
	d := manifest.Document{Object: &unstructured.Unstructured{Object: object}, Origin: fmt.Sprintf("spec.lifecycle.hooks[%s]", h.Name)}
	if d.Object.GetAPIVersion() == "" || d.Object.GetKind() == "" {
		return hookItem{}, errors.New("apiVersion and kind are needed")
	}
	if err := manifest.Clean(&d); err != nil {
		return hookItem{}, err
	}
	hook := Hook{
		Name: h.Name, On: h.On, Timeout: timeout,
		DeletePolicy:  []corev1alpha1.HookDeletePolicy{corev1alpha1.HookDeleteBeforeCreation},
		FailurePolicy: corev1alpha1.HookFailureStop,
	}
	if h.Timeout != nil {
		hook.Timeout = h.Timeout.Duration
	}
	if h.DeletePolicy != "" {
		hook.DeletePolicy = []corev1alpha1.HookDeletePolicy{h.DeletePolicy}
	}
	if h.FailurePolicy != "" {
		hook.FailurePolicy = h.FailurePolicy
	}
	return hookItem{item: item{object: d.Object, origin: d.Origin}, hook: hook}, nil
}

// moment is what an event of a chart means to a Release.
type moment struct {
	on   corev1alpha1.HookPoint
	when Occasion
}

var moments = map[release.HookEvent]moment{
	release.HookPreInstall:   {corev1alpha1.HookPreSync, OnInstall},
	release.HookPreUpgrade:   {corev1alpha1.HookPreSync, OnUpgrade},
	release.HookPreRollback:  {corev1alpha1.HookPreSync, OnRollback},
	release.HookPostInstall:  {corev1alpha1.HookPostSync, OnInstall},
	release.HookPostUpgrade:  {corev1alpha1.HookPostSync, OnUpgrade},
	release.HookPostRollback: {corev1alpha1.HookPostSync, OnRollback},
	release.HookTest:         {corev1alpha1.HookPostSync, Always},
	release.HookPreDelete:    {corev1alpha1.HookPreDelete, Always},
	release.HookPostDelete:   {corev1alpha1.HookPostDelete, Always},
}

var deletePolicies = map[release.HookDeletePolicy]corev1alpha1.HookDeletePolicy{
	release.HookBeforeHookCreation: corev1alpha1.HookDeleteBeforeCreation,
	release.HookSucceeded:          corev1alpha1.HookDeleteSucceeded,
	release.HookFailed:             corev1alpha1.HookDeleteFailed,
}

// chartHooks gives the hooks that a hook of a chart is: one for each point that its events
// mean. A hook for installations and upgrades runs always.
func chartHooks(h helm.Hook, skipTests bool, timeout time.Duration) []hookItem {
	occasions := map[corev1alpha1.HookPoint][]Occasion{}
	for _, event := range h.Events {
		if event == release.HookTest && skipTests {
			continue
		}
		m := moments[event]
		occasions[m.on] = append(occasions[m.on], m.when)
	}
	var hooks []hookItem
	for _, point := range points {
		when, ok := occasions[point]
		if !ok {
			continue
		}
		hooks = append(hooks, hookItem{
			item: item{object: h.Object, origin: h.Origin, unstable: h.Unstable},
			hook: Hook{
				On: point, When: occasion(when), Weight: h.Weight, Timeout: timeout,
				DeletePolicy: deletePolicyOf(h.DeletePolicies), FailurePolicy: corev1alpha1.HookFailureStop,
			},
		})
	}
	return hooks
}

// occasion sums up the occasions of one point.
func occasion(all []Occasion) Occasion {
	switch {
	case slices.Contains(all, Always), slices.Contains(all, OnInstall) && slices.Contains(all, OnUpgrade):
		return Always
	case slices.Contains(all, OnInstall):
		return OnInstall
	case slices.Contains(all, OnUpgrade):
		return OnUpgrade
	}
	return OnRollback
}

func deletePolicyOf(named []release.HookDeletePolicy) []corev1alpha1.HookDeletePolicy {
	var policies []corev1alpha1.HookDeletePolicy
	for _, name := range named {
		if policy, ok := deletePolicies[name]; ok && !slices.Contains(policies, policy) {
			policies = append(policies, policy)
		}
	}
	if len(policies) == 0 {
		return []corev1alpha1.HookDeletePolicy{corev1alpha1.HookDeleteBeforeCreation}
	}
	slices.Sort(policies)
	return policies
}

// points are the points of a Release's life, in their order.
var points = []corev1alpha1.HookPoint{
	corev1alpha1.HookPreSync, corev1alpha1.HookPostSync, corev1alpha1.HookSyncFailed,
	corev1alpha1.HookPreDelete, corev1alpha1.HookPostDelete,
}

// runs tells whether a hook runs in a sync that is, or is not, an upgrade.
func (h Hook) runs(upgrade bool) bool {
	switch h.When {
	case Always:
		return true
	case OnInstall:
		return !upgrade
	case OnUpgrade:
		return upgrade
	}
	return false
}
