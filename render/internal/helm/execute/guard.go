// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"fmt"
	"reflect"
	"slices"
	"text/template"
	"text/template/parse"
)

// Templates are parsed without these functions, so that no chart can call them; they are
// put into what was parsed.
const (
	stepGuard   = "convoy_step"   // one iteration
	enterGuard  = "convoy_enter"  // before a template is called
	leaveGuard  = "convoy_leave"  // after it
	otherGuard  = "convoy_other"  // asks of a field whether something else is written for it
	passedGuard = "convoy_passed" // between what makes a value and the writing of it
	madeGuard   = "convoy_made"   // behind a method that makes something
)

func (r *run) guards() template.FuncMap {
	return template.FuncMap{
		stepGuard:   func() (string, error) { return "", r.step(1) },
		enterGuard:  func() (string, error) { return "", r.enter() },
		leaveGuard:  func() string { r.leave(); return "" },
		otherGuard:  r.other,
		passedGuard: r.passed,
		madeGuard:   func(v any) any { return bound{run: r}.value(v) },
	}
}

// other tells whether something else is written than a value; not for one that the library
// writes by a method that it has where it lies only.
func (r *run) other(v any) (bool, error) {
	if err := r.whole(v); err != nil {
		return false, err
	}
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(stringer) {
		return false, nil
	}
	_, other := shown.of(v, 0)
	return other, nil
}

var stringer = reflect.TypeFor[fmt.Stringer]()

// passed gives what is written of a value: of a pointer, what it points to.
func (r *run) passed(v any) (any, error) {
	if err := r.whole(v); err != nil {
		return nil, err
	}
	printed := shown.one(v)
	if s, ok := printed.(structure); ok {
		s.referred = false
		return s, nil
	}
	return printed, nil
}

// guard puts guards into a template: where it iterates, where it calls another one, and
// where it writes a value that is no text.
func (r *run) guard(tree *parse.Tree) { r.guardList(tree.Root) }

func (r *run) guardList(list *parse.ListNode) {
	if list == nil {
		return
	}
	nodes := make([]parse.Node, 0, len(list.Nodes))
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			guardMethods(n.Pipe)
			if len(n.Pipe.Decl) > 0 || r.givesText(n.Pipe) {
				break
			}
			// What is read from a field may print otherwise once it was passed on.
			if at := plain(n.Pipe); at != nil {
				nodes = append(nodes, written(n, at))
				continue
			}
			n.Pipe.Cmds = append(n.Pipe.Cmds, call(passedGuard, n.Pos))
		case *parse.TemplateNode:
			guardMethods(n.Pipe)
			nodes = append(nodes, action(enterGuard, n.Pos, n.Line), n, action(leaveGuard, n.Pos, n.Line))
			continue
		case *parse.IfNode:
			r.guardBranch(&n.BranchNode)
		case *parse.WithNode:
			r.guardBranch(&n.BranchNode)
		case *parse.RangeNode:
			r.guardBranch(&n.BranchNode)
			n.List.Nodes = append([]parse.Node{action(stepGuard, n.Pos, n.Line)}, n.List.Nodes...)
		}
		nodes = append(nodes, node)
	}
	list.Nodes = nodes
}

func (r *run) guardBranch(branch *parse.BranchNode) {
	guardMethods(branch.Pipe)
	r.guardList(branch.List)
	r.guardList(branch.ElseList)
}

// methods are those of .Files without arguments. Methods make texts and lists, and take
// nothing from the budget; those with arguments are known by these.
var methods = []string{"AsConfig", "AsSecrets"}

// guardMethods puts guards behind the methods in a pipeline.
func guardMethods(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	var commands []*parse.CommandNode
	for _, command := range pipe.Cmds {
		for i, arg := range command.Args {
			switch n := arg.(type) {
			case *parse.PipeNode:
				guardMethods(n)
			case *parse.ChainNode:
				if inner, ok := n.Node.(*parse.PipeNode); ok {
					guardMethods(inner)
				}
			}
			if i > 0 && isMethod(arg, false) {
				command.Args[i] = &parse.PipeNode{NodeType: parse.NodePipe, Pos: arg.Position(), Line: pipe.Line, Cmds: []*parse.CommandNode{
					{NodeType: parse.NodeCommand, Pos: arg.Position(), Args: []parse.Node{arg}}, call(madeGuard, arg.Position()),
				}}
			}
		}
		commands = append(commands, command)
		if isMethod(command.Args[0], len(command.Args) > 1) {
			commands = append(commands, call(madeGuard, command.Pos))
		}
	}
	pipe.Cmds = commands
}

// isMethod tells whether what a field, a variable or a chain leads to may be a method.
func isMethod(node parse.Node, hasArguments bool) bool {
	var names []string
	switch n := node.(type) {
	case *parse.FieldNode:
		names = n.Ident
	case *parse.VariableNode:
		names = n.Ident
	case *parse.ChainNode:
		names = n.Field
	}
	return len(names) > 0 && (hasArguments || slices.Contains(methods, names[len(names)-1]))
}

// plain gives the only thing in a pipeline, if it is a field or a variable: reading it twice
// does no harm.
func plain(pipe *parse.PipeNode) parse.Node {
	if len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return nil
	}
	switch only := pipe.Cmds[0].Args[0].(type) {
	case *parse.FieldNode, *parse.VariableNode, *parse.DotNode:
		return only
	}
	return nil
}

// written gives the writing of a field or a variable: of what is printed in its place, if
// that is something else.
func written(field *parse.ActionNode, at parse.Node) parse.Node {
	asks := action(otherGuard, field.Pos, field.Line, at)
	return &parse.IfNode{BranchNode: parse.BranchNode{
		NodeType: parse.NodeIf, Pos: field.Pos, Line: field.Line, Pipe: asks.Pipe,
		List:     &parse.ListNode{NodeType: parse.NodeList, Pos: field.Pos, Nodes: []parse.Node{action(passedGuard, field.Pos, field.Line, at)}},
		ElseList: &parse.ListNode{NodeType: parse.NodeList, Pos: field.Pos, Nodes: []parse.Node{field}},
	}}
}

// givesText tells whether what a pipeline gives is surely a text, an integer or a boolean.
func (r *run) givesText(pipe *parse.PipeNode) bool {
	last := pipe.Cmds[len(pipe.Cmds)-1]
	name, ok := last.Args[0].(*parse.IdentifierNode)
	if !ok {
		return false
	}
	if name.Ident == "include" || name.Ident == "tpl" {
		return true
	}
	function := reflect.TypeOf(r.functions[name.Ident])
	if function == nil || function.Kind() != reflect.Func {
		return false
	}
	switch function.Out(0).Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
		return true
	}
	return false
}

func action(name string, at parse.Pos, line int, args ...parse.Node) *parse.ActionNode {
	return &parse.ActionNode{
		NodeType: parse.NodeAction, Pos: at, Line: line,
		Pipe: &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Line: line, Cmds: []*parse.CommandNode{call(name, at, args...)}},
	}
}

func call(name string, at parse.Pos, args ...parse.Node) *parse.CommandNode {
	return &parse.CommandNode{
		NodeType: parse.NodeCommand, Pos: at,
		Args: append([]parse.Node{parse.NewIdentifier(name).SetPos(at)}, args...),
	}
}
