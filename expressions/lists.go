// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// The libraries of Kubernetes are declared here as they are in k8s.io/apiserver/pkg/cel/library, by the same
// names and with the same meaning, but bounded: that module is a server's, which the plugin and the
// controller-manager must not link.

type namedType struct {
	name string
	of   *cel.Type
	zero ref.Val
}

var (
	summable = []namedType{
		{"int", cel.IntType, types.Int(0)}, {"uint", cel.UintType, types.Uint(0)}, {"double", cel.DoubleType, types.Double(0)},
		{"duration", cel.DurationType, types.Duration{}},
	}
	comparable = []namedType{
		{name: "int", of: cel.IntType}, {name: "uint", of: cel.UintType}, {name: "double", of: cel.DoubleType},
		{name: "bool", of: cel.BoolType}, {name: "duration", of: cel.DurationType}, {name: "timestamp", of: cel.TimestampType},
		{name: "string", of: cel.StringType}, {name: "bytes", of: cel.BytesType},
	}
)

// listFunctions are those of Kubernetes.
func listFunctions() []cel.EnvOption {
	of := func(all []namedType, overload func(namedType) cel.FunctionOpt) []cel.FunctionOpt {
		var overloads []cel.FunctionOpt
		for _, one := range all {
			overloads = append(overloads, overload(one))
		}
		return overloads
	}
	extreme := func(name string, better types.Int) cel.EnvOption {
		return cel.Function(name, of(comparable, func(t namedType) cel.FunctionOpt {
			return cel.MemberOverload("list_"+t.name+"_"+name+"_"+t.name, []*cel.Type{cel.ListType(t.of)}, t.of, cel.UnaryBinding(best(name, better)))
		})...)
	}
	a := cel.TypeParamType("A")
	inList := func(name, overload string, find func(traits.Lister, ref.Val) types.Int) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(overload, []*cel.Type{cel.ListType(a), a}, cel.IntType,
			cel.BinaryBinding(func(list, item ref.Val) ref.Val {
				if list, ok := list.(traits.Lister); ok {
					return find(list, item)
				}
				return types.MaybeNoSuchOverloadErr(list)
			})))
	}
	return []cel.EnvOption{
		cel.Function("isSorted", of(comparable, func(t namedType) cel.FunctionOpt {
			return cel.MemberOverload("list_"+t.name+"_is_sorted_bool", []*cel.Type{cel.ListType(t.of)}, cel.BoolType, cel.UnaryBinding(isSorted))
		})...),
		cel.Function("sum", of(summable, func(t namedType) cel.FunctionOpt {
			return cel.MemberOverload("list_"+t.name+"_sum_"+t.name, []*cel.Type{cel.ListType(t.of)}, t.of, cel.UnaryBinding(total(t.zero)))
		})...),
		extreme("min", types.IntNegOne), extreme("max", types.IntOne),
		inList("indexOf", "list_a_index_of_int", firstIndex), inList("lastIndexOf", "list_a_last_index_of_int", lastIndex),
	}
}

func isSorted(value ref.Val) ref.Val {
	list, ok := value.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(value)
	}
	var before traits.Comparer
	for it := list.Iterator(); it.HasNext() == types.True; {
		next := it.Next()
		if before != nil && before.Compare(next) == types.IntOne {
			return types.False
		}
		if before, ok = next.(traits.Comparer); !ok {
			return types.MaybeNoSuchOverloadErr(next)
		}
	}
	return types.True
}

// total adds up numbers or durations, which are all of one type; the sum of none is zero.
func total(zero ref.Val) functions.UnaryOp {
	return func(value ref.Val) ref.Val {
		list, ok := value.(traits.Lister)
		if !ok {
			return types.MaybeNoSuchOverloadErr(value)
		}
		var sum ref.Val
		for it := list.Iterator(); it.HasNext() == types.True; {
			next := it.Next()
			if !slices.ContainsFunc(summable, func(t namedType) bool { return next.Type() == t.zero.Type() }) {
				return types.MaybeNoSuchOverloadErr(next)
			}
			if sum == nil {
				sum = next
			} else if sum = sum.(traits.Adder).Add(next); types.IsUnknownOrError(sum) {
				return sum
			}
		}
		if sum == nil {
			return zero
		}
		return sum
	}
}

// best gives the element that compares better with all others.
func best(name string, better types.Int) functions.UnaryOp {
	return func(value ref.Val) ref.Val {
		list, ok := value.(traits.Lister)
		if !ok {
			return types.MaybeNoSuchOverloadErr(value)
		}
		var found ref.Val
		for it := list.Iterator(); it.HasNext() == types.True; {
			next := it.Next()
			comparer, ok := next.(traits.Comparer)
			switch {
			case !ok:
				return types.MaybeNoSuchOverloadErr(next)
			case found == nil:
				found = next
			default:
				compared := comparer.Compare(found)
				if types.IsUnknownOrError(compared) {
					return compared
				}
				if compared == better {
					found = next
				}
			}
		}
		if found == nil {
			return types.NewErr("%s called on empty list", name)
		}
		return found
	}
}

func firstIndex(list traits.Lister, item ref.Val) types.Int {
	for i, n := types.Int(0), list.Size().(types.Int); i < n; i++ {
		if types.Equal(list.Get(i), item) == types.True {
			return i
		}
	}
	return -1
}

func lastIndex(list traits.Lister, item ref.Val) types.Int {
	for i := list.Size().(types.Int) - 1; i >= 0; i-- {
		if types.Equal(list.Get(i), item) == types.True {
			return i
		}
	}
	return -1
}
