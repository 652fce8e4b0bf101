// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kumodo.io/convoy/health/openapi"
)

// say tells an error of the check in words that name the object and what it has.
func (c *typeCheck) say(checked *ast.AST, err *common.Error) string {
	part := partOf(checked.Expr(), err.ExprID)
	if part == nil {
		return err.Message + c.of()
	}
	if operand, field, ok := selection(part); ok {
		t := present(checked.GetType(operand.ID()))
		if object := c.types.object(t); object != nil {
			return fmt.Sprintf("%s has no field %q%s%s", t.TypeName(), field, c.of(), others(field, object))
		}
		return fmt.Sprintf("a value of type %s has no field %q%s", checker.FormatCELType(t), field, c.of())
	}
	if part.Kind() == ast.CallKind {
		call := part.AsCall()
		if name := call.FunctionName(); name == operators.Equals || name == operators.NotEquals {
			left, right := checked.GetType(call.Args()[0].ID()), checked.GetType(call.Args()[1].ID())
			return fmt.Sprintf("a value of type %s never equals one of type %s%s", checker.FormatCELType(left), checker.FormatCELType(right), c.of())
		}
	}
	return err.Message + c.of()
}

// selection gives the operand and the field of a part that selects one.
func selection(part ast.Expr) (operand ast.Expr, field string, ok bool) {
	switch part.Kind() {
	case ast.SelectKind:
		return part.AsSelect().Operand(), part.AsSelect().FieldName(), true
	case ast.CallKind:
		if call := part.AsCall(); call.FunctionName() == operators.OptSelect && len(call.Args()) == 2 {
			field, ok = literal(call.Args()[1])
			return call.Args()[0], field, ok
		}
	}
	return nil, "", false
}

const (
	// namesShown is how many fields or values a message names at most.
	namesShown = 12
	// nameLimit is how long such a name may be: a schema can have any.
	nameLimit = 63
)

// others tells which field may be meant, or which there are.
func others(field string, object *openapi.Schema) string {
	names := slices.Sorted(maps.Keys(object.Fields))
	for _, name := range names {
		if len(name) <= nameLimit && (strings.EqualFold(name, field) || distance(name, field) <= min(2, len(field)/3)) {
			return fmt.Sprintf(", did you mean %q?", name)
		}
	}
	if len(names) == 0 {
		return "; it has none"
	}
	return "; it has " + list(names)
}

// list names fields or values, quoted where they are no plain words.
func list(names []string) string {
	shown := make([]string, 0, namesShown)
	for _, name := range names {
		if quoted := strconv.Quote(name); len(shown) < namesShown && len(quoted) <= nameLimit+2 {
			if name != "" && quoted == `"`+name+`"` && !strings.ContainsAny(name, " ,;") {
				quoted = name
			}
			shown = append(shown, quoted)
		}
	}
	if left := len(names) - len(shown); left > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), left)
	}
	return strings.Join(shown, ", ")
}

// distance is how many letters have to be put in, taken out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// contradiction is a part of an expression that has the right types, and always the same value.
type contradiction struct {
	id      int64
	message string
}

// impossible finds comparisons with texts that an enumeration does not have.
func (c *typeCheck) impossible(checked *ast.AST) []contradiction {
	var found []contradiction
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		left, right := e.AsCall().Args()[0], e.AsCall().Args()[1]
		switch e.AsCall().FunctionName() {
		case operators.Equals, operators.NotEquals:
			found = append(append(found, c.compared(checked, left, right)...), c.compared(checked, right, left)...)
		case operators.In:
			if right.Kind() == ast.ListKind {
				found = append(found, c.compared(checked, left, right.AsList().Elements()...)...)
			}
		}
	}))
	return found
}

// compared tells which of some texts a value never is.
func (c *typeCheck) compared(checked *ast.AST, read ast.Expr, with ...ast.Expr) []contradiction {
	path, possible, fallback := c.enumeration(checked, read)
	if len(possible) == 0 {
		return nil
	}
	var found []contradiction
	for _, one := range with {
		if text, ok := literal(one); ok && !slices.Contains(possible, text) && !slices.Contains(fallback, text) {
			found = append(found, contradiction{one.ID(), fmt.Sprintf("%s is never %q%s; it is one of %s", path, text, c.of(), list(possible))})
		}
	}
	return found
}

// enumeration gives what a field can be that a part of an expression reads, and what stands for
// it where it is not there.
func (c *typeCheck) enumeration(checked *ast.AST, read ast.Expr) (path string, possible, fallback []string) {
	if read.Kind() == ast.CallKind && read.AsCall().FunctionName() == orValue && len(read.AsCall().Args()) == 1 {
		text, ok := literal(read.AsCall().Args()[0])
		if !ok {
			return "", nil, nil
		}
		path, possible, _ = c.enumeration(checked, read.AsCall().Target())
		return path, possible, []string{text}
	}
	operand, field, ok := selection(read)
	if !ok {
		return "", nil, nil
	}
	t := checked.GetType(operand.ID())
	object := c.types.object(t)
	if object == nil || object.Fields[field] == nil {
		return "", nil, nil
	}
	return present(t).TypeName() + "." + field, object.Fields[field].Enum, nil
}
