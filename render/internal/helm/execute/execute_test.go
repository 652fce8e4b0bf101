// SPDX-License-Identifier: Apache-2.0

package execute_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"kumodo.io/convoy/render/internal/helm/execute"
	"kumodo.io/convoy/render/internal/limit"
)

// small limits, so that tests meet them soon.
var small = execute.Limits{Steps: 50_000, Made: 4 << 20, Value: 1 << 20}

func run(ctx context.Context, o execute.Options, templates map[string]string) (*execute.Output, error) {
	c := &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0"}}
	c.Files = []*chart.File{{Name: "f", Data: []byte(strings.Repeat("line\n", 5000))}}
	for name, text := range templates {
		c.Templates = append(c.Templates, &chart.File{Name: "templates/" + name, Data: []byte(text)})
	}
	top, err := chartutil.ToRenderValues(c, map[string]any{"self": "{{ tpl .Values.self . }}", "name": "x"}, chartutil.ReleaseOptions{}, nil)
	if err != nil {
		return nil, err
	}
	return execute.Run(ctx, c, top, o)
}

func TestTemplatesAreStopped(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a long loop over numbers", "{{ range until 1000000000 }}{{ end }}", "a text or list would have more than 1 MiB"},
		{"a long loop without a list", "{{ range 1000000000 }}{{ end }}", "more than 50000 iterations and calls"},
		{"loops in loops", "{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}", "more than 50000 iterations and calls"},
		{"a range that overflows", "{{ untilStep 9223372036854775806 9223372036854775807 2 }}", "a text or list would have more than"},
		{"a sequence", "{{ seq 0 2 100000000 }}", "a text or list would have more than"},
		{"repeat", `{{ repeat 1000000000 "x" }}`, "a text or list would have more than"},
		{"repeat of repeat", `{{ "x" | repeat 1000 | repeat 1000 | repeat 1000 }}`, "a text or list would have more than"},
		{"indent", `{{ nindent 1000000000 "x" }}`, "a text or list would have more than"},
		{"printf with a width", `{{ printf "%999999d%999999d" 1 2 }}`, "a text or list would have more than"},
		{"printf with a width as an argument", `{{ printf "%*d" 9999999 2 }}{{ printf "%*d%*d" 999999 2 999999 2 }}`, "a text or list would have more than"},
		{"replace", `{{ $x := repeat 10000 "a" }}{{ replace "a" $x $x }}`, "a text or list would have more than"},
		{"regular expression", `{{ $x := repeat 10000 "a" }}{{ regexReplaceAll "a" $x $x }}`, "a text or list would have more than"},
		{"join", `{{ join (repeat 10000 "a") (until 10000) }}`, "a text or list would have more than"},
		{"wrap", `{{ wrapWith 1 (repeat 10000 "-") (repeat 10000 "a") }}`, "a text or list would have more than"},
		{"random text", `{{ randAlphaNum 100000000 }}`, "a text or list would have more than"},
		{"a text that doubles", `{{ $x := "xx" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}`, "a text or list would have more than"},
		{"a list that doubles", `{{ $x := list 1 2 }}{{ range until 40 }}{{ $x = concat $x $x }}{{ end }}`, "a text or list would have more than"},
		{"much text, thrown away", `{{ range until 100 }}{{ $x := repeat 100000 "x" }}{{ end }}`, "more than 4 MiB of text"},
		{"much text, written", `{{ range until 1000 }}{{ repeat 10000 "x" }}{{ end }}`, "more than 4 MiB of text"},
		{"much text of little", `{{ define "x" }}{{ range until 60000 }}0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789{{ end }}{{ end }}{{ template "x" }}`, "more than"},
		{"a file, again and again", `{{ $l := list }}{{ range until 1000 }}{{ $l = append $l ($.Files.Get "f") }}{{ end }}`, "more than 4 MiB of text"},
		{"files as a configuration", `{{ range until 1000 }}{{ $_ := quote ($.Files.Glob "*").AsConfig }}{{ end }}`, "more than 4 MiB of text"},
		{"the lines of a file", `{{ range until 1000 }}{{ with $.Files.Lines "f" }}{{ end }}{{ end }}`, "more than 4 MiB of text"},
		{"a method that makes text", `{{ $f := repeat 100000 "-" }}{{ $l := list }}{{ range until 1000 }}{{ $l = append $l (now.Format $f) }}{{ end }}`, "more than 4 MiB of text"},
		{"a value that lies in itself", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}`, "lies in itself"},
		{"the same, as a field", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ with $d }}{{ .d }}{{ end }}`, "lies in itself"},
		{"the same, printed", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ printf "%v" $d }}`, "lies in itself"},
		{"the same, as YAML", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toYamlPretty $d }}`, "lies in itself"},
		{"the same, as a key", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ dict $d "x" }}`, "lies in itself"},
		{"the same, printed by a verb", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ printf "%T %p" $d $d }}`, "lies in itself"},
		{"the same, copied", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $_ := deepCopy $d }}`, "lies in itself"},
		{"the same, merged", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $_ := merge (dict "d" (dict)) $d }}`, "lies in itself"},
		{"the same, through a function", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ get $d "d" }}`, "lies in itself"},
		{"a value that doubles", `{{ $d := dict "a" "b" }}{{ range until 40 }}{{ $d = dict "l" $d "r" $d }}{{ end }}{{ toYaml $d }}`, "a text or list would have more than"},
		{"aliases that double", `{{ $y := "a0: &a0 [x, x]\n" }}{{ range until 30 }}{{ $y = printf "%sa%d: &a%d [*a%d, *a%d]\n" $y (add1 .) (add1 .) . . }}{{ end }}{{ (fromYaml $y).Error | fail }}`, "the aliases of a YAML document"},
		{"each compared with each", `{{ uniq (until 2000) }}`, "more than 50000 iterations and calls"},
		{"slow functions", `{{ range until 10 }}{{ $_ := genPrivateKey "ecdsa" }}{{ end }}`, "more than 50000 iterations and calls"},
		{"a template that calls itself", `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`, "call each other more than 2000 deep"},
		{"a template that includes itself", `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`, "includes itself more than 1000 times"},
		{"templates that include each other", `{{ define "x" }}{{ include "y" . }}{{ end }}{{ define "y" }}{{ template "x" . }}{{ end }}{{ include "x" . }}`, "call each other more than 2000 deep"},
		{"a text that runs itself", `{{ tpl .Values.self . }}`, "by tpl within each other more than 100 deep"},
		{"actions without end", strings.Repeat("{{ if 1 }}", 200_000), "more than 100000 actions"},
		{"a name that is no function", `{{ convoy_leave }}`, `function "convoy_leave" not defined`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := run(t.Context(), execute.Options{Limits: small}, map[string]string{"a.yaml": test.text})
			g.Expect(err).To(MatchError(And(ContainSubstring(test.want), ContainSubstring("web/templates/a.yaml"))))
			g.Expect(len(err.Error())).To(BeNumerically("<", 4096))
		})
	}
}

func TestWhatChartsDoIsFarFromTheLimits(t *testing.T) {
	g := NewWithT(t)
	output, err := run(t.Context(), execute.Options{Limits: small}, map[string]string{
		"_x.tpl": `{{ define "x" }}{{ if gt . 0 }}{{ template "x" (sub . 1 | int) }}{{ end }}.{{ end }}`,
		"a.yaml": `{{ range until 100 }}{{ include "x" 100 }}{{ end }}`,
		"b.yaml": `{{ $d := dict }}{{ range until 5000 }}{{ $_ := set $d (toString .) . }}{{ end }}`,
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(output.Texts).To(Equal(map[string]string{"web/templates/a.yaml": strings.Repeat(".", 10100), "web/templates/b.yaml": ""}))
}

func TestTemplatesEndWithTheContext(t *testing.T) {
	g := NewWithT(t)
	ctx, end := context.WithCancel(t.Context())
	limits := small
	limits.Steps = 1 << 40
	lookup := func(string, string, string, string) (map[string]any, error) { end(); return nil, nil }
	_, err := run(ctx, execute.Options{Limits: limits, Lookup: lookup}, map[string]string{
		"a.yaml": `{{ $_ := lookup "v1" "Pod" "a" "b" }}{{ range 1000000000000 }}{{ end }}`,
	})
	var stopped *limit.Error
	g.Expect(errors.As(err, &stopped)).To(BeTrue())
	g.Expect(stopped.Passing).To(BeTrue())
}

func TestLookupsThatFailEndTheTemplates(t *testing.T) {
	g := NewWithT(t)
	forbidden := errors.New("forbidden")
	lookup := func(string, string, string, string) (map[string]any, error) { return nil, forbidden }
	_, err := run(t.Context(), execute.Options{Limits: small, Lookup: lookup}, map[string]string{
		"_x.tpl": `{{ define "x" }}{{ lookup "v1" "Secret" "ns" "s" }}{{ end }}`,
		"a.yaml": "\n{{ include \"x\" . }}",
	})
	g.Expect(err).To(MatchError(forbidden))
	g.Expect(err.Error()).To(Equal("execution error at (web/templates/a.yaml:2:3): forbidden"))
}

func TestVolatile(t *testing.T) {
	tests := map[string]bool{
		`{{ .Values.name | quote }}`: false, `{{ include "x" . }}`: false, `{{ sha256sum "a" }}`: false, `{{ lookup "v1" "Pod" "" "" }}`: false,
		`{{ randAlphaNum 3 }}`: true, `{{ now }}`: true, `{{ uuidv4 }}`: true, `{{ merge (dict) .Values }}`: true, `{{ keys .Values }}`: false, `{{ values .Values }}`: false, `{{ tpl "{{ randInt 0 9 }}" . }}`: true,
		`{{ (genCA "a" 1).Cert }}`: true, `{{ bcrypt "a" }}`: true, `{{ durationRound (toDate "2006" "2024") }}`: true, `{{ ago (toDate "2006" "2024") }}`: true,
		`{{ toDate "2006" "2024" }}`: false, `{{ date "2006" "no date" }}`: true,
	}
	for text, want := range tests {
		output, err := run(t.Context(), execute.Options{Limits: small}, map[string]string{"a.yaml": text, "_x.tpl": `{{ define "x" }}x{{ end }}`})
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
		NewWithT(t).Expect(output.Volatile).To(Equal(want), text)
	}
}
