// SPDX-License-Identifier: Apache-2.0

// Command monitoring holds alert rules and dashboards against what processes tell, with
// Prometheus' own engine. It prints, as JSON, what is wrong with them, and which alerts fire.
//
//	monitoring -config FOLDER -scrapes FOLDER
//
// The first folder has PrometheusRules (*.yaml) and Grafana dashboards (*.json). The second has
// answers of /metrics, one in each file <job>.<number>.txt: those of one number belong to the
// same moment, and the moments count as 30 seconds apart. Alerts are taken at the last one,
// however long they would have to last.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// report is what is printed.
type report struct {
	// Problems are expressions that are none, or that ask for what nobody tells.
	Problems []string `json:"problems"`
	// Firing has the labels that each alert fires with, by its name.
	Firing map[string][]string `json:"firing"`
	// Alerts and Panels count what was looked at.
	Alerts int `json:"alerts"`
	Panels int `json:"panels"`
}

func (r *report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

func main() {
	config := flag.String("config", "", "folder of the rules and dashboards")
	scrapes := flag.String("scrapes", "", "folder of the scrapes")
	flag.Parse()
	if err := run(context.Background(), *config, *scrapes); err != nil {
		fmt.Fprintln(os.Stderr, "monitoring:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config, scrapes string) error {
	history, err := load(scrapes)
	if err != nil {
		return err
	}
	defer history.close()
	r := &report{Firing: map[string][]string{}}
	if err := checkRules(ctx, config, history, r); err != nil {
		return err
	}
	if err := checkDashboards(ctx, config, history, r); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(r)
}
