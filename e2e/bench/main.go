// SPDX-License-Identifier: Apache-2.0

// Bench measures how fast convoy is and what it costs, on this machine, against something
// that does the same work in the same run. It prints tables and writes the figures as JSON.
// docs/performance.md tells what is measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"kumodo.io/convoy/e2e/bench/api"
	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/blackhole"
	"kumodo.io/convoy/e2e/bench/delivery"
	"kumodo.io/convoy/e2e/bench/observer"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/shards"
)

// benchmarks are all there are, in the order in which they run.
func benchmarks() []benchmark.Benchmark {
	return []benchmark.Benchmark{delivery.Benchmark(), observer.Benchmark(), blackhole.Benchmark(), shards.Benchmark(), delivery.Growth(), api.Benchmark()}
}

// options are what the command line says.
type options struct {
	list, quick             bool
	run, variants, profile  string
	out, plots, check, args string
}

func main() {
	var o options
	flag.BoolVar(&o.list, "list", false, "list the benchmarks and their works, and run none")
	flag.StringVar(&o.run, "run", "", "run only what matches `name/work`, two regular expressions, for example api/list or B8/^get$")
	flag.BoolVar(&o.quick, "quick", false, "fewer objects and rounds: to see that it works, not how fast")
	flag.StringVar(&o.out, "out", "", "`file` for the figures as JSON")
	flag.StringVar(&o.plots, "plots", "", "`folder` for plots of what grows, as SVG: growth")
	flag.StringVar(&o.check, "check", "", "`file` of bounds, a YAML list of {of, what, most}: fail if a figure is above its bound, or was not measured")
	flag.StringVar(&o.profile, "profile", "", "`folder` for profiles of the servers, made after a work was measured: api, fleet and large of delivery; what is held, after memory and idle of observer")
	flag.StringVar(&o.variants, "variant", "", "comma-separated `names` of variants that explain figures; see docs/performance.md")
	flag.StringVar(&o.args, "apiserver-args", "", "`flags` for convoy-apiserver, separated by spaces: to compare settings")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	selection, err := benchmark.Select(o.run)
	if err != nil {
		return err
	}
	var bounds []report.Bound
	if o.check != "" {
		if bounds, err = report.ReadBounds(o.check); err != nil {
			return err
		}
	}
	document := &report.Document{Command: os.Args, Started: time.Now(), Machine: report.ThisMachine()}
	for _, b := range benchmarks() {
		if !selection.Includes(b) {
			continue
		}
		if o.list {
			fmt.Printf("%s %s: %s\n    works: %s\n    variants: %s\n", b.ID, b.Name, b.About, strings.Join(b.Works, " "), strings.Join(b.Variants, " "))
			continue
		}
		r, err := measure(ctx, b, o, selection)
		if err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		document.Reports = append(document.Reports, r)
		if err := r.Print(os.Stdout); err != nil {
			return err
		}
	}
	if !o.list && len(document.Reports) == 0 {
		return fmt.Errorf("nothing matches -run %s; see -list", o.run)
	}
	if o.list {
		return nil
	}
	if o.out != "" {
		if err := document.Write(o.out); err != nil {
			return err
		}
	}
	if o.plots != "" {
		if err := document.Plot(o.plots); err != nil {
			return err
		}
	}
	return document.Check(bounds)
}

// measure runs a benchmark in a folder of its own, which is left when the run fails.
func measure(ctx context.Context, b benchmark.Benchmark, o options, selection benchmark.Selection) (*report.Report, error) {
	settings, err := settingsOf(b, o, selection)
	if err != nil {
		return nil, err
	}
	if settings.Dir, err = os.MkdirTemp("", "convoy-bench-"); err != nil {
		return nil, err
	}
	started := time.Now()
	r, err := b.Run(ctx, settings)
	if err != nil {
		return nil, errors.Join(err, fmt.Errorf("the logs are in %s", settings.Dir))
	}
	r.ID, r.Name, r.About, r.Started, r.Took = b.ID, b.Name, b.About, started, time.Since(started)
	return r, os.RemoveAll(settings.Dir)
}

// settingsOf gives what the command line says to a benchmark.
func settingsOf(b benchmark.Benchmark, o options, selection benchmark.Selection) (benchmark.Settings, error) {
	settings := benchmark.Settings{Quick: o.quick, Selected: selection.Work, Args: strings.Fields(o.args), Log: os.Stderr}
	for _, variant := range strings.FieldsFunc(o.variants, func(r rune) bool { return r == ',' }) {
		if !slices.Contains(b.Variants, variant) {
			return settings, fmt.Errorf("no variant %s; see -list", variant)
		}
		settings.Variants = append(settings.Variants, variant)
	}
	if o.profile == "" {
		return settings, nil
	}
	var err error
	settings.Profile, err = filepath.Abs(filepath.Join(o.profile, b.Name))
	return settings, err
}
