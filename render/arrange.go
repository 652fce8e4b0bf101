// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/order"
)

// arrange sorts a Result, names its hooks, and refuses what is in it twice.
func arrange(r *Result) error {
	slices.SortStableFunc(r.Objects, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), compareKeys(a, b))
	})
	for _, hooks := range [][]Hook{r.Hooks, r.OtherHooks} {
		slices.SortStableFunc(hooks, func(a, b Hook) int {
			return cmp.Or(
				cmp.Compare(slices.Index(points, a.On), slices.Index(points, b.On)),
				cmp.Compare(a.Weight, b.Weight), compareKeys(a.Object, b.Object), cmp.Compare(a.Name, b.Name))
		})
	}
	if err := checkDuplicates(r); err != nil {
		return err
	}
	nameHooks(r)
	return nil
}

// compareKeys orders objects by their kinds' rank, then by identity.
func compareKeys(a, b Object) int {
	ka, kb := a.Key(), b.Key()
	return cmp.Or(
		cmp.Compare(order.Rank(a.Object.GroupVersionKind().GroupKind()), order.Rank(b.Object.GroupVersionKind().GroupKind())),
		cmp.Compare(ka.Group, kb.Group), cmp.Compare(ka.Kind, kb.Kind),
		cmp.Compare(ka.Namespace, kb.Namespace), cmp.Compare(ka.Name, kb.Name))
}

// checkDuplicates refuses the same object twice, in whatever versions: among the objects,
// among the hooks of one point, and an object that a hook has too. Hooks of the chart may
// share an object over several points.
func checkDuplicates(r *Result) error {
	seen := map[string]Object{}
	for _, o := range r.Objects {
		identity := identityOf(o)
		if other, ok := seen[identity]; ok {
			return duplicate(other, o)
		}
		seen[identity] = o
	}
	for _, h := range slices.Concat(r.Hooks, r.OtherHooks) {
		identity := identityOf(h.Object)
		if other, ok := seen[identity]; ok {
			return duplicate(other, h.Object)
		}
		// A lifecycle hook and a chart's hook on one object would delete each other's runs.
		at := string(h.On) + string(h.When) + identity
		if other, ok := seen[at]; ok {
			return duplicate(other, h.Object)
		}
		seen[at] = h.Object
	}
	return nil
}

func identityOf(o Object) string {
	key := o.Key()
	return fmt.Sprintf("%s/%s/%s/%s", key.Group, key.Kind, key.Namespace, key.Name)
}

func duplicate(a, b Object) error {
	return failure(corev1alpha1.ReasonInvalidObjects, "%s is in the render twice: in %s and in %s", manifest.Name(a.Object.Object), a.Origin, b.Origin)
}

// nameHooks names the hooks of a chart, which have no names of their own. Where point, kind
// and name are not enough, namespace and group are added.
func nameHooks(r *Result) {
	short := func(h Hook) string { return fmt.Sprintf("%s/%s/%s", h.On, h.Object.Key().Kind, h.Object.Key().Name) }
	count := map[string]int{}
	for _, h := range slices.Concat(r.Hooks, r.OtherHooks) {
		count[short(h)]++
	}
	for _, hooks := range [][]Hook{r.Hooks, r.OtherHooks} {
		for i, h := range hooks {
			if h.Name != "" {
				continue
			}
			hooks[i].Name = short(h)
			if count[short(h)] > 1 {
				for _, part := range []string{h.Object.Key().Namespace, h.Object.Key().Group, string(h.When)} {
					if part != "" {
						hooks[i].Name += "/" + part
					}
				}
			}
		}
	}
}

// digested is what counts of an object or hook in the digest of a Result.
type digested struct {
	Key    corev1alpha1.ObjectKey `json:"key"`
	Digest string                 `json:"digest"`
	Stage  int32                  `json:"stage,omitempty"`
	Keep   bool                   `json:"keep,omitempty"`

	Hook          string                          `json:"hook,omitempty"`
	On            corev1alpha1.HookPoint          `json:"on,omitempty"`
	When          Occasion                        `json:"when,omitempty"`
	Weight        int                             `json:"weight,omitempty"`
	DeletePolicy  []corev1alpha1.HookDeletePolicy `json:"deletePolicy,omitempty"`
	FailurePolicy corev1alpha1.HookFailurePolicy  `json:"failurePolicy,omitempty"`
}

// ComputeDigest computes what Digest is from the objects and hooks, and their digests from
// what they are: it differs from Digest when anything of them was changed. Timeouts and
// origins are not part of it.
func (r *Result) ComputeDigest() (string, error) {
	return r.digest(func(o Object) (string, error) { return digest.Of(o.Object.Object) })
}

// digest gives the digest by those of the objects.
func (r *Result) digest(of func(Object) (string, error)) (string, error) {
	all := []digested{}
	for _, o := range r.Objects {
		sum, err := of(o)
		if err != nil {
			return "", err
		}
		all = append(all, digested{Key: o.Key(), Digest: sum, Stage: o.Stage, Keep: o.Keep})
	}
	hooks := slices.Concat(r.Hooks, r.OtherHooks)
	slices.SortFunc(hooks, func(a, b Hook) int { return cmp.Compare(a.Name, b.Name) })
	for _, h := range hooks {
		sum, err := of(h.Object)
		if err != nil {
			return "", err
		}
		all = append(all, digested{
			Key: h.Object.Key(), Digest: sum, Keep: h.Object.Keep,
			Hook: h.Name, On: h.On, When: h.When, Weight: h.Weight, DeletePolicy: h.DeletePolicy, FailurePolicy: h.FailurePolicy,
		})
	}
	return digest.Of(all)
}
