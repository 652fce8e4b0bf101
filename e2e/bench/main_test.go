// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/bench/benchmark"
)

func TestBenchmarksAreTold(t *testing.T) {
	g := NewWithT(t)
	seen := map[string]bool{}
	for _, b := range benchmarks() {
		g.Expect(b.ID).To(MatchRegexp(`^B\d+$`))
		g.Expect(b.About).NotTo(BeEmpty())
		g.Expect(b.Run).NotTo(BeNil())
		for _, name := range append([]string{b.ID, b.Name}, b.Works...) {
			g.Expect(name).To(MatchRegexp(`^[A-Za-z0-9-]+$`), "it can be given to -run")
			g.Expect(seen[name]).To(BeFalse(), name)
			seen[name] = true
		}
	}
}

func TestSettings(t *testing.T) {
	b := benchmark.Benchmark{Name: "api", Variants: []string{"one", "two"}}
	for _, test := range []struct {
		given    string
		variants []string
		fails    bool
	}{
		{given: ""},
		{given: "one", variants: []string{"one"}},
		{given: "two,one", variants: []string{"two", "one"}},
		{given: "one,three", fails: true},
	} {
		t.Run(test.given, func(t *testing.T) {
			g := NewWithT(t)
			got, err := settingsOf(b, options{variants: test.given, args: " --a=b  --c ", profile: "p"}, benchmark.Selection{})
			g.Expect(err != nil).To(Equal(test.fails))
			if test.fails {
				return
			}
			g.Expect(got.Variants).To(Equal(test.variants))
			g.Expect(got.Args).To(Equal([]string{"--a=b", "--c"}))
			g.Expect(filepath.IsAbs(got.Profile)).To(BeTrue())
			g.Expect(filepath.Base(got.Profile)).To(Equal("api"))
		})
	}
}

func TestRunRefusesWhatIsNotThere(t *testing.T) {
	g := NewWithT(t)
	g.Expect(run(t.Context(), options{run: "nothing"})).To(MatchError(ContainSubstring("nothing")))
	g.Expect(run(t.Context(), options{run: "("})).NotTo(Succeed())
}
