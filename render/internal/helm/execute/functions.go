// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/lossless"
	"kumodo.io/convoy/render/internal/values"
)

// forbidden are the functions of the sprig library that templates must not have: they read
// the host.
var forbidden = []string{"env", "expandenv"}

// volatile are the functions that may give something else each time: by chance, by the
// time, which those that write dates take for what is no date, or because of the order in
// which they come to what is in a map.
var volatile = []string{
	"ago", "now", "date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone", "durationRound",
	"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randInt", "randBytes", "uuidv4", "shuffle",
	"bcrypt", "htpasswd", "encryptAES",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
	"genSignedCert", "genSignedCertWithKey", "buildCustomCert",
	// These stop in the middle of a map when something does not fit.
	"merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite",
}

// slowFunctions take a while by nature.
var slowFunctions = []string{
	"bcrypt", "htpasswd", "derivePassword", "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert",
	"genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "buildCustomCert",
}

// builtins are the functions of the text/template library that are left as they are. The
// others are among those of allFunctions.
var builtins = map[string]any{
	"and": true, "or": true, "not": true, "len": true, "index": true, "slice": true, "call": true,
}

// allFunctions gives the functions that charts are written for, bounded by the budget.
func (r *run) allFunctions(o Options) template.FuncMap {
	all := sprig.TxtFuncMap()
	maps.DeleteFunc(all, func(name string, _ any) bool { return slices.Contains(forbidden, name) })
	maps.Copy(all, template.FuncMap{
		"print": fmt.Sprint, "printf": printf, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
		"toYaml": toYAML, "toYamlPretty": toYAMLPretty, "toToml": toTOML, "toJson": toJSON,
		"fromYaml": fromYAML, "fromYamlArray": fromYAMLArray, "fromToml": fromTOML,
		"fromJson": fromJSON, "fromJsonArray": fromJSONArray, "mustFromJson": mustFromJSON,
		"getHostByName": func(string) string { return "" },
		"keys":          keys, "values": valuesOf,
		"dict": dict(all["dict"].(func(...any) map[string]any)),
	})
	maps.Copy(all, dates(all, o.Ahead))
	for _, name := range printers {
		all[name] = printing(all[name])
	}
	bounded := make(template.FuncMap, len(all)+11)
	for name, function := range all {
		bounded[name] = r.bounded(name, function)
	}
	maps.Copy(bounded, comparisons{}.functions())
	maps.Copy(bounded, template.FuncMap{
		"required": required, "fail": func(text string) (string, error) { return "", message(text) },
		"lookup": r.lookup(o.Lookup),
		// For parsing; those that work belong to a set of templates: see callers.
		"include": func(string, any) (string, error) { return "", nil },
		"tpl":     func(string, any) (string, error) { return "", nil },
	})
	return bounded
}

// callers gives the functions that run other templates of the set of t.
func (r *run) callers(t *template.Template) template.FuncMap {
	return template.FuncMap{
		"include": func(name string, data any) (string, error) { return r.include(t, name, data) },
		"tpl":     func(text string, data any) (string, error) { return r.tpl(t, text, data) },
	}
}

func (r *run) include(t *template.Template, name string, data any) (string, error) {
	if r.nested[name] > maxNested {
		return "", limit.New("the template %q includes itself more than %d times", name, maxNested)
	}
	r.nested[name]++
	defer func() { r.nested[name]-- }()
	return r.execute(t, name, data)
}

// tpl runs a text as a template. What it defines is known in it, and in what it calls, only.
func (r *run) tpl(t *template.Template, text string, data any) (string, error) {
	if !strings.Contains(text, "{{") {
		return withoutNoValue(text), r.made(int64(len(text)))
	}
	if r.tpls++; r.tpls > maxTpl {
		return "", limit.New("texts are run by tpl within each other more than %d deep", maxTpl)
	}
	defer func() { r.tpls-- }()
	inner, err := t.Clone()
	if err != nil {
		return "", err
	}
	inner.Option(missingKey).Funcs(r.callers(inner)) // a clone loses its options
	main, err := r.parse(inner, t.Name(), text)
	if err != nil {
		return "", fmt.Errorf("parsing the text that tpl is given: %w", err)
	}
	if err := r.enter(); err != nil {
		return "", err
	}
	defer r.leave()
	var out = newText(r.budget)
	if err := main.Execute(out, data); err != nil {
		return "", fmt.Errorf("running the text that tpl is given: %w", err)
	}
	return withoutNoValue(out.String()), nil
}

func (r *run) lookup(read func(apiVersion, kind, namespace, name string) (map[string]any, error)) any {
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		if err := r.step(1); err != nil || read == nil {
			return map[string]any{}, err
		}
		found, err := read(apiVersion, kind, namespace, name)
		if err != nil {
			return nil, &readError{err}
		}
		return found, r.whole(found)
	}
}

// keys gives the keys of maps, those of each in their order: the library's are in any.
func keys(dicts ...map[string]any) []string {
	all := []string{}
	for _, m := range dicts {
		all = append(all, slices.Sorted(maps.Keys(m))...)
	}
	return all
}

// valuesOf gives the values of a map in the order of their keys.
func valuesOf(m map[string]any) []any {
	all := []any{}
	for _, key := range keys(m) {
		all = append(all, m[key])
	}
	return all
}

func required(text string, value any) (any, error) {
	if value == nil || value == "" {
		return value, message(text)
	}
	return value, nil
}

// What cannot be encoded gives no text; what cannot be decoded gives its error in the
// place of content. Charts are written for that.

func toYAML(v any) string {
	encoded, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(encoded), "\n")
}

func toYAMLPretty(v any) string {
	var out bytes.Buffer
	encoder := goyaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(encoded.one(v)); err != nil {
		return ""
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func toJSON(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(encoded)
}

func toTOML(v any) string {
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(encoded.one(v)); err != nil {
		return err.Error()
	}
	return out.String()
}

func fromYAML(text string) map[string]any {
	return orError(unmarshalYAML, text)
}

func fromYAMLArray(text string) []any { return orErrorItem(unmarshalYAML, text) }

func fromJSON(text string) map[string]any { return orError(unmarshalJSON, text) }

func fromJSONArray(text string) []any { return orErrorItem(unmarshalJSON, text) }

func mustFromJSON(text string) (any, error) {
	var decoded any
	err := unmarshalJSON([]byte(text), &decoded)
	return decoded, err
}

func fromTOML(text string) map[string]any { return orError(toml.Unmarshal, text) }

func unmarshalYAML(text []byte, into any) error {
	if err := lossless.CheckAliases(text); err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil || !hasManyDigits.Match(text) {
		return err
	}
	text, err := yaml.YAMLToJSON(text)
	exactly(text, into)
	return err
}

func unmarshalJSON(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	if err == nil && hasManyDigits.Match(text) {
		exactly(text, into)
	}
	return err
}

// hasManyDigits matches what may hold an integer that no floating point number holds.
var hasManyDigits = regexp.MustCompile(`[0-9][0-9_]{15}`)

// exactly decodes once more what was decoded, with the numbers that values have.
func exactly(text []byte, into any) {
	again, err := lossless.JSON(text)
	if err != nil {
		return
	}
	again = values.Decoded(again)
	switch into := into.(type) {
	case *map[string]any:
		if m, ok := again.(map[string]any); ok {
			*into = m
		}
	case *[]any:
		if l, ok := again.([]any); ok {
			*into = l
		}
	case *any:
		*into = again
	}
}

// dict is a function that makes a map, with numbers as keys that print as integers.
func dict(function func(...any) map[string]any) func(...any) map[string]any {
	return func(args ...any) map[string]any {
		args = slices.Clone(args)
		for i := 0; i < len(args); i += 2 {
			args[i] = shown.one(args[i])
		}
		return function(args...)
	}
}

func orError(decode func([]byte, any) error, text string) map[string]any {
	decoded := map[string]any{}
	if err := decode([]byte(text), &decoded); err != nil {
		decoded["Error"] = err.Error()
	}
	return decoded
}

func orErrorItem(decode func([]byte, any) error, text string) []any {
	decoded := []any{}
	if err := decode([]byte(text), &decoded); err != nil {
		return []any{err.Error()}
	}
	return decoded
}
