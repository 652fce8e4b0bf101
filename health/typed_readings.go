// SPDX-License-Identifier: Apache-2.0

package health

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"

	"kumodo.io/convoy/expressions"
)

// An evaluation sees maps where a schema has objects, and JSON does not tell an integer from
// another number. So some of what types forbid does work, and is no mistake: such parts are read
// otherwise, and checked again.

// orValue and value are functions of optional values.
const (
	orValue = "orValue"
	value   = "value"
)

// readOtherwise changes a part of an expression in which the check found an error so that it is
// read as an evaluation would; false when it can be read as it was only.
func (c *typeCheck) readOtherwise(tree, checked *ast.AST, id int64) bool {
	part := partOf(tree.Expr(), id)
	if part == nil {
		return false
	}
	// The error is said of an object itself where something else is to be done with each key of it.
	if t := checked.GetType(id); t.Kind() == types.StructKind && c.types.object(t) != nil {
		wrap(tree, part, fieldsOf)
		return true
	}
	if part.Kind() != ast.CallKind {
		return false
	}
	call := part.AsCall()
	operands := operandsOf(call)
	given := make([]*types.Type, len(operands))
	for i, operand := range operands {
		given[i] = checked.GetType(operand.ID())
	}
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex:
		return c.readField(tree, part, operands, given)
	case orValue:
		return readEmpty(part, operands)
	case operators.Conditional:
		return dynamic(tree, operands[1:], given[1:], isNull) || c.readObjects(tree, operands[1:], given[1:])
	case operators.Equals, operators.NotEquals:
		return compareAny(tree, operands, given) || c.readObjects(tree, operands, given)
	case operators.In:
		return c.readIn(tree, operands, given)
	case overloads.Size:
		return c.readMap(tree, operands[0], given[0])
	}
	return false
}

func operandsOf(call ast.CallExpr) []ast.Expr {
	if !call.IsMemberFunction() {
		return call.Args()
	}
	return append([]ast.Expr{call.Target()}, call.Args()...)
}

// readField reads object["field"] as object.field, and what is looked up by another key as what
// nothing is known of.
func (c *typeCheck) readField(tree *ast.AST, part ast.Expr, operands []ast.Expr, given []*types.Type) bool {
	if c.types.object(given[0]) == nil {
		return false
	}
	factory := ast.NewExprFactory()
	name, isText := literal(operands[1])
	switch {
	case !isText:
		wrap(tree, operands[0], overloads.TypeConvertDyn)
	case part.AsCall().FunctionName() == operators.OptIndex:
		part.SetKindCase(factory.NewCall(part.ID(), operators.OptSelect, operands...))
	default:
		part.SetKindCase(factory.NewSelect(part.ID(), operands[0], name))
	}
	return true
}

// readEmpty reads object.orValue({}) and object.orValue(null) as the object.
func readEmpty(part ast.Expr, operands []ast.Expr) bool {
	if len(operands) != 2 || !isEmpty(operands[1]) {
		return false
	}
	part.SetKindCase(ast.NewExprFactory().NewMemberCall(part.ID(), value, operands[0]))
	return true
}

func isEmpty(e ast.Expr) bool {
	e = expressions.Written(e)
	return e.Kind() == ast.MapKind && e.AsMap().Size() == 0 || e.Kind() == ast.LiteralKind && e.AsLiteral().Type() == types.NullType
}

// compareAny lets everything be compared with null, and numbers of all types with each other.
func compareAny(tree *ast.AST, operands []ast.Expr, given []*types.Type) bool {
	if isNull(given[0]) || isNull(given[1]) || isNumber(given[0]) && isNumber(given[1]) {
		return dynamic(tree, operands[:1], given[:1], func(t *types.Type) bool { return t.Kind() != types.DynKind })
	}
	return false
}

// readIn lets numbers of all types be looked for, and fields of an object by their name.
func (c *typeCheck) readIn(tree *ast.AST, operands []ast.Expr, given []*types.Type) bool {
	if c.readMap(tree, operands[1], given[1]) {
		return true
	}
	return given[1].Kind() == types.ListKind && compareAny(tree, operands, []*types.Type{given[0], given[1].Parameters()[0]})
}

// readObjects reads objects as maps where one of several values is a map.
func (c *typeCheck) readObjects(tree *ast.AST, operands []ast.Expr, given []*types.Type) bool {
	isMap := false
	for _, t := range given {
		isMap = isMap || t.Kind() == types.MapKind
	}
	changed := false
	for i := range operands {
		changed = isMap && c.readMap(tree, operands[i], given[i]) || changed
	}
	return changed
}

// readMap reads an object as a map.
func (c *typeCheck) readMap(tree *ast.AST, e ast.Expr, given *types.Type) bool {
	if given.Kind() != types.StructKind || c.types.object(given) == nil {
		return false
	}
	wrap(tree, e, fieldsOf)
	return true
}

// dynamic takes the type from operands that have one of some types.
func dynamic(tree *ast.AST, operands []ast.Expr, given []*types.Type, of func(*types.Type) bool) bool {
	changed := false
	for i := range operands {
		if of(given[i]) {
			wrap(tree, operands[i], overloads.TypeConvertDyn)
			changed = true
		}
	}
	return changed
}

func isNull(t *types.Type) bool { return t.Kind() == types.NullTypeKind }

func isNumber(t *types.Type) bool {
	return t.Kind() == types.IntKind || t.Kind() == types.UintKind || t.Kind() == types.DoubleKind
}

// wrap makes a call of a function of a part of an expression, in its place.
func wrap(tree *ast.AST, part ast.Expr, function string) {
	factory := ast.NewExprFactory()
	inner := factory.NewUnspecifiedExpr(ast.MaxID(tree) + 1)
	inner.SetKindCase(part)
	if at, ok := tree.SourceInfo().GetOffsetRange(part.ID()); ok {
		tree.SourceInfo().SetOffsetRange(inner.ID(), at)
	}
	part.SetKindCase(factory.NewCall(part.ID(), function, inner))
}

// partOf gives the part of an expression that has an id.
func partOf(in ast.Expr, id int64) ast.Expr {
	var found ast.Expr
	ast.PreOrderVisit(in, ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			found = e
		}
	}))
	return found
}

// literal gives a text that stands in an expression.
func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}
