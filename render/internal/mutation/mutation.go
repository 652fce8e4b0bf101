// SPDX-License-Identifier: Apache-2.0

// Package mutation applies the patches of a Release to rendered objects.
//
// JSON patches are applied by code of its own. The library for them (evanphx/json-patch v5) takes
// a pointer with ~2 or +1 in it, a member that is there twice, and a test for null of what is not
// there; it refuses to move a whole document, counts what a patch copies and not what it takes in
// memory, and has no context.
package mutation

import (
	"context"
	"encoding/json"
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
	"kumodo.io/convoy/render/internal/limit"
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
	// value is the patch as it stands, size how large it is.
	value any
	size  int64
	patch patch
}

// patch gives the fields of a changed object, which share nothing with the given one.
type patch func(ctx context.Context, object *unstructured.Unstructured) (map[string]any, error)

const (
	// maxPatch is how large a patch may be once its aliases are written out, maxPatches all of a
	// Release together: each value counts lossless.PerValue besides its text. A patch of 64 KiB,
	// the most that there is, comes to less by itself.
	maxPatch   = 1 << 20
	maxPatches = 4 << 20
)

// InvalidError tells of a mutation that cannot be used, whatever the objects are.
type InvalidError struct {
	// Name of the mutation.
	Name string

	cause error
}

// Error names the field of the Release.
func (e *InvalidError) Error() string { return fmt.Sprintf("spec.mutations[%s].%v", e.Name, e.cause) }

// Unwrap gives the cause.
func (e *InvalidError) Unwrap() error { return e.cause }

// Check tells whether all mutations of a Release can be used, each and together; nothing of them
// is kept. It ends with ctx. The error is an *InvalidError, or tells why ctx has ended.
func Check(ctx context.Context, all []corev1alpha1.Mutation) error {
	var size int64
	for _, m := range all {
		if err := limit.Ended(ctx); err != nil {
			return err
		}
		compiled, err := Compile(m)
		if err == nil {
			if size += compiled.size; size > maxPatches {
				err = fmt.Errorf("patch: %w", limit.New("it and those before it have more than %s together, each value counted with %d bytes besides its text",
					limit.Size(maxPatches), lossless.PerValue))
			}
		}
		if err != nil {
			return &InvalidError{Name: m.Name, cause: err}
		}
	}
	return nil
}

// Compile parses a mutation. The error says which part of it cannot be parsed.
func Compile(m corev1alpha1.Mutation) (*Mutation, error) {
	target, err := selection.New(m.Target)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	compiled := &Mutation{Name: m.Name, Optional: m.Optional, target: target}
	if compiled.value, err = lossless.Strict([]byte(m.Patch), maxPatch); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	compiled.size = sizeOf(compiled.value)
	if compiled.patch, err = compilePatch(m.Type, compiled.value); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	return compiled, nil
}

// sizeOf gives how large a decoded patch is.
func sizeOf(value any) int64 {
	size := int64(lossless.PerValue)
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			size += lossless.PerValue + int64(len(key)) + sizeOf(inner)
		}
	case []any:
		for _, inner := range v {
			size += sizeOf(inner)
		}
	case string:
		size += int64(len(v))
	case json.Number:
		size += int64(len(v))
	}
	return size
}

// texts gives what a patch would write into a Secret.
func (m *Mutation) texts() (texts []string) {
	fields, _ := m.value.(map[string]any)
	texts = scrub.Scalars(fields["data"], scrub.Scalars(fields["stringData"], nil))
	operations, _ := m.value.([]any)
	for _, operation := range operations {
		fields, _ := operation.(map[string]any)
		texts = scrub.Scalars(fields["value"], texts)
	}
	return texts
}

func compilePatch(kind corev1alpha1.MutationType, value any) (patch, error) {
	if kind == corev1alpha1.MutationJSON {
		return compileJSONPatch(value)
	}
	if _, err := lossless.Object(value); err != nil {
		return nil, err
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("an object with the fields to change is expected; a list of operations needs type: json")
	}
	if kind == corev1alpha1.MutationMerge {
		return func(_ context.Context, o *unstructured.Unstructured) (map[string]any, error) {
			return merged(o, fields), nil
		}, nil
	}
	return func(_ context.Context, o *unstructured.Unstructured) (map[string]any, error) {
		return strategic(o, fields)
	}, nil
}

// Matches tells whether the mutation is for an object.
func (m *Mutation) Matches(object *unstructured.Unstructured) bool { return m.target.Matches(object) }

// Apply gives the changed object, which shares nothing with the given one; that is not touched.
// A patch cannot make another object: the error says so when apiVersion, kind or name would be
// gone, or the kind another. A JSON patch ends with ctx.
func (m *Mutation) Apply(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	patched, err := m.patch(ctx, object)
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
	texts := scrub.Scalars(object.Object["data"], scrub.Scalars(object.Object["stringData"], m.texts()))
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
		return merged(object, patch), nil
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

// merged is an object with a JSON merge patch applied.
func merged(object *unstructured.Unstructured, patch map[string]any) map[string]any {
	return runtime.DeepCopyJSON(merge(object.Object, patch))
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
