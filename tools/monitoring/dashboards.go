// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// dashboard is what is looked at of a Grafana dashboard.
type dashboard struct {
	Panels     []panel `json:"panels"`
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

type panel struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Targets     []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
}

type variable struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Definition string `json:"definition"`
}

// values are what Grafana puts in the place of variables.
var values = strings.NewReplacer("$target_cluster", ".*", "$__rate_interval", "5m")

// checkDashboards looks at all dashboards of a folder.
func checkDashboards(ctx context.Context, folder string, h *history, r *report) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, v := range d.Templating.List {
			checkVariable(ctx, v, h, r)
		}
		for _, p := range d.Panels {
			if p.Type != "row" {
				checkPanel(ctx, p, h, r)
			}
		}
	}
	return nil
}

// checkVariable tells whether label_values(metric, label) has a value.
func checkVariable(ctx context.Context, v variable, h *history, r *report) {
	if v.Type != "query" {
		return
	}
	metric, label, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v.Definition, "label_values("), ")"), ", ")
	found, err := h.ask(ctx, fmt.Sprintf("group by (%s) (%s)", label, metric))
	if !ok || err != nil || len(found) == 0 || !found[0].Metric.Has(label) {
		r.problem("variable %s: %s has no value (%v)", v.Name, v.Definition, err)
	}
}

// checkPanel tells whether each query of a panel has data, with the labels of its legend.
func checkPanel(ctx context.Context, p panel, h *history, r *report) {
	r.Panels++
	if p.Description == "" || len(p.Targets) == 0 {
		r.problem("panel %q has no description, or no query", p.Title)
	}
	for _, target := range p.Targets {
		found, err := h.ask(ctx, values.Replace(target.Expr))
		switch {
		case err != nil:
			r.problem("panel %q: %v", p.Title, err)
			continue
		case len(found) == 0:
			r.problem("panel %q has no data: %s", p.Title, target.Expr)
			continue
		}
		for _, part := range strings.Split(target.Legend, "{{")[1:] {
			label, _, _ := strings.Cut(part, "}}")
			if !found[0].Metric.Has(label) {
				r.problem("panel %q: the legend names %s, which the data has not", p.Title, label)
			}
		}
	}
}
