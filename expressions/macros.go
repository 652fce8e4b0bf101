// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// held is the variable that optMap and optFlatMap hold their target in.
const held = "@optional"

// optionalMacros are optMap and optFlatMap. Those of cel-go copy their target, so that a chain of them
// is a tree, and of forty no memory can hold it.
func optionalMacros() []cel.Macro {
	of := func(factory cel.MacroExprFactory, mapped ast.Expr) ast.Expr {
		return factory.NewCall("optional.of", mapped)
	}
	as := func(_ cel.MacroExprFactory, mapped ast.Expr) ast.Expr { return mapped }
	return []cel.Macro{
		cel.ReceiverMacro("optMap", 2, optionalMacro("optMap", of)),
		cel.ReceiverMacro("optFlatMap", 2, optionalMacro("optFlatMap", as)),
	}
}

func optionalMacro(name string, result func(cel.MacroExprFactory, ast.Expr) ast.Expr) cel.MacroFactory {
	return func(factory cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if args[0].Kind() != ast.IdentKind {
			return nil, factory.NewError(args[0].ID(), name+"() variable name must be a simple identifier")
		}
		bind := func(variable string, value, in ast.Expr) ast.Expr {
			return factory.NewComprehension(factory.NewList(), "#unused", variable, value,
				factory.NewLiteral(types.False), factory.NewIdent(variable), in)
		}
		mapped := bind(args[0].AsIdent(), factory.NewMemberCall("value", factory.NewIdent(held)), args[1])
		return bind(held, target, factory.NewCall(operators.Conditional,
			factory.NewMemberCall("hasValue", factory.NewIdent(held)), result(factory, mapped), factory.NewCall("optional.none"))), nil
	}
}
