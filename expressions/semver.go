// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"errors"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var semverKind = &kind[semver.Version]{of: cel.OpaqueType("kubernetes.Semver"), equal: semver.Version.EQ}

func semverFunctions() []cel.EnvOption {
	v := semverKind
	made := func(text string, err error, parsed semver.Version) ref.Val {
		if err != nil {
			return types.WrapErr(err)
		}
		return v.value(parsed, len(text))
	}
	either := func(function func(text string, parse func(string) (semver.Version, error)) ref.Val) cel.OverloadOpt {
		return cel.BinaryBinding(func(text, normalize ref.Val) ref.Val {
			parse := semver.Parse
			if normalize == types.True {
				parse = parseTolerant
			}
			return textual(func(text string) ref.Val { return function(text, parse) })(text)
		})
	}
	number := func(name string, of func(semver.Version) uint64) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("semver_"+name, []*cel.Type{v.of}, cel.IntType,
			v.unary(func(one semver.Version) ref.Val { return types.Uint(of(one)).ConvertToType(types.IntType) })))
	}
	compared := func(name, overload string, result *cel.Type, of func(int) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(overload, []*cel.Type{v.of, v.of}, result,
			v.binary(func(a, b semver.Version) ref.Val { return of(a.Compare(b)) })))
	}
	return []cel.EnvOption{
		cel.Function("semver",
			cel.Overload("string_to_semver", []*cel.Type{cel.StringType}, v.of, ofText(func(text string) ref.Val {
				parsed, err := semver.Parse(text)
				return made(text, err, parsed)
			})),
			cel.Overload("string_bool_to_semver", []*cel.Type{cel.StringType, cel.BoolType}, v.of,
				either(func(text string, parse func(string) (semver.Version, error)) ref.Val {
					parsed, err := parse(text)
					return made(text, err, parsed)
				}))),
		cel.Function("isSemver",
			cel.Overload("is_semver_string", []*cel.Type{cel.StringType}, cel.BoolType, ofText(func(text string) ref.Val {
				_, err := semver.Parse(text)
				return types.Bool(err == nil)
			})),
			cel.Overload("is_semver_string_bool", []*cel.Type{cel.StringType, cel.BoolType}, cel.BoolType,
				either(func(text string, parse func(string) (semver.Version, error)) ref.Val {
					_, err := parse(text)
					return types.Bool(err == nil)
				}))),
		number("major", func(one semver.Version) uint64 { return one.Major }),
		number("minor", func(one semver.Version) uint64 { return one.Minor }),
		number("patch", func(one semver.Version) uint64 { return one.Patch }),
		compared("isGreaterThan", "semver_is_greater_than", cel.BoolType, func(sign int) ref.Val { return types.Bool(sign > 0) }),
		compared("isLessThan", "semver_is_less_than", cel.BoolType, func(sign int) ref.Val { return types.Bool(sign < 0) }),
		compared("compareTo", "semver_compare_to", cel.IntType, func(sign int) ref.Val { return types.Int(sign) }),
	}
}

// parseTolerant takes a "v" off, adds minor and patch numbers that are not there, and removes leading zeros,
// as Kubernetes does.
func parseTolerant(text string) (semver.Version, error) {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	for i, part := range parts {
		if len(part) < 2 {
			continue
		}
		part = strings.TrimLeft(part, "0")
		if part == "" || part[0] < '0' || part[0] > '9' {
			part = "0" + part
		}
		parts[i] = part
	}
	if len(parts) < 3 && strings.ContainsAny(parts[len(parts)-1], "+-") {
		return semver.Version{}, errors.New("short version cannot contain PreRelease/Build meta data")
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return semver.Parse(strings.Join(parts, "."))
}
