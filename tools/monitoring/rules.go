// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"
)

// checkRules looks at the alerts of all PrometheusRules of a folder.
func checkRules(ctx context.Context, folder string, h *history, r *report) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		groups, err := readRules(file, h)
		if err != nil {
			return err
		}
		for _, group := range groups {
			for _, rule := range group.Rules {
				if err := checkAlert(ctx, rule, h, r); err != nil {
					return fmt.Errorf("%s: alert %s: %w", file, rule.Alert, err)
				}
			}
		}
	}
	return nil
}

// readRules gives the groups of a PrometheusRule; none for a file that is something else.
func readRules(file string, h *history) ([]rulefmt.RuleGroup, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var object struct {
		Kind string    `yaml:"kind"`
		Spec yaml.Node `yaml:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if object.Kind != "PrometheusRule" {
		return nil, nil
	}
	spec, err := yaml.Marshal(&object.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	groups, errs := rulefmt.Parse(spec, false, model.UTF8Validation, h.parser, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", file, errs[0])
	}
	return groups.Groups, nil
}

// checkAlert tells whether an alert could fire, and whether it does.
func checkAlert(ctx context.Context, rule rulefmt.Rule, h *history, r *report) error {
	r.Alerts++
	for _, wanted := range []string{"summary", "description"} {
		if rule.Annotations[wanted] == "" {
			r.problem("alert %s has no %s", rule.Alert, wanted)
		}
	}
	if rule.Labels["severity"] == "" {
		r.problem("alert %s has no severity", rule.Alert)
	}
	untold, err := h.untold(ctx, rule.Expr)
	if err != nil {
		return err
	}
	for _, selector := range untold {
		r.problem("alert %s asks for %s, which nobody tells", rule.Alert, selector)
	}
	firing, err := h.ask(ctx, rule.Expr)
	if err != nil {
		return err
	}
	for _, sample := range firing {
		r.Firing[rule.Alert] = append(r.Firing[rule.Alert], sample.Metric.String())
		for _, text := range rule.Annotations {
			for _, label := range labelsOf(text) {
				if !sample.Metric.Has(label) {
					r.problem("alert %s names the label %s, which it has not when it fires", rule.Alert, label)
				}
			}
		}
	}
	return nil
}

// labelsOf gives the labels that a template names.
func labelsOf(template string) []string {
	var names []string
	for _, part := range strings.Split(template, "$labels.")[1:] {
		end := strings.IndexFunc(part, func(c rune) bool { return c == ' ' || c == '}' })
		names = append(names, part[:max(end, 0)])
	}
	return names
}
