// SPDX-License-Identifier: Apache-2.0

// Package benchmark is what a benchmark is: an entry in the list of the command, a run that
// is told its settings and gives a report.
package benchmark

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"kumodo.io/convoy/e2e/bench/report"
)

// Benchmark is an entry in the list.
type Benchmark struct {
	ID    string // short, for people: "B8"
	Name  string // one word, for -run: "api"
	About string // what is measured, in a line
	Works []string
	// Variants are the ways of measuring that explain figures.
	Variants []string
	Run      func(context.Context, Settings) (*report.Report, error)
}

// Settings are what every benchmark is told.
type Settings struct {
	Dir      string   // for all that the run starts and writes; it exists and is empty
	Profile  string   // folder for profiles of the servers; none are made when empty
	Quick    bool     // fewer objects and rounds: to see that it works, not how fast
	Variants []string // those of the benchmark that are asked for
	Args     []string // added to those of convoy-apiserver
	// Selected says which of the benchmark's works to measure.
	Selected func(work string) bool
	Log      io.Writer
}

// Has says whether a variant is asked for.
func (s Settings) Has(variant string) bool { return slices.Contains(s.Variants, variant) }

// Say writes a line of progress.
func (s Settings) Say(format string, args ...any) { fmt.Fprintf(s.Log, format+"\n", args...) }

// Selection chooses benchmarks and their works.
type Selection struct {
	name, work *regexp.Regexp
}

// Select reads a selection "name/work" of two regular expressions, of which either may be
// absent. The first is matched against the name and the ID of a benchmark.
func Select(text string) (Selection, error) {
	name, work, _ := strings.Cut(text, "/")
	var s Selection
	var err error
	if s.name, err = regexp.Compile(name); err != nil {
		return s, fmt.Errorf("read the name in %q: %w", text, err)
	}
	if s.work, err = regexp.Compile(work); err != nil {
		return s, fmt.Errorf("read the work in %q: %w", text, err)
	}
	return s, nil
}

// Includes says whether the benchmark is chosen with at least one of its works.
func (s Selection) Includes(b Benchmark) bool {
	return (s.name.MatchString(b.Name) || s.name.MatchString(b.ID)) && slices.ContainsFunc(b.Works, s.Work)
}

// Work says whether a work is chosen.
func (s Selection) Work(name string) bool { return s.work.MatchString(name) }
