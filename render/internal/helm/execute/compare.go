// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"errors"
	"math"
	"strings"
	"text/template"
)

// comparisons are the functions of the text/template library that compare.
//
// The library does not compare an integer with a floating point number. Helm knows no
// integers in values, so charts compare these with each other and with 1.5. Here, integers
// that no floating point number holds are among them; they compare as what they are.
type comparisons map[string]*template.Template

// holds tells what a comparison says of two that compare as c does with 0.
var holds = map[string]func(c int) bool{
	"eq": func(c int) bool { return c == 0 }, "ne": func(c int) bool { return c != 0 },
	"lt": func(c int) bool { return c < 0 }, "le": func(c int) bool { return c <= 0 },
	"gt": func(c int) bool { return c > 0 }, "ge": func(c int) bool { return c >= 0 },
}

// functions gives the functions that compare.
func (c comparisons) functions() template.FuncMap {
	all := template.FuncMap{}
	for name := range holds {
		all[name] = func(a, b any) (bool, error) { return c.compare(name, a, b) }
	}
	// It is true when one of several is equal, whatever comes after it.
	all["eq"] = func(a any, more ...any) (bool, error) {
		if len(more) == 0 {
			return false, errNoComparison
		}
		for _, b := range more {
			if equal, err := c.compare("eq", a, b); err != nil || equal {
				return equal, err
			}
		}
		return false, nil
	}
	return all
}

var errNoComparison = errors.New("missing argument for comparison")

func (c comparisons) compare(name string, a, b any) (bool, error) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return holds[name](strings.Compare(a, b)), nil
		}
	case float64:
		if b, ok := b.(float64); ok && !math.IsNaN(a) && !math.IsNaN(b) {
			return holds[name](cmp.Compare(a, b)), nil
		}
	}
	if x, y, ok := numbers(a, b); ok {
		return holds[name](x.Cmp(y)), nil
	}
	return c.library(name, a, b)
}

// library compares as the library does, which has no other way to be asked.
func (c comparisons) library(name string, a, b any) (bool, error) {
	if c[name] == nil {
		c[name] = template.Must(template.New(name).Parse("{{ if " + name + " (index . 0) (index . 1) }}true{{ end }}"))
	}
	var out strings.Builder
	err := c[name].Execute(&out, []any{a, b})
	if err == nil {
		return out.Len() > 0, nil
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner // the last does not tell of this template
	}
	return false, err
}
