// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
	"kumodo.io/convoy/render"
)

// pointer is a JSON pointer (RFC 6901), as its unescaped tokens.
type pointer []string

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

func parsePointer(text string) (pointer, error) {
	if !strings.HasPrefix(text, "/") || text == "/" {
		return nil, fmt.Errorf("%q is not a JSON pointer to a field, such as /spec/replicas", text)
	}
	p := strings.Split(text[1:], "/")
	for i := range p {
		p[i] = unescape.Replace(p[i])
	}
	return p, nil
}

func (p pointer) String() string {
	var s strings.Builder
	for _, token := range p {
		s.WriteString("/" + escape.Replace(token))
	}
	return s.String()
}

// ignoreRule is one entry of spec.drift.ignore.
type ignoreRule struct {
	target corev1alpha1.ObjectSelector
	paths  []pointer
}

func compileIgnores(drift *corev1alpha1.DriftSpec) ([]ignoreRule, error) {
	if drift == nil {
		return nil, nil
	}
	var rules []ignoreRule
	for i, ignore := range drift.Ignore {
		rule, err := compileIgnore(ignore)
		if err != nil {
			return nil, fmt.Errorf("spec.drift.ignore[%d].%w", i, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func compileIgnore(ignore corev1alpha1.DriftIgnore) (ignoreRule, error) {
	rule := ignoreRule{target: ignore.Target}
	// One that cannot be parsed would select nothing, and the fields would be written.
	if _, err := labels.Parse(ignore.Target.LabelSelector); err != nil {
		return rule, fmt.Errorf("target.labelSelector: %w", err)
	}
	if _, err := labels.Parse(ignore.Target.AnnotationSelector); err != nil {
		return rule, fmt.Errorf("target.annotationSelector: %w", err)
	}
	for i, path := range ignore.Paths {
		p, err := parsePointer(path)
		if err != nil {
			return rule, fmt.Errorf("paths[%d]: %w", i, err)
		}
		rule.paths = append(rule.paths, p)
	}
	return rule, nil
}

// ignoredIn gives the paths of all rules that select obj.
func ignoredIn(rules []ignoreRule, obj *unstructured.Unstructured) []pointer {
	var paths []pointer
	for _, rule := range rules {
		if render.Selects(rule.target, obj) {
			paths = append(paths, rule.paths...)
		}
	}
	return paths
}

// withIgnored gives desired changed so that applying it leaves the ignored fields of live
// as they are. A field that convoy does not own is left out: nothing is said about it. One
// that convoy owns, because it created the object with it, takes the live value: left out,
// the server would remove it or set it to its default. Another manager that writes such a
// field takes it from convoy, and from then on it is left out.
//
// desired and live are not changed; without paths the result is desired itself.
func withIgnored(desired, live *unstructured.Unstructured, paths []pointer) *unstructured.Unstructured {
	if len(paths) == 0 {
		return desired
	}
	body := desired.DeepCopy()
	owned := ownedFields(live)
	for _, path := range paths {
		value, ok := path.get(live.Object, desired.Object)
		if ok && covers(owned, path) {
			path.set(body.Object, value)
		} else {
			path.remove(body.Object)
		}
	}
	return body
}

// ownedFields gives what convoy has applied of live, in the form of FieldsV1; nil for
// nothing.
func ownedFields(live *unstructured.Unstructured) map[string]any {
	i := slices.IndexFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == corev1alpha1.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})
	if i < 0 || live.GetManagedFields()[i].FieldsV1 == nil {
		return nil
	}
	var owned map[string]any
	if err := json.Unmarshal(live.GetManagedFields()[i].FieldsV1.GetRawBytes(), &owned); err != nil {
		return nil
	}
	return owned
}

// covers tells whether the field is among owned ones. An item of a list that is owned
// counts as owned: FieldsV1 names items by their keys, and a pointer by their place.
func covers(owned map[string]any, path pointer) bool {
	for depth, token := range path {
		member, ok := owned["f:"+token].(map[string]any)
		if !ok {
			// Below a field that is owned as a whole, or in a list with items of its own.
			return depth > 0 && len(owned) == 0 || hasItems(owned)
		}
		owned = member
	}
	return true
}

func hasItems(owned map[string]any) bool {
	for key := range owned {
		if strings.HasPrefix(key, "k:") || strings.HasPrefix(key, "v:") {
			return true
		}
	}
	return false
}

// get finds the value in obj. Places in lists are those of reference, whose items are
// found in obj by their name, if they have one, as managed.Counterpart does.
func (p pointer) get(obj, reference any) (any, bool) {
	for _, token := range p {
		var ok bool
		if obj, ok = member(obj, reference, token); !ok {
			return nil, false
		}
		reference, _ = member(reference, nil, token)
	}
	return obj, true
}

func member(of, reference any, token string) (any, bool) {
	switch of := of.(type) {
	case map[string]any:
		value, ok := of[token]
		return value, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 {
			return nil, false
		}
		if others, ok := reference.([]any); ok {
			i = managed.Counterpart(of, others, i)
		}
		if i < 0 || i >= len(of) {
			return nil, false
		}
		return of[i], true
	}
	return nil, false
}

// set puts the value into obj, making the maps on the way that are missing. Where the way
// leads through a list item that is missing, obj stays as it is.
func (p pointer) set(obj map[string]any, value any) {
	var at any = obj
	for i, token := range p {
		last := i == len(p)-1
		switch content := at.(type) {
		case map[string]any:
			if last {
				content[token] = value
			} else if content[token] == nil {
				content[token] = map[string]any{}
			}
			at = content[token]
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 || index >= len(content) {
				return
			}
			if last {
				content[index] = value
			}
			at = content[index]
		default:
			return
		}
	}
}

// remove takes the field out of obj, if it is there.
func (p pointer) remove(obj map[string]any) {
	parent, key := p[:len(p)-1], p[len(p)-1]
	holder, ok := parent.get(obj, nil)
	if !ok {
		return
	}
	switch content := holder.(type) {
	case map[string]any:
		delete(content, key)
	case []any:
		if index, err := strconv.Atoi(key); err == nil && index >= 0 && index < len(content) {
			parent.set(obj, slices.Delete(slices.Clone(content), index, index+1))
		}
	}
}
