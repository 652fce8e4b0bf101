// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/engine"
)

// constant are the functions that give the same for the same arguments, in every process and
// on every machine.
const constant = `abbrev abbrevboth add add1 add1f addf adler32sum all any append atoi b32dec b32enc b64dec b64enc base biggest
	camelcase cat ceil chunk clean coalesce compact concat contains dateModify date_modify decryptAES deepCopy deepEqual default
	derivePassword dict dig dir div divf duration empty ext first float64 floor fromJson get has hasKey hasPrefix hasSuffix hello
	indent initial initials int int64 isAbs join kebabcase kindIs kindOf last list lower max maxf min minf mod mul mulf mustAppend
	mustChunk mustCompact mustDateModify mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustPrepend mustPush
	mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse
	mustSlice mustToJson mustToPrettyJson mustToRawJson mustUniq mustWithout must_date_modify nindent nospace omit osBase osClean
	osDir osExt osIsAbs pick pluck plural prepend push quote regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll
	regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver semverCompare seq set sha1sum sha256sum sha512sum slice
	snakecase sortAlpha split splitList splitn squote sub subf substr swapcase ternary title toDecimal toJson toPrettyJson toRawJson
	toString toStrings trim trimAll trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until
	untilStep untitle upper urlJoin urlParse without wrap wrapWith
	fromJsonArray fromToml fromYaml fromYamlArray toToml toYaml toYamlPretty
	and call eq ge gt html index js le len lt ne not or print printf println urlquery`

// otherwise classified are those that templates have in convoy's form, and why.
var otherwise = map[string]string{
	"env": "reads the host: not there", "expandenv": "reads the host: not there", "getHostByName": "reads the network: gives nothing",
	"keys": "in the order of the map: in that of the keys", "values": "in the order of the map: in that of the keys",
	"toDate": "reads the time zone of the host: in UTC", "mustToDate": "reads the time zone of the host: in UTC",
	"lookup":  "reads the cluster: what it reads is part of the input",
	"include": "runs templates", "tpl": "runs templates", "fail": "gives an error", "required": "gives an error",
}

// TestEveryFunctionIsClassified is for functions that a library adds: each must be looked at.
// May it read the host or the clock, give something else each time, print its arguments, or
// make much of little?
func TestEveryFunctionIsClassified(t *testing.T) {
	g := NewWithT(t)
	classes := map[string]int{}
	for _, names := range [][]string{strings.Fields(constant), volatile, slices.Collect(maps.Keys(otherwise))} {
		for _, name := range names {
			classes[name]++
		}
	}
	found := slices.Concat(slices.Collect(maps.Keys(sprig.TxtFuncMap())),
		functionsOf(t, engine.Render), functionsOf(t, template.HTMLEscapeString))
	slices.Sort(found)
	found = slices.Compact(found)
	g.Expect(len(found)).To(BeNumerically(">", 230))
	for _, name := range found {
		g.Expect(classes[name]).To(Equal(1), "the classes of %q", name)
		delete(classes, name)
	}
	g.Expect(classes).To(BeEmpty(), "no library has them")

	r := &run{budget: newBudget(t.Context(), Limits{Steps: 1, Made: 1, Value: 1})}
	ours := slices.Concat(slices.Collect(maps.Keys(r.allFunctions(Options{}))), slices.Collect(maps.Keys(builtins)), forbidden)
	slices.Sort(ours)
	g.Expect(slices.Compact(ours)).To(Equal(found))
}

// functionsOf gives the names of the functions for templates in the source of the package in
// which another function is.
func functionsOf(t *testing.T, in any) (names []string) {
	t.Helper()
	g := NewWithT(t)
	file, _ := runtime.FuncForPC(reflect.ValueOf(in).Pointer()).FileLine(reflect.ValueOf(in).Pointer())
	files, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.go"))
	g.Expect(err).NotTo(HaveOccurred())
	add := func(key ast.Expr) {
		if literal, ok := key.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			name, err := strconv.Unquote(literal.Value)
			g.Expect(err).NotTo(HaveOccurred())
			names = append(names, name)
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(filepath.Base(file), "example") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		g.Expect(err).NotTo(HaveOccurred())
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit: // template.FuncMap{"name": function}
				if !strings.HasSuffix(nameOf(n.Type), "FuncMap") {
					return true
				}
				for _, element := range n.Elts {
					add(element.(*ast.KeyValueExpr).Key)
				}
			case *ast.AssignStmt: // funcMap["name"] = function
				for _, left := range n.Lhs {
					if index, ok := left.(*ast.IndexExpr); ok && strings.HasSuffix(nameOf(index.X), "uncMap") {
						add(index.Index)
					}
				}
			}
			return true
		})
	}
	g.Expect(names).NotTo(BeEmpty())
	return names
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
