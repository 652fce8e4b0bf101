// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"net/url"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var urlKind = &kind[*url.URL]{
	of: cel.OpaqueType("kubernetes.URL"), equal: func(a, b *url.URL) bool { return a.String() == b.String() },
}

func urlFunctions() []cel.EnvOption {
	u := urlKind
	part := func(name, overload string, of func(*url.URL) string) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(overload, []*cel.Type{u.of}, cel.StringType,
			u.unary(func(one *url.URL) ref.Val { return types.String(of(one)) })))
	}
	return []cel.EnvOption{
		cel.Function("url", cel.Overload("string_to_url", []*cel.Type{cel.StringType}, u.of, ofText(func(text string) ref.Val {
			// The first refuses what is not absolute, the second knows fragments.
			_, err := url.ParseRequestURI(text)
			if err != nil {
				return types.NewErr("URL parse error during conversion from string: %v", err)
			}
			parsed, err := url.Parse(text)
			if err != nil {
				return types.NewErr("URL parse error during conversion from string: %v", err)
			}
			return u.value(parsed, len(text))
		}))),
		cel.Function("isURL", cel.Overload("is_url_string", []*cel.Type{cel.StringType}, cel.BoolType, ofText(func(text string) ref.Val {
			_, err := url.ParseRequestURI(text)
			return types.Bool(err == nil)
		}))),
		part("getScheme", "url_get_scheme", func(one *url.URL) string { return one.Scheme }),
		part("getHost", "url_get_host", func(one *url.URL) string { return one.Host }),
		part("getHostname", "url_get_hostname", (*url.URL).Hostname),
		part("getPort", "url_get_port", (*url.URL).Port),
		part("getEscapedPath", "url_get_escaped_path", (*url.URL).EscapedPath),
		cel.Function("getQuery", cel.MemberOverload("url_get_query", []*cel.Type{u.of}, cel.MapType(cel.StringType, cel.ListType(cel.StringType)),
			u.unary(func(one *url.URL) ref.Val {
				query := map[ref.Val]ref.Val{}
				for key, values := range one.Query() {
					query[types.String(key)] = types.NewStringList(types.DefaultTypeAdapter, values)
				}
				return types.NewRefValMap(types.DefaultTypeAdapter, query)
			}))),
	}
}

// querying makes two maps and a list for each parameter, of some hundred bytes together.
func querying(args []ref.Val, limit uint64) uint64 {
	total := times(4, heavy(1)(args, limit))
	if one, ok := args[0].(*opaque[*url.URL]); ok {
		total = plus(total, times(20, uint64(strings.Count(one.value.RawQuery, "&")+1))) //nolint:gosec // not negative
	}
	return total
}
