// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Budget is how much work one evaluation may do, in CEL's units: a fraction of a second. Kubernetes
// gives an expression of a CustomResourceDefinition as much.
const Budget = 1_000_000

// bytesPerUnit is how many bytes are read for one unit.
const bytesPerUnit = 10

// variableBudget is the variable that an evaluation has its budget in. No expression can name it.
const variableBudget = "@budget"

// budget is what is left for an evaluation.
type budget struct{ left uint64 }

// budgetOf gives the budget of the evaluation that a frame belongs to.
func budgetOf(frame *interpreter.ExecutionFrame) *budget {
	found, _ := frame.ResolveName(variableBudget)
	if b, ok := found.(*budget); ok {
		return b
	}
	return &budget{} // nothing is free
}

// spend takes from the budget. It ends the evaluation where not so much is left: an error would do for
// one part only, and `||` goes on after errors.
func (b *budget) spend(cost uint64) {
	if cost > b.left {
		b.left = 0
		panic(interpreter.EvalCancelledError{
			Cause:   interpreter.CostLimitExceeded,
			Message: "the expression takes too much work: cost limit exceeded",
		})
	}
	b.left -= cost
}

// span is the cost of reading so many bytes.
func span(bytes int) uint64 { return uint64(bytes/bytesPerUnit) + 1 }

// times multiplies costs and stays at the greatest instead of overflowing.
func times(a, b uint64) uint64 {
	if b != 0 && a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}

// plus adds costs and stays at the greatest instead of overflowing.
func plus(costs ...uint64) uint64 {
	var sum uint64
	for _, cost := range costs {
		if cost > math.MaxUint64-sum {
			return math.MaxUint64
		}
		sum += cost
	}
	return sum
}

// size is the cost of reading a value once and shallowly: a text, or how many elements it has.
func size(value ref.Val) uint64 {
	switch v := value.(type) {
	case types.String:
		return span(len(v))
	case types.Bytes:
		return span(len(v))
	case traits.Lister, traits.Mapper:
		n, _ := v.(traits.Sizer).Size().(types.Int)
		return uint64(n) + 1
	}
	return 1
}

// weight is the cost of reading a value to its leaves, or any that is greater than the limit: lists may
// be within each other again and again, so that few of them have more leaves than can be counted.
func weight(value any, limit uint64) uint64 {
	w := weighing{limit: limit}
	w.add(value)
	return w.sum
}

type weighing struct{ sum, limit uint64 }

func (w *weighing) add(value any) {
	w.sum++
	if w.sum > w.limit {
		return
	}
	switch v := value.(type) {
	case string:
		w.sum += uint64(len(v) / bytesPerUnit)
	case types.String:
		w.sum += uint64(len(v) / bytesPerUnit)
	case types.Bytes:
		w.sum += uint64(len(v) / bytesPerUnit)
	case []any:
		for i := 0; i < len(v) && w.sum <= w.limit; i++ {
			w.add(v[i])
		}
	case map[string]any:
		for key, field := range v {
			if w.sum > w.limit {
				return
			}
			w.add(key)
			w.add(field)
		}
	case *types.Optional:
		if v.HasValue() {
			w.add(v.GetValue())
		}
	case traits.Lister:
		w.list(v)
	case traits.Mapper:
		w.entries(v)
	case sized:
		w.sum += uint64(v.bytes() / bytesPerUnit)
	}
}

// sized are values of the libraries here that are as large as the text that they were made of.
type sized interface{ bytes() int }

func (w *weighing) list(list traits.Lister) {
	// What an object has is read as it is.
	if native, ok := list.Value().([]any); ok {
		w.sum--
		w.add(native)
		return
	}
	n, _ := list.Size().(types.Int)
	for i := types.Int(0); i < n && w.sum <= w.limit; i++ {
		w.add(list.Get(i))
	}
}

func (w *weighing) entries(entries traits.Mapper) {
	if native, ok := entries.Value().(map[string]any); ok {
		w.sum--
		w.add(native)
		return
	}
	for it := entries.Iterator(); it.HasNext() == types.True && w.sum <= w.limit; {
		key := it.Next()
		w.add(key)
		if value, ok := entries.Find(key); ok {
			w.add(value)
		}
	}
}
