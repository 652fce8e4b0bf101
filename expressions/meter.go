// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"errors"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// What an expression does is paid in four places, before it is done:
//
//   - each part of it once, when an evaluation begins, and those of a loop for each turn ([turnOf]);
//   - what a loop goes over, of which cel-go copies all keys when it is a map ([looped]);
//   - each call, by what the function will cost with these arguments (costs.go);
//   - what is put into a list or map, or looked up in one, by its weight to the leaves ([weighed]): so no value
//     has more leaves than were paid for, though lists are shared, and no error quotes more.
//
// [keyed] is no payment: it keeps the types of maps small (growth.go).
//
// cel-go's own CostLimit counts a call after it returned, a list of any length as ten units, and literals as
// nothing.
const (
	turnOf  = "@turn"
	weighed = "@weighed"
	looped  = "@looped"
	keyed   = "@keyed"
)

func internals() []cel.EnvOption {
	a, b := cel.TypeParamType("A"), cel.TypeParamType("B")
	same := cel.UnaryBinding(func(value ref.Val) ref.Val { return value })
	return []cel.EnvOption{
		cel.Function(turnOf, cel.Overload("turn", []*cel.Type{a, cel.IntType}, a,
			cel.BinaryBinding(func(value, _ ref.Val) ref.Val { return value }))),
		cel.Function(weighed, cel.Overload("weighed", []*cel.Type{a}, a, same)),
		cel.Function(looped, cel.Overload("looped", []*cel.Type{a}, a, same)),
		cel.Function(keyed, cel.Overload("keyed", []*cel.Type{cel.MapType(a, b)}, cel.MapType(cel.DynType, b), same)),
	}
}

// count gives how many parts an expression has, or any greater than the limit.
func count(e ast.Expr, limit int) int {
	n := 1
	for _, child := range children(e) {
		if n > limit {
			return n
		}
		n += count(child, limit-n)
	}
	return n
}

// parts is the cost of each part of an expression once, without what is within its loops.
func parts(e ast.Expr) uint64 {
	cost := uint64(1)
	switch e.Kind() {
	case ast.LiteralKind:
		return size(e.AsLiteral())
	case ast.ListKind:
		cost = 10
	case ast.MapKind:
		cost = 30
	case ast.StructKind:
		cost = 40
	case ast.ComprehensionKind:
		fold := e.AsComprehension()
		return 10 + parts(fold.IterRange()) + parts(fold.AccuInit()) + parts(fold.Result()) + parts(fold.LoopCondition())
	}
	for _, child := range children(e) {
		cost += parts(child)
	}
	return cost
}

func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			return append([]ast.Expr{call.Target()}, call.Args()...)
		}
		return call.Args()
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var all []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			all = append(all, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return all
	case ast.StructKind:
		var all []ast.Expr
		for _, field := range e.AsStruct().Fields() {
			all = append(all, field.AsStructField().Value())
		}
		return all
	case ast.ComprehensionKind:
		fold := e.AsComprehension()
		return []ast.Expr{fold.IterRange(), fold.AccuInit(), fold.LoopCondition(), fold.LoopStep(), fold.Result()}
	}
	return nil
}

// meter puts the payments for loops and for what goes into lists and maps into a parsed expression.
func meter(tree *ast.AST) error {
	m, err := newMetering(tree)
	if err != nil {
		return err
	}
	m.visit(tree.Expr())
	return nil
}

func newMetering(tree *ast.AST) (*metering, error) {
	var ids int64
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) { ids = max(ids, e.ID()) }))
	for id := range tree.SourceInfo().MacroCalls() {
		ids = max(ids, id)
	}
	if ids > math.MaxInt32 {
		return nil, errors.New("the expression has too many parts")
	}
	return &metering{tree: tree, factory: ast.NewExprFactory(), last: ids}, nil
}

// metering wraps parts of a parsed expression into calls.
type metering struct {
	tree    *ast.AST
	factory ast.ExprFactory
	last    int64
}

func (m *metering) visit(e ast.Expr) {
	for _, child := range children(e) {
		m.visit(child)
	}
	switch e.Kind() {
	case ast.ListKind, ast.MapKind, ast.StructKind:
		for _, child := range children(e) {
			m.weigh(child)
		}
	case ast.CallKind:
		if name := e.AsCall().FunctionName(); name == operators.Index || name == operators.OptIndex {
			m.weigh(e.AsCall().Args()[1])
		}
	case ast.ComprehensionKind:
		fold := e.AsComprehension()
		turn := parts(fold.LoopStep()) + parts(fold.LoopCondition())
		m.wrap(fold.LoopStep(), turnOf, m.factory.NewLiteral(m.id(fold.LoopStep()), types.Int(turn))) //nolint:gosec // an expression has MaxNodes parts.
		if fold.IterRange().Kind() != ast.ListKind {                                                  // any other may be a map, also what a macro gives
			m.wrap(fold.IterRange(), looped)
		}
	}
}

func (m *metering) weigh(e ast.Expr) {
	if e.Kind() != ast.LiteralKind {
		m.wrap(e, weighed)
	}
}

// wrap makes a part the first argument of a call that takes its place.
func (m *metering) wrap(part ast.Expr, function string, more ...ast.Expr) {
	inner := m.factory.NewUnspecifiedExpr(m.id(part))
	inner.SetKindCase(part)
	part.SetKindCase(m.factory.NewCall(part.ID(), function, append([]ast.Expr{inner}, more...)...))
}

// id gives a new id for what stands where a part is.
func (m *metering) id(at ast.Expr) int64 {
	m.last++
	if place, ok := m.tree.SourceInfo().GetOffsetRange(at.ID()); ok {
		m.tree.SourceInfo().SetOffsetRange(m.last, place)
	}
	return m.last
}

// planning makes the steps of one expression.
type planning struct {
	*Environment
	literals patterns
}

// charged makes a step of an evaluation pay what it costs.
func (p *planning) charged(step interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	one, ok := step.(interpreter.InterpretableCall)
	if !ok {
		return step, nil
	}
	args := one.Args()
	switch one.Function() {
	case turnOf:
		cost, _ := args[1].(interpreter.InterpretableConst).Value().(types.Int)
		return &turn{InterpretableV2: args[0], cost: uint64(cost)}, nil //nolint:gosec // not negative
	case operators.NotStrictlyFalse, operators.OldNotStrictlyFalse: // looks at errors, too, and at nothing else
		return step, nil
	}
	paid := &call{InterpretableCall: one, cost: costOf(one.Function())}
	if function, ok := patterned[one.Function()]; ok {
		return paid, paid.withPattern(function, &p.literals)
	}
	run := p.binding(one)
	paid.run = func(_ *budget, args []ref.Val) ref.Val { return run(args...) }
	return paid, nil
}

// turn is the step of a loop.
type turn struct {
	interpreter.InterpretableV2
	cost uint64
}

// Exec implements interpreter.InterpretableV2.
func (t *turn) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	budgetOf(frame).spend(t.cost)
	return t.InterpretableV2.Exec(frame)
}

// Eval implements interpreter.Interpretable.
func (t *turn) Eval(vars interpreter.Activation) ref.Val { return t.Exec(interpreter.AsFrame(vars)) }

// call is a call that is paid before it is made.
type call struct {
	interpreter.InterpretableCall
	cost cost
	// run may pay for what only shows while it works.
	run func(left *budget, args []ref.Val) ref.Val
}

// Exec implements interpreter.InterpretableV2.
func (c *call) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	operands := c.Args()
	args := make([]ref.Val, len(operands))
	for i, operand := range operands {
		args[i] = operand.Exec(frame)
		if types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	left := budgetOf(frame)
	left.spend(c.cost(args, left.left))
	return types.LabelErrNode(c.ID(), c.run(left, args))
}

// Eval implements interpreter.Interpretable.
func (c *call) Eval(vars interpreter.Activation) ref.Val { return c.Exec(interpreter.AsFrame(vars)) }

// binding gives what a call runs.
func (e *Environment) binding(one interpreter.InterpretableCall) functions.FunctionOp {
	switch one.Function() {
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }
	}
	found := e.bindings[one.OverloadID()]
	if found == nil {
		found = e.bindings[one.Function()]
	}
	run := func(args ...ref.Val) ref.Val {
		switch {
		case found == nil || found.OperandTrait != 0 && !args[0].Type().HasTrait(found.OperandTrait):
			return receive(one, args)
		case len(args) == 1 && found.Unary != nil:
			return found.Unary(args[0])
		case len(args) == 2 && found.Binary != nil:
			return found.Binary(args[0], args[1])
		case found.Function != nil:
			return found.Function(args...)
		}
		return types.NewErr("no such overload: %s", one.Function())
	}
	if one.Function() == operators.Add {
		return func(args ...ref.Val) ref.Val { return joined(args, run) }
	}
	return run
}

// receive calls a method of a value.
func receive(one interpreter.InterpretableCall, args []ref.Val) ref.Val {
	if len(args) > 0 && args[0].Type().HasTrait(traits.ReceiverType) {
		if receiver, ok := args[0].(traits.Receiver); ok {
			return receiver.Receive(one.Function(), one.OverloadID(), args[1:])
		}
	}
	return types.NewErr("no such overload: %s", one.Function())
}

// joined gives the sum of two lists as one list, where cel-go would have a tree of lists that is searched for
// each element. What a loop gathers is appended to in place.
func joined(args []ref.Val, run functions.FunctionOp) ref.Val {
	first, isList := args[0].(traits.Lister)
	second, areLists := args[1].(traits.Lister)
	if _, gathered := args[0].(traits.MutableLister); gathered || !isList || !areLists {
		return run(args...)
	}
	var elements []ref.Val
	for _, list := range []traits.Lister{first, second} {
		for it := list.Iterator(); it.HasNext() == types.True; {
			elements = append(elements, it.Next())
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, elements)
}
