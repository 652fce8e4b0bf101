// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/lossless"
	"kumodo.io/convoy/render/internal/weight"
)

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	op string
	// pointer is the path as it is written.
	pointer    string
	path, from []string
	value      any
}

// needs says which fields the operations need besides the path.
var needs = map[string]string{"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from", "remove": ""}

// compileJSONPatch makes a patch of a list of operations.
func compileJSONPatch(value any) (patch, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, errors.New("type: json needs a list of operations")
	}
	var operations []operation
	for i, item := range list {
		o, err := compileOperation(item)
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", i+1, err)
		}
		operations = append(operations, o)
	}
	return func(ctx context.Context, o *unstructured.Unstructured) (map[string]any, error) {
		return applyJSONPatch(ctx, o, operations)
	}, nil
}

func compileOperation(item any) (o operation, err error) {
	fields, ok := item.(map[string]any)
	if !ok {
		return o, errors.New("an object with op and path is expected")
	}
	o.op, _ = fields["op"].(string)
	need, known := needs[o.op]
	if !known {
		return o, fmt.Errorf("the op %q is none of add, remove, replace, move, copy, test", o.op)
	}
	if _, ok := fields[need]; need != "" && !ok {
		return o, fmt.Errorf("%s needs %s", o.op, need)
	}
	o.pointer, _ = fields["path"].(string)
	if o.path, err = pointer(fields, "path"); err != nil {
		return o, err
	}
	switch need {
	case "from":
		if o.from, err = pointer(fields, "from"); err != nil {
			return o, err
		}
		if o.op == "move" && len(o.from) < len(o.path) && slices.Equal(o.from, o.path[:len(o.from)]) {
			return o, errors.New("what is moved cannot be moved into itself")
		}
	case "value":
		o.value, err = lossless.Object(fields["value"])
	}
	return o, err
}

// unescaped holds what a tilde stands for in a JSON pointer with the character behind it.
var unescaped = strings.NewReplacer("~1", "/", "~0", "~")

// pointer gives the steps of a JSON pointer (RFC 6901).
func pointer(fields map[string]any, field string) ([]string, error) {
	text, ok := fields[field].(string)
	if !ok {
		return nil, fmt.Errorf("the %s is missing, or no text", field)
	}
	if text == "" {
		return nil, nil
	}
	if !strings.HasPrefix(text, "/") {
		return nil, fmt.Errorf("the %s %q does not begin with a slash; write %q", field, text, "/"+text)
	}
	steps := strings.Split(text[1:], "/")
	for i, step := range steps {
		if strings.Count(step, "~") != strings.Count(step, "~0")+strings.Count(step, "~1") {
			return nil, fmt.Errorf("the %s %q has a ~ that neither 0 nor 1 follows; write ~0 for ~ itself", field, text)
		}
		steps[i] = unescaped.Replace(step)
	}
	return steps, nil
}

func applyJSONPatch(ctx context.Context, object *unstructured.Unstructured, operations []operation) (map[string]any, error) {
	p := patched{document: runtime.DeepCopyJSON(object.Object), left: maxCopied}
	for i, o := range operations {
		err := limit.Ended(ctx)
		if err == nil {
			err = p.apply(o)
		}
		if err != nil {
			return nil, fmt.Errorf("operation %d (%s %s): %w", i+1, o.op, o.pointer, err)
		}
	}
	fields, ok := p.document.(map[string]any)
	if !ok {
		return nil, errors.New("the patch would leave no object")
	}
	return fields, nil
}

// maxCopied is how much the operations "copy" of one patch may copy: a few that copy a part of
// an object into itself would make it enormous.
const maxCopied = 16 << 20

// patched is a document in the course of a patch, and how much may still be copied in it.
type patched struct {
	document any
	left     int64
}

func (p *patched) apply(o operation) error {
	value := runtime.DeepCopyJSONValue(o.value)
	var err error
	switch o.op {
	case "test":
		found, err := find(p.document, o.path)
		if err == nil && !same(found, value) {
			err = errors.New("test failed: the value is another one")
		}
		return err
	case "move", "copy":
		if value, err = find(p.document, o.from); err != nil {
			return fmt.Errorf("from: %w", err)
		}
	}
	switch {
	case o.op == "move" && slices.Equal(o.from, o.path):
		return nil
	case o.op == "move":
		err = p.edit(o.from, func(at any, key string) (any, error) { return remove(at, key) })
	case o.op == "copy":
		if p.left -= weight.Of(value); p.left < 0 {
			return limit.New("the copy operations of one patch copy more than %s", limit.Size(maxCopied))
		}
		value = runtime.DeepCopyJSONValue(value)
	}
	if err != nil {
		return err
	}
	switch o.op {
	case "remove":
		return p.edit(o.path, remove)
	case "replace":
		if len(o.path) > 0 {
			return p.edit(o.path, func(at any, key string) (any, error) { return replace(at, key, value) })
		}
	}
	if len(o.path) == 0 {
		p.document = value
		return nil
	}
	return p.edit(o.path, func(at any, key string) (any, error) { return add(at, key, value) })
}

// edit changes what holds the end of a path. The change gives what holds it from then on.
func (p *patched) edit(path []string, change func(holder any, key string) (any, error)) error {
	if len(path) == 0 {
		return errors.New("the path is that of the object as a whole")
	}
	changed, err := edited(p.document, path, change)
	if err == nil {
		p.document = changed
	}
	return err
}

func edited(holder any, path []string, change func(holder any, key string) (any, error)) (any, error) {
	if len(path) == 1 {
		return change(holder, path[0])
	}
	inner, err := step(holder, path[0])
	if err != nil {
		return nil, err
	}
	if inner, err = edited(inner, path[1:], change); err != nil {
		return nil, err
	}
	return replace(holder, path[0], inner)
}

// find gives what is at a path.
func find(document any, path []string) (any, error) {
	var err error
	for _, key := range path {
		if document, err = step(document, key); err != nil {
			return nil, err
		}
	}
	return document, nil
}

// step gives what a map or list has at a key, which must be there.
func step(holder any, key string) (any, error) {
	switch h := holder.(type) {
	case map[string]any:
		if value, ok := h[key]; ok {
			return value, nil
		}
		return nil, fmt.Errorf("there is no %q", key)
	case []any:
		at, err := index(key, len(h))
		if err != nil {
			return nil, err
		}
		return h[at], nil
	}
	return nil, fmt.Errorf("there is no %q: what it would be in is no map and no list", key)
}

// index reads a place in a list that has some length.
func index(key string, length int) (int, error) {
	at, err := strconv.Atoi(key)
	if err != nil || at < 0 || strconv.Itoa(at) != key {
		return 0, fmt.Errorf("%q is no place in a list", key)
	}
	if at >= length {
		return 0, fmt.Errorf("there is no place %s in the list: it has %d entries", key, length)
	}
	return at, nil
}

func replace(holder any, key string, value any) (any, error) {
	if _, err := step(holder, key); err != nil {
		return nil, err
	}
	switch h := holder.(type) {
	case map[string]any:
		h[key] = value
	case []any:
		at, _ := strconv.Atoi(key)
		h[at] = value
	}
	return holder, nil
}

func remove(holder any, key string) (any, error) {
	if _, err := step(holder, key); err != nil {
		return nil, err
	}
	if list, ok := holder.([]any); ok {
		at, _ := strconv.Atoi(key)
		return slices.Delete(list, at, at+1), nil
	}
	delete(holder.(map[string]any), key)
	return holder, nil
}

// add puts a value to a key of a map, or into a list, whose end is "-".
func add(holder any, key string, value any) (any, error) {
	list, ok := holder.([]any)
	if !ok {
		if fields, ok := holder.(map[string]any); ok {
			fields[key] = value
			return fields, nil
		}
		return step(holder, key)
	}
	if key == "-" {
		return append(list, value), nil
	}
	at, err := index(key, len(list)+1)
	if err != nil {
		return nil, err
	}
	return slices.Insert(list, at, value), nil
}

// same tells whether two values are equal in JSON, where 1 and 1.0 are one number.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for key, value := range a {
			if inner, ok := other[key]; !ok || !same(value, inner) {
				return false
			}
		}
		return true
	case []any:
		other, ok := b.([]any)
		return ok && slices.EqualFunc(a, other, same)
	}
	return number(a) == number(b)
}

// number makes an int64 of a float64 that is one.
func number(value any) any {
	const beyond = 1 << 63
	f, ok := value.(float64)
	if !ok || f != math.Trunc(f) || f < -beyond || f >= beyond {
		return value
	}
	return int64(f)
}
