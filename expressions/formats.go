// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

// namedFormat tells what is wrong with a text.
type namedFormat struct {
	name     string
	validate func(string) []string
}

var (
	formatKind = &kind[namedFormat]{of: cel.OpaqueType("kubernetes.NamedFormat"), equal: func(a, b namedFormat) bool { return a.name == b.name }}

	uuid = regexp.MustCompile(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)

	formats = []namedFormat{
		{"dns1123Label", func(s string) []string { return apivalidation.NameIsDNSLabel(s, false) }},
		{"dns1123LabelPrefix", func(s string) []string { return apivalidation.NameIsDNSLabel(s, true) }},
		{"dns1123Subdomain", func(s string) []string { return apivalidation.NameIsDNSSubdomain(s, false) }},
		{"dns1123SubdomainPrefix", func(s string) []string { return apivalidation.NameIsDNSSubdomain(s, true) }},
		{"dns1035Label", func(s string) []string { return apivalidation.NameIsDNS1035Label(s, false) }},
		{"dns1035LabelPrefix", func(s string) []string { return apivalidation.NameIsDNS1035Label(s, true) }},
		{"qualifiedName", validation.IsQualifiedName},
		{"labelValue", validation.IsValidLabelValue},
		{"uri", func(s string) []string {
			if _, err := url.ParseRequestURI(s); err != nil {
				return []string{err.Error()}
			}
			return nil
		}},
		{"uuid", func(s string) []string { return unless(uuid.MatchString(s), "does not match the UUID format") }},
		{"byte", func(s string) []string {
			_, err := base64.StdEncoding.DecodeString(s)
			return unless(s != "" && err == nil, "invalid base64")
		}},
		{"date", func(s string) []string {
			_, err := time.Parse(time.DateOnly, s)
			return unless(err == nil, "invalid date")
		}},
		{"datetime", func(s string) []string {
			_, err := time.Parse(time.RFC3339Nano, s)
			return unless(err == nil, "invalid datetime")
		}},
	}
)

func unless(ok bool, message string) []string {
	if ok {
		return nil
	}
	return []string{message}
}

func formatFunctions() []cel.EnvOption {
	f := formatKind
	options := []cel.EnvOption{
		cel.Function("format.named", cel.Overload("format-named", []*cel.Type{cel.StringType}, cel.OptionalType(f.of), ofText(func(name string) ref.Val {
			if at := slices.IndexFunc(formats, func(format namedFormat) bool { return format.name == name }); at >= 0 {
				return types.OptionalOf(f.value(formats[at], 0))
			}
			return types.OptionalNone
		}))),
		cel.Function("validate", cel.MemberOverload("format-validate", []*cel.Type{f.of, cel.StringType}, cel.OptionalType(cel.ListType(cel.StringType)),
			cel.BinaryBinding(func(format, text ref.Val) ref.Val {
				one, ok := format.(*opaque[namedFormat])
				if !ok {
					return types.MaybeNoSuchOverloadErr(format)
				}
				return textual(func(text string) ref.Val {
					if wrong := one.value.validate(text); len(wrong) > 0 {
						return types.OptionalOf(types.NewStringList(types.DefaultTypeAdapter, wrong))
					}
					return types.OptionalNone
				})(text)
			}))),
	}
	for _, format := range formats {
		name := "format." + format.name
		options = append(options, cel.Function(name, cel.Overload(name, nil, f.of,
			cel.FunctionBinding(func(...ref.Val) ref.Val { return f.value(format, 0) }))))
	}
	return options
}
