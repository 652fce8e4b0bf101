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

const (
	// maxTyped is how many parts of an expression may make a type of others: lists, maps, optionals.
	maxTyped = 60
	// computedKeys is what a map counts for that can have the type of a part twice.
	computedKeys = 12
)

// bounded keeps the types of a parsed expression small: cel-go writes each out as a text wherever it compares
// it, to the depth that the expression has, or as a tree that doubles with each `{a: a}`. In an
// expression that has more than so many lists, maps and optionals, they are dynamic for what they are part of.
// No type is then deeper than they are many, whatever is inferred of an empty list later.
func (e *Environment) bounded(tree *ast.AST) error {
	var built []ast.Expr
	optional := map[int64]bool{} // cel-go must see that they are
	count := 0
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(part ast.Expr) {
		switch part.Kind() {
		case ast.ListKind:
			count++
			for _, i := range part.AsList().OptionalIndices() {
				optional[part.AsList().Elements()[i].ID()] = true
			}
		case ast.MapKind:
			count++
			for _, entry := range part.AsMap().Entries() {
				optional[entry.AsMapEntry().Value().ID()] = entry.AsMapEntry().IsOptional()
			}
			if slices.ContainsFunc(part.AsMap().Entries(), func(entry ast.EntryExpr) bool { return entry.AsMapEntry().Key().Kind() != ast.LiteralKind }) {
				count += computedKeys
			}
		case ast.CallKind:
			if !e.isBuilder(part.AsCall()) {
				return
			}
			count++
		default:
			return
		}
		built = append(built, part)
	}))
	if count <= maxTyped {
		return nil
	}
	m, err := newMetering(tree)
	if err != nil {
		return err
	}
	for _, part := range built {
		if !optional[part.ID()] {
			m.wrap(part, overloads.TypeConvertDyn)
		}
	}
	return nil
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
