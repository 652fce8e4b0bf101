// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// judge writes a folder of rules and dashboards and one of two scrapes, and judges them.
func judge(t *testing.T, config map[string]string, scrapes ...string) *report {
	t.Helper()
	rules, told := t.TempDir(), t.TempDir()
	for name, text := range config {
		write(t, filepath.Join(rules, name), text)
	}
	for n, text := range scrapes {
		write(t, filepath.Join(told, "app."+string(rune('0'+n))+".txt"), text)
	}
	h, err := load(told)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	r := &report{Firing: map[string][]string{}}
	if err := checkRules(context.Background(), rules, h, r); err != nil {
		t.Fatal(err)
	}
	if err := checkDashboards(context.Background(), rules, h, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func alert(expression, summary string) map[string]string {
	return map[string]string{"a.yaml": "kind: PrometheusRule\nspec:\n  groups:\n    - name: g\n      rules:\n        - alert: A\n          expr: '" + expression +
		"'\n          labels: {severity: warning}\n          annotations: {summary: '" + summary + "', description: d}\n"}
}

func panelOf(expression, legend string) map[string]string {
	return map[string]string{"d.json": `{"panels":[{"type":"stat","title":"P","description":"d","targets":[{"expr":"` + expression + `","legendFormat":"` + legend + `"}]}]}`}
}

func TestJudgements(t *testing.T) {
	before := "# TYPE failures_total counter\nfailures_total{kind=\"a\"} 1\n# TYPE open gauge\nopen 0\n"
	after := "# TYPE failures_total counter\nfailures_total{kind=\"a\"} 3\n# TYPE open gauge\nopen 0\n"
	tests := []struct {
		name     string
		config   map[string]string
		problems []string
		firing   []string
	}{
		{"an alert that fires", alert(`increase(failures_total[5m]) > 0`, "{{ $labels.kind }}"), nil, []string{`{instance="app-0", job="app", kind="a"}`}},
		{"an alert that does not", alert("open > 0", "s"), nil, nil},
		{"an alert that never could", alert("opened > 0", "s"), []string{"alert A asks for opened, which nobody tells"}, nil},
		{"a half that never could", alert(`open > 0 or failures_total{kind="b"} > 0`, "s"), []string{`alert A asks for failures_total{kind="b"}, which nobody tells`}, nil},
		{"a label that is lost", alert("sum(failures_total) > 0", "{{ $labels.kind }}"), []string{"alert A names the label kind, which it has not when it fires"}, []string{"{}"}},
		{"a panel with data", panelOf("sum by (kind) (rate(failures_total[$__rate_interval]))", "{{kind}}"), nil, nil},
		{"a panel without", panelOf("opened", ""), []string{`panel "P" has no data: opened`}, nil},
		{"a legend without its label", panelOf("sum(open)", "{{kind}}"), []string{`panel "P": the legend names kind, which the data has not`}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := judge(t, tt.config, before, after)
			if !slices.Equal(r.Problems, tt.problems) {
				t.Errorf("problems are %q, not %q", r.Problems, tt.problems)
			}
			if !slices.Equal(r.Firing["A"], tt.firing) {
				t.Errorf("it fires for %q, not %q", r.Firing["A"], tt.firing)
			}
		})
	}
}
