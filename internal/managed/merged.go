// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Merged is what server-side apply makes of a live object when some fields are convoy's before:
// the live one without them, and without what convoy applied and desires no more, and with all
// that is desired. Lists are merged as the managed fields say that servers do. It cannot be
// asked of a server, where an apply follows only what is written.
func Merged(live, desired *unstructured.Unstructured, fields *fieldpath.Set) (*unstructured.Unstructured, error) {
	owners, err := ownersOf(live)
	if err != nil {
		return nil, err
	}
	result := live.DeepCopy()
	fields.Iterate(func(path fieldpath.Path) { Remove(result.Object, path) })
	owners.convoy.Iterate(func(path fieldpath.Path) {
		if !has(desired.Object, path) && !owns(owners.others, path) {
			Remove(result.Object, path)
		}
	})
	result.Object, _ = owners.overlay(result.Object, desired.Object, nil).(map[string]any)
	return result, nil
}

// overlay gives what is there with all that is desired.
func (o owners) overlay(have, want any, at fieldpath.Path) any {
	switch want := want.(type) {
	case map[string]any:
		held, ok := have.(map[string]any)
		if !ok || len(at) > 0 && o.all.Has(at) && under(o.all, at).Empty() { // owned as a whole
			break
		}
		for name, value := range want {
			if value != nil {
				held[name] = o.overlay(held[name], value, append(at.Copy(), fieldpath.FieldNameElement(name)))
			}
		}
		return held
	case []any:
		held, ok := have.([]any)
		keys := o.keys(at)
		if !ok || len(keys) == 0 {
			break
		}
		for _, item := range want {
			element, ok := itemOf(item, keys)
			if i := find(held, element); ok && i >= 0 {
				held[i] = o.overlay(held[i], item, append(at.Copy(), element))
				continue
			}
			held = append(held, runtime.DeepCopyJSONValue(item))
		}
		return held
	}
	return runtime.DeepCopyJSONValue(want)
}
