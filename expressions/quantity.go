// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
)

// maxQuantity is how long the text of a quantity may be: digits beyond an int64 are numbers of any size.
const maxQuantity = 64

var quantityKind = &kind[resource.Quantity]{
	of: cel.OpaqueType("kubernetes.Quantity"), equal: func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 },
}

func parseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantity {
		return resource.Quantity{}, fmt.Errorf("a quantity has at most %d bytes", maxQuantity)
	}
	// An exponent is a number of digits to calculate with.
	if at := strings.LastIndexAny(text, "eE"); at >= 0 && len(strings.TrimLeft(text[at+1:], "+-0")) > 2 {
		return resource.Quantity{}, fmt.Errorf("the exponent of a quantity has at most 2 digits")
	}
	return resource.ParseQuantity(text)
}

func quantityFunctions() []cel.EnvOption {
	q := quantityKind
	quantity := func(of resource.Quantity) ref.Val { return q.value(of, maxQuantity) }
	member := func(name, overload string, result *cel.Type, binding cel.OverloadOpt, operands ...*cel.Type) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(overload, append([]*cel.Type{q.of}, operands...), result, binding))
	}
	changed := func(name string, change func(*resource.Quantity, resource.Quantity)) cel.EnvOption {
		by := func(a, b resource.Quantity) ref.Val {
			a = a.DeepCopy()
			change(&a, b)
			return quantity(a)
		}
		return cel.Function(name,
			cel.MemberOverload("quantity_"+name, []*cel.Type{q.of, q.of}, q.of, q.binary(by)),
			cel.MemberOverload("quantity_"+name+"_int", []*cel.Type{q.of, cel.IntType}, q.of, cel.BinaryBinding(func(a, b ref.Val) ref.Val {
				first, ok := a.(*opaque[resource.Quantity])
				number, isInt := b.(types.Int)
				if !ok || !isInt {
					return types.MaybeNoSuchOverloadErr(a)
				}
				return by(first.value, *resource.NewQuantity(int64(number), resource.DecimalExponent))
			})))
	}
	return []cel.EnvOption{
		cel.Function("quantity", cel.Overload("string_to_quantity", []*cel.Type{cel.StringType}, q.of, ofText(func(text string) ref.Val {
			parsed, err := parseQuantity(text)
			if err != nil {
				return types.WrapErr(err)
			}
			return quantity(parsed)
		}))),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", []*cel.Type{cel.StringType}, cel.BoolType, ofText(func(text string) ref.Val {
			_, err := parseQuantity(text)
			return types.Bool(err == nil)
		}))),
		member("sign", "quantity_sign", cel.IntType, q.unary(func(a resource.Quantity) ref.Val { return types.Int(a.Sign()) })),
		member("isInteger", "quantity_is_integer", cel.BoolType, q.unary(func(a resource.Quantity) ref.Val {
			_, whole := a.AsInt64()
			return types.Bool(whole)
		})),
		member("asInteger", "quantity_as_integer", cel.IntType, q.unary(func(a resource.Quantity) ref.Val {
			number, whole := a.AsInt64()
			if !whole {
				return types.NewErr("cannot convert value to integer")
			}
			return types.Int(number)
		})),
		member("asApproximateFloat", "quantity_as_float", cel.DoubleType, q.unary(func(a resource.Quantity) ref.Val {
			return types.Double(a.AsApproximateFloat64())
		})),
		member("isGreaterThan", "quantity_is_greater_than", cel.BoolType,
			q.binary(func(a, b resource.Quantity) ref.Val { return types.Bool(a.Cmp(b) > 0) }), q.of),
		member("isLessThan", "quantity_is_less_than", cel.BoolType,
			q.binary(func(a, b resource.Quantity) ref.Val { return types.Bool(a.Cmp(b) < 0) }), q.of),
		member("compareTo", "quantity_compare_to", cel.IntType,
			q.binary(func(a, b resource.Quantity) ref.Val { return types.Int(a.Cmp(b)) }), q.of),
		changed("add", (*resource.Quantity).Add), changed("sub", (*resource.Quantity).Sub),
	}
}

// quantities is the cost of making and changing them, of which none is large.
func quantities(args []ref.Val, _ uint64) uint64 { return plus(20, size(args[0])) }

// comparing is the cost of comparing quantities or versions.
func comparing(args []ref.Val, limit uint64) uint64 { return plus(20, heavy(1)(args, limit)) }
