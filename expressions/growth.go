// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// CheckWork tells how much work it is to check the types of an expression: its parts, times those that make a
// type of others, lists, maps and optionals. cel-go copies all types that it infers again and again, and writes
// each out as a text wherever it compares it.
func (e *Environment) CheckWork(tree *ast.AST) int {
	all, typed := 0, 1
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(part ast.Expr) {
		all++
		if e.isTyped(part) {
			typed++
		}
	}))
	return all * typed
}

// maxDeep is how many parts may make types that are within each other; see bounded.
const maxDeep = 60

// bounded keeps the types of a parsed expression small. A map can have a type twice, as `{a: a}` has, or as an
// empty one may be inferred to have: some such within each other are a tree with more parts than any memory
// holds. So keys that are no literals have no type. Then no type is deeper than there are lists, maps and
// optionals of other than literals, whatever is inferred of an empty list later. In an expression that has more
// than so many of these, all are dynamic for what they are part of.
func (e *Environment) bounded(tree *ast.AST) error {
	var built, keyless []ast.Expr
	optional := map[int64]bool{} // cel-go must see that they are
	isComputed := func(part ast.Expr) bool { return part.Kind() != ast.LiteralKind }
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(part ast.Expr) {
		if !e.isTyped(part) {
			return
		}
		switch part.Kind() {
		case ast.ListKind:
			for _, i := range part.AsList().OptionalIndices() {
				optional[part.AsList().Elements()[i].ID()] = true
			}
		case ast.MapKind:
			isKeyless := func(entry ast.EntryExpr) bool { return isComputed(entry.AsMapEntry().Key()) }
			entries := part.AsMap().Entries()
			if len(entries) == 0 || slices.ContainsFunc(entries, isKeyless) {
				keyless = append(keyless, part)
			}
			for _, entry := range entries {
				optional[entry.AsMapEntry().Value().ID()] = entry.AsMapEntry().IsOptional()
			}
		default:
		}
		if inner := children(part); len(inner) == 0 || slices.ContainsFunc(inner, isComputed) {
			built = append(built, part)
		}
	}))
	m, err := newMetering(tree)
	if err != nil {
		return err
	}
	if len(built) <= maxDeep {
		for _, part := range keyless {
			m.wrap(part, keyed)
		}
		return nil
	}
	for _, part := range built {
		if !optional[part.ID()] {
			m.wrap(part, overloads.TypeConvertDyn)
		}
	}
	return nil
}

// Written gives a part of an expression that was parsed as it is written, without what bounds its types.
func Written(part ast.Expr) ast.Expr {
	if part.Kind() == ast.CallKind && part.AsCall().FunctionName() == keyed {
		return part.AsCall().Args()[0]
	}
	return part
}

// isTyped tells whether a part makes a type of others.
func (e *Environment) isTyped(part ast.Expr) bool {
	return part.Kind() == ast.ListKind || part.Kind() == ast.MapKind || part.Kind() == ast.CallKind && e.isBuilder(part.AsCall())
}

// isBuilder tells whether a call is one of a function whose type is larger than those of its arguments.
func (e *Environment) isBuilder(call ast.CallExpr) bool {
	name := strings.TrimPrefix(call.FunctionName(), ".")
	if call.IsMemberFunction() && call.Target().Kind() == ast.IdentKind {
		namespace := strings.TrimPrefix(call.Target().AsIdent(), ".")
		return e.builders[name] || e.builders[namespace+"."+name]
	}
	return e.builders[name]
}

// builds tells whether the type that a function gives has one of those that it is given within more than that
// was within.
func builds(overload *decls.OverloadDecl) bool {
	for _, param := range overload.TypeParams() {
		least := -1
		for _, arg := range overload.ArgTypes() {
			if depth := depthOf(param, arg); depth >= 0 && (least < 0 || depth < least) {
				least = depth
			}
		}
		if depthOf(param, overload.ResultType()) > max(least, 0) {
			return true
		}
	}
	return false
}

// depthOf tells within how many types a parameter is, -1 for none.
func depthOf(param string, in *cel.Type) int {
	if in.Kind() == types.TypeParamKind && in.TypeName() == param {
		return 0
	}
	deepest := -1
	for _, part := range in.Parameters() {
		if depth := depthOf(param, part); depth >= 0 {
			deepest = max(deepest, depth+1)
		}
	}
	return deepest
}
