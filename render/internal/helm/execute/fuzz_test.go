// SPDX-License-Identifier: Apache-2.0

package execute_test

import (
	"testing"

	"kumodo.io/convoy/render/internal/helm/execute"
)

// Whatever a template says, it ends, with little memory.
func FuzzRun(f *testing.F) {
	for _, text := range []string{
		`{{ define "x" }}{{ include "x" . }}{{ end }}{{ template "x" . }}`,
		`{{ range $i, $x := untilStep 1 9 2 }}{{ $y := dict "a" $x }}{{ set $y "b" $y | toYaml | nindent 3 }}{{ end }}`,
		`{{ tpl .Values.self . }}{{ with .Values }}{{ .self | repeat 99 | printf "%*d" 9 }}{{ else }}{{ break }}{{ end }}`,
		`{{ $x := list 1 2 }}{{ range 9 }}{{ $x = concat $x $x | uniq | reverse }}{{ continue }}{{ end }}{{ join "," $x }}`,
		`{{- .Files.Glob "**" }}{{ (.Files.Lines "a") | first | default "x" | quote }}{{ regexReplaceAll "(a)" "aa" "${1}${1}" }}`,
		`{{ merge (dict "a" (dict "b" 1)) .Values | toJson | fromJson | deepCopy | keys | sortAlpha }}{{ fromYaml "a: &a [*a]" }}`,
	} {
		f.Add(text)
	}
	limits := execute.Limits{Steps: 20_000, Made: 1 << 20, Value: 1 << 18}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		output, err := run(t.Context(), execute.Options{Limits: limits}, map[string]string{"a.yaml": text, "_h.tpl": `{{ define "h" }}{{ . }}{{ end }}`})
		if err == nil && len(output.Texts["web/templates/a.yaml"]) > 1<<20 {
			t.Fatal("more text than is allowed")
		}
	})
}
