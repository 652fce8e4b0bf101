// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"math"
	"math/bits"
	"slices"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// cost is what a call costs at the most, with arguments that are values: what is read, and what is allocated
// for the result. It is told before the call is made. Beyond the limit any greater number will do.
type cost func(args []ref.Val, limit uint64) uint64

// costs of functions by name; see costOf. An environment with a function that has none cannot be made.
var costs = map[string]cost{
	// Planned by cel-go itself, or no calls when it comes to evaluation.
	operators.LogicalAnd: once, operators.LogicalOr: once, operators.LogicalNot: once, operators.Conditional: once,
	operators.Index: once, operators.OptIndex: once, operators.OptSelect: once,
	operators.NotStrictlyFalse: once, operators.OldNotStrictlyFalse: once,
	turnOf: once, weighed: heavy(1), looped: keys, keyed: once,

	operators.Equals: equality, operators.NotEquals: equality,
	operators.In: within, operators.OldIn: within, overloads.DeprecatedIn: within,
	operators.Less: lesser, operators.LessEquals: lesser, operators.Greater: lesser, operators.GreaterEquals: lesser,
	operators.Add: sum, operators.Subtract: once, operators.Multiply: once, operators.Divide: once, operators.Modulo: once,
	operators.Negate: once,

	overloads.TypeConvertBool: read(1), overloads.TypeConvertBytes: read(4), overloads.TypeConvertDouble: read(4),
	overloads.TypeConvertDuration: read(4), overloads.TypeConvertDyn: once, overloads.TypeConvertInt: read(4),
	overloads.TypeConvertString: read(4), overloads.TypeConvertTimestamp: read(4), overloads.TypeConvertType: once,
	overloads.TypeConvertUint: read(4),

	overloads.Contains: product, overloads.StartsWith: read(1), overloads.EndsWith: read(1), overloads.Size: text,
	overloads.Matches: once, "find": once, "findAll": once, // which pay while they work, see patterned

	overloads.TimeGetFullYear: zoned, overloads.TimeGetMonth: zoned, overloads.TimeGetDayOfYear: zoned,
	overloads.TimeGetDate: zoned, overloads.TimeGetDayOfMonth: zoned, overloads.TimeGetDayOfWeek: zoned,
	overloads.TimeGetHours: zoned, overloads.TimeGetMinutes: zoned, overloads.TimeGetSeconds: zoned,
	overloads.TimeGetMilliseconds: zoned,

	"optional.of": once, "optional.none": once, "optional.ofNonZeroValue": once, "hasValue": once, "value": once,
	"or": once, "orValue": once, "optional.unwrap": read(2), "unwrapOpt": read(2),

	"charAt": read(1), "indexOf": search, "lastIndexOf": search, "lowerAscii": read(2), "upperAscii": read(2),
	"substring": read(2), "trim": read(2), "strings.quote": read(8), "reverse": read(2),
	"join": joining, "split": splitting, "replace": replacing, "format": formatting,

	"lists.range": ranging, "slice": read(1), "first": once, "last": once, "flatten": heavy(2),
	"sort": sorting, "@sortByAssociatedKeys": sorting, "distinct": pairwise,
	"isSorted": heavy(2), "sum": heavy(2), "min": heavy(2), "max": heavy(2),
	"sets.contains": pairwise, "sets.equivalent": pairwise, "sets.intersects": pairwise,

	"math.@max": read(1), "math.@min": read(1), "math.abs": once, "math.ceil": once, "math.floor": once, "math.round": once,
	"math.trunc": once, "math.sign": once, "math.sqrt": once, "math.isInf": once, "math.isNaN": once, "math.isFinite": once,
	"math.bitAnd": once, "math.bitOr": once, "math.bitXor": once, "math.bitNot": once, "math.bitShiftLeft": once,
	"math.bitShiftRight": once,

	"ip": read(1), "isIP": read(1), "ip.isCanonical": read(1), "family": once, "isUnspecified": once, "isLoopback": once,
	"isLinkLocalMulticast": once, "isLinkLocalUnicast": once, "isGlobalUnicast": once,
	"cidr": read(1), "isCIDR": read(1), "containsIP": read(1), "containsCIDR": read(1), "masked": once, "isMask": once,
	"prefixLength": once,

	"quantity": quantities, "isQuantity": quantities, "isInteger": quantities, "asInteger": quantities,
	"asApproximateFloat": quantities, "sign": once, "add": quantities, "sub": quantities, "isGreaterThan": comparing,
	"isLessThan": comparing, "compareTo": comparing,

	"url": read(8), "isURL": read(8), "getScheme": once, "getHost": once, "getHostname": heavy(1), "getPort": heavy(1),
	"getEscapedPath": heavy(4), "getQuery": querying,

	"semver": read(8), "isSemver": read(8), "major": once, "minor": once, "patch": once,

	"format.named": once, "validate": read(20),
}

// costOf gives the cost of calls of a function, nil for one that has none.
func costOf(function string) cost {
	isFormat := func(format namedFormat) bool { return function == "format."+format.name }
	if slices.ContainsFunc(formats, isFormat) {
		return once
	}
	return costs[function]
}

func once([]ref.Val, uint64) uint64 { return 1 }

// read is for functions that read each argument so many times, or write so much of it.
func read(factor uint64) cost {
	return func(args []ref.Val, _ uint64) uint64 {
		total := uint64(1)
		for _, arg := range args {
			total = plus(total, times(factor, size(arg)))
		}
		return total
	}
}

// heavy is for functions that read each argument to the leaves.
func heavy(factor uint64) cost {
	return func(args []ref.Val, limit uint64) uint64 {
		total := uint64(1)
		for _, arg := range args {
			total = plus(total, times(factor, weight(arg, limit)))
		}
		return total
	}
}

// text is for functions that count the letters of a text; a list knows how long it is.
func text(args []ref.Val, _ uint64) uint64 {
	if _, ok := args[0].(types.String); ok {
		return size(args[0])
	}
	return 1
}

// lesser compares up to the end of the shorter text.
func lesser(args []ref.Val, _ uint64) uint64 { return min(size(args[0]), size(args[1])) }

// equality compares up to the end of the lighter value, which may be much less than the other.
func equality(args []ref.Val, limit uint64) uint64 {
	for most := uint64(64); ; most = times(most, 8) {
		if lighter := min(weight(args[0], most), weight(args[1], most)); lighter <= most || most > limit {
			return lighter
		}
	}
}

// product looks for a text in another.
func product(args []ref.Val, _ uint64) uint64 { return times(size(args[0]), size(args[1])) }

// within looks for its first argument in a list, or among the keys of a map.
func within(args []ref.Val, limit uint64) uint64 {
	if _, isMap := args[1].(traits.Mapper); isMap {
		return size(args[0])
	}
	return among(args[1], args[0], limit)
}

// search looks for its second argument in a list, or in a text.
func search(args []ref.Val, limit uint64) uint64 {
	if _, isText := args[0].(types.String); isText {
		return product(args, limit)
	}
	return among(args[0], args[1], limit)
}

// among compares a value with each element of a list, up to the end of the lighter.
func among(list, what ref.Val, limit uint64) uint64 {
	elements := size(list)
	most := times(elements, weight(what, limit))
	return plus(elements, min(weight(list, min(limit, most)), most))
}

// keys are those of a map; a list is not copied.
func keys(args []ref.Val, _ uint64) uint64 {
	if _, isMap := args[0].(traits.Mapper); isMap {
		return size(args[0])
	}
	return 1
}

func sum(args []ref.Val, limit uint64) uint64 {
	if gathered, ok := args[0].(traits.MutableLister); ok && gathered != nil {
		return size(args[1])
	}
	return heavy(1)(args, limit)
}

// pairwise compares each element with each.
func pairwise(args []ref.Val, limit uint64) uint64 {
	first, last := args[0], args[len(args)-1]
	return plus(times(size(first), weight(last, limit)), times(size(last), weight(first, limit)))
}

func sorting(args []ref.Val, limit uint64) uint64 {
	return times(heavy(1)(args, limit), uint64(bits.Len64(size(args[0])))) //nolint:gosec // not negative
}

// zoned functions read the rules of a time zone.
func zoned(args []ref.Val, limit uint64) uint64 {
	if len(args) == 1 {
		return 1
	}
	return plus(100, read(1)(args, limit))
}

func ranging(args []ref.Val, _ uint64) uint64 {
	if n, ok := args[0].(types.Int); ok && n > 0 {
		return uint64(n)
	}
	return 1
}

// least is the number that an argument is, but not less than 0.
func least(value ref.Val) uint64 {
	if n, ok := value.(types.Int); ok && n >= 0 {
		return uint64(n)
	}
	return math.MaxUint64
}
