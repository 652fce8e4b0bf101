// SPDX-License-Identifier: Apache-2.0

// Package mutation applies the patches of a Release to rendered objects.
package mutation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/lossless"
	"kumodo.io/convoy/render/internal/scrub"
	"kumodo.io/convoy/render/internal/selection"
)

// Mutation is a patch that is ready for use.
type Mutation struct {
	// Name is for messages.
	Name string
	// Optional lets it match nothing.
	Optional bool

	target *selection.Selector
	patch  func(object *unstructured.Unstructured) (map[string]any, error)
	// texts are what it would write into a Secret.
	texts []string
}

// Compile parses a mutation. The error says which part of it cannot be parsed.
func Compile(m corev1alpha1.Mutation) (*Mutation, error) {
	target, err := selection.New(m.Target)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	patch, err := lossless.YAML([]byte(m.Patch))
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	compiled := &Mutation{Name: m.Name, Optional: m.Optional, target: target, texts: textsIn(patch)}
	if compiled.patch, err = compilePatch(m.Type, patch); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	return compiled, nil
}

// textsIn gives what a patch would write into a Secret.
func textsIn(patch any) (texts []string) {
	fields, _ := patch.(map[string]any)
	texts = scrub.Scalars(fields["data"], scrub.Scalars(fields["stringData"], nil))
	operations, _ := patch.([]any)
	for _, operation := range operations {
		fields, _ := operation.(map[string]any)
		texts = scrub.Scalars(fields["value"], texts)
	}
	return texts
}

func compilePatch(kind corev1alpha1.MutationType, patch any) (func(*unstructured.Unstructured) (map[string]any, error), error) {
	if kind == corev1alpha1.MutationJSON {
		return compileJSONPatch(patch)
	}
	if _, err := lossless.Object(patch); err != nil {
		return nil, err
	}
	fields, ok := patch.(map[string]any)
	if !ok {
		return nil, errors.New("an object with the fields to change is expected; a list of operations needs type: json")
	}
	if kind == corev1alpha1.MutationMerge {
		return func(o *unstructured.Unstructured) (map[string]any, error) { return merge(o.Object, fields), nil }, nil
	}
	return func(o *unstructured.Unstructured) (map[string]any, error) { return strategic(o, fields) }, nil
}

// Matches tells whether the mutation is for an object.
func (m *Mutation) Matches(object *unstructured.Unstructured) bool { return m.target.Matches(object) }

// Apply gives the changed object; the given one is not touched. A patch cannot make
// another object: the error says so when apiVersion, kind or name would be gone, or the
// kind another.
func (m *Mutation) Apply(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	patched, err := m.patch(object)
	if err != nil {
		return nil, m.withoutSecrets(object, err)
	}
	result := &unstructured.Unstructured{Object: patched}
	if result.GroupVersionKind().GroupKind() != object.GroupVersionKind().GroupKind() {
		return nil, errors.New("the patch would change the object's kind")
	}
	if result.GetName() == "" {
		return nil, errors.New("the patch would remove the object's name")
	}
	return result, nil
}

// withoutSecrets takes what an object and the mutation have for a Secret out of an error:
// libraries cite what they cannot patch.
func (m *Mutation) withoutSecrets(object *unstructured.Unstructured, err error) error {
	if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return err
	}
	texts := scrub.Scalars(object.Object["data"], scrub.Scalars(object.Object["stringData"], slices.Clone(m.texts)))
	return scrub.New(texts).Error(err)
}

// strategic applies a strategic merge patch. Only built-in kinds say how their lists are
// merged; for others it is a JSON merge patch.
func strategic(object *unstructured.Unstructured, patch map[string]any) (map[string]any, error) {
	typed, err := scheme.Scheme.New(object.GroupVersionKind())
	if runtime.IsNotRegisteredError(err) {
		if directive := directiveIn(patch); directive != "" {
			return nil, fmt.Errorf("%s is for built-in kinds, which say how their lists are merged; use type: json or type: merge", directive)
		}
		return merge(object.Object, patch), nil
	}
	if err != nil {
		return nil, err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, err
	}
	if err := checkKeys("", object.Object, patch, schema); err != nil {
		return nil, err
	}
	// Both are changed by the library.
	patched, err := strategicpatch.StrategicMergeMapPatch(runtime.DeepCopyJSON(object.Object), runtime.DeepCopyJSON(patch), typed)
	if err != nil {
		return nil, err
	}
	withoutDirectives(patched)
	return patched, nil
}

// isDirective tells whether a key of a strategic merge patch says how to merge.
func isDirective(key string) bool {
	return key == "$patch" || key == "$retainKeys" || strings.HasPrefix(key, "$setElementOrder/") || strings.HasPrefix(key, "$deleteFromPrimitiveList/")
}

// directiveIn gives a directive in a patch; "" when there is none.
func directiveIn(value any) string {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if isDirective(key) {
				return key
			}
			if found := directiveIn(v[key]); found != "" {
				return found
			}
		}
	case []any:
		for _, item := range v {
			if found := directiveIn(item); found != "" {
				return found
			}
		}
	}
	return ""
}

// withoutDirectives takes off what a patch says of the merging, in place: the library leaves
// it where the object had nothing to merge with.
func withoutDirectives(fields map[string]any) {
	for key, value := range fields {
		if isDirective(key) {
			delete(fields, key)
			continue
		}
		switch v := value.(type) {
		case map[string]any:
			if v["$patch"] == "delete" {
				delete(fields, key)
				continue
			}
			withoutDirectives(v)
		case []any:
			fields[key] = slices.DeleteFunc(v, func(item any) bool {
				inner, ok := item.(map[string]any)
				if ok && inner["$patch"] != "delete" {
					withoutDirectives(inner)
					return false
				}
				return ok
			})
		}
	}
}

// merge applies a JSON merge patch (RFC 7386). The result shares parts with both.
func merge(object, patch map[string]any) map[string]any {
	merged := make(map[string]any, len(object)+len(patch))
	for key, value := range object {
		merged[key] = value
	}
	for key, value := range patch {
		fields, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case isMap:
			under, _ := merged[key].(map[string]any)
			merged[key] = merge(under, fields)
		default:
			merged[key] = value
		}
	}
	return merged
}
