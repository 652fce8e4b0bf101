// SPDX-License-Identifier: Apache-2.0

package health

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"

	"kumodo.io/convoy/health/openapi"
)

// fieldsOf is a function of type checks alone: an object, taken for a map of its fields. An
// expression cannot have a function of that name.
const fieldsOf = "@fields"

// declarations are the types of the objects of one kind, as evaluations see them: values come
// as they are in JSON, so that a date is a string. They are declared as they are met. Types
// are called after the way to them, "Widget.status.conditions[]".
type declarations struct {
	types.Provider // what CEL has itself
	objects        map[string]*openapi.Schema
}

func newDeclarations(builtin types.Provider) *declarations {
	return &declarations{Provider: builtin, objects: map[string]*openapi.Schema{}}
}

// environment declares what rules can use, with an object of the schema.
func (d *declarations) environment(env *cel.Env, kind string, of *openapi.Schema) (*checker.Env, error) {
	checks, err := checker.NewEnv(containers.DefaultContainer, d, checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, err
	}
	for _, variable := range env.Variables() {
		if variable.Name() == variableObject {
			variable = decls.NewVariable(variableObject, d.typeOf(of, kind))
		}
		if err := checks.AddIdents(variable); err != nil {
			return nil, err
		}
	}
	fields, err := decls.NewFunction(fieldsOf, decls.Overload("fields_of", []*types.Type{types.DynType}, types.NewMapType(types.StringType, types.DynType)))
	if err != nil {
		return nil, err
	}
	if err := checks.AddFunctions(fields); err != nil {
		return nil, err
	}
	for _, function := range env.Functions() {
		if function.IsDeclarationDisabled() {
			continue
		}
		if err := checks.AddFunctions(function); err != nil {
			return nil, err
		}
	}
	return checks, nil
}

// typeOf declares the type of what is at a path.
func (d *declarations) typeOf(of *openapi.Schema, path string) *types.Type {
	return d.typeWithin(of, path, nesting)
}

// nesting is how many lists and maps within each other have a type: a schema may say that a map
// consists of such maps.
const nesting = 8

func (d *declarations) typeWithin(of *openapi.Schema, path string, left int) *types.Type {
	if left == 0 {
		return types.DynType
	}
	switch of.Type {
	case openapi.Object:
		d.objects[path] = of
		return types.NewObjectType(path)
	case openapi.Map:
		return types.NewMapType(types.StringType, d.typeWithin(of.Elem, path+"{}", left-1))
	case openapi.List:
		return types.NewListType(d.typeWithin(of.Elem, path+"[]", left-1))
	case openapi.String:
		return types.StringType
	case openapi.Integer:
		return types.IntType
	case openapi.Number:
		return types.DoubleType
	case openapi.Boolean:
		return types.BoolType
	}
	return types.DynType
}

// FindStructType gives the type of an object that was declared.
func (d *declarations) FindStructType(name string) (*types.Type, bool) {
	if _, ok := d.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return d.Provider.FindStructType(name)
}

// FindStructFieldType gives the type of a field of an object.
func (d *declarations) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	object, ok := d.objects[name]
	if !ok {
		return d.Provider.FindStructFieldType(name, field)
	}
	if of := object.Fields[field]; of != nil {
		return &types.FieldType{Type: d.typeOf(of, name+"."+field)}, true
	}
	return &types.FieldType{Type: types.DynType}, object.Open
}

// object gives the schema behind the type of an object, or of an optional one; nil for others.
func (d *declarations) object(t *types.Type) *openapi.Schema {
	t = present(t)
	if t.Kind() != types.StructKind {
		return nil
	}
	return d.objects[t.TypeName()]
}

// present is the type of what an optional value has when it has any.
func present(t *types.Type) *types.Type {
	if isOptional(t) {
		return t.Parameters()[0]
	}
	return t
}

func isOptional(t *types.Type) bool {
	return t.Kind() == types.OpaqueKind && t.TypeName() == types.OptionalType.TypeName()
}
