// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// kind is a type of values that expressions make of texts.
type kind[T any] struct {
	of    *cel.Type
	equal func(a, b T) bool
}

// opaque is a value of such a type.
type opaque[T any] struct {
	*kind[T]
	value  T
	length int // of the text that it was made of
}

func (k *kind[T]) value(of T, length int) ref.Val { return &opaque[T]{k, of, length} }

// unary gives the binding of a function of a value of the type.
func (k *kind[T]) unary(function func(T) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(arg ref.Val) ref.Val {
		if one, ok := arg.(*opaque[T]); ok {
			return function(one.value)
		}
		return types.MaybeNoSuchOverloadErr(arg)
	})
}

// binary gives the binding of a function of two values of the type.
func (k *kind[T]) binary(function func(a, b T) ref.Val) cel.OverloadOpt {
	return cel.BinaryBinding(func(first, second ref.Val) ref.Val {
		a, ok := first.(*opaque[T])
		if !ok {
			return types.MaybeNoSuchOverloadErr(first)
		}
		b, ok := second.(*opaque[T])
		if !ok {
			return types.MaybeNoSuchOverloadErr(second)
		}
		return function(a.value, b.value)
	})
}

// ofText gives the binding of a function of a text.
func ofText(function func(string) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(textual(function))
}

func textual(function func(string) ref.Val) functions.UnaryOp {
	return func(arg ref.Val) ref.Val {
		if text, ok := arg.(types.String); ok {
			return function(string(text))
		}
		return types.MaybeNoSuchOverloadErr(arg)
	}
}

func (o *opaque[T]) bytes() int { return o.length }

// ConvertToNative implements ref.Val.
func (o *opaque[T]) ConvertToNative(to reflect.Type) (any, error) {
	if reflect.TypeFor[T]().AssignableTo(to) {
		return o.value, nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%v'", o.of, to)
}

// ConvertToType implements ref.Val.
func (o *opaque[T]) ConvertToType(to ref.Type) ref.Val {
	switch to {
	case o.of:
		return o
	case types.TypeType:
		return o.of
	}
	return types.NewErr("type conversion error from '%s' to '%s'", o.of, to)
}

// Equal implements ref.Val.
func (o *opaque[T]) Equal(other ref.Val) ref.Val {
	same, ok := other.(*opaque[T])
	return types.Bool(ok && o.equal(o.value, same.value))
}

// Type implements ref.Val.
func (o *opaque[T]) Type() ref.Type { return o.of }

// Value implements ref.Val.
func (o *opaque[T]) Value() any { return o.value }
