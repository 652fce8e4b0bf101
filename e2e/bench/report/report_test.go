// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// upTo gives 1, 2, … n, backwards.
func upTo(n int) []float64 {
	var samples []float64
	for i := n; i > 0; i-- {
		samples = append(samples, float64(i))
	}
	return samples
}

func TestDescribe(t *testing.T) {
	for _, test := range []struct {
		name  string
		given []float64
		want  Distribution
	}{
		{name: "nothing"},
		{name: "one", given: []float64{7}, want: Distribution{Count: 1, Min: 7, P50: 7, P99: 7, Max: 7, Mean: 7}},
		{name: "two", given: []float64{4, 2}, want: Distribution{Count: 2, Min: 2, P50: 2, P99: 4, Max: 4, Mean: 3}},
		{name: "fewer than a hundred", given: upTo(99), want: Distribution{Count: 99, Min: 1, P50: 50, P99: 99, Max: 99, Mean: 50}},
		{name: "a hundred", given: upTo(100), want: Distribution{Count: 100, Min: 1, P50: 50, P99: 99, Max: 100, Mean: 50.5}},
		{name: "many", given: upTo(1000), want: Distribution{Count: 1000, Min: 1, P50: 500, P99: 990, Max: 1000, Mean: 500.5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			before := slices.Clone(test.given)
			g.Expect(Describe(test.given)).To(Equal(test.want))
			g.Expect(test.given).To(Equal(before), "the samples stay as they are")
		})
	}
}

func TestMedian(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Median([]float64{3})).To(Equal(3.0))
	g.Expect(Median([]float64{9, 1, 5})).To(Equal(5.0))
	g.Expect(Median([]float64{9, 1, 5, 3})).To(Equal(4.0))
}

func TestExponent(t *testing.T) {
	for _, test := range []struct {
		name string
		x, y []float64
		want float64
		fits bool
	}{
		{"linear", []float64{250, 500, 1000}, []float64{5, 10, 20}, 1, true},
		{"square", []float64{1, 2, 4}, []float64{3, 12, 48}, 2, true},
		{"the same for all", []float64{1, 2, 4}, []float64{7, 7, 7}, 0, true},
		{"around linear", []float64{1, 10, 100}, []float64{2, 10, 200}, 1, true},
		{"one point", []float64{1}, []float64{1}, 0, false},
		{"one place", []float64{2, 2}, []float64{1, 3}, 0, false},
		{"nothing", []float64{1, 2}, []float64{0, 3}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			e, ok := Exponent(test.x, test.y)
			g.Expect(ok).To(Equal(test.fits))
			g.Expect(e).To(BeNumerically("~", test.want, 1e-9))
		})
	}
}

func TestCompare(t *testing.T) {
	g := NewWithT(t)
	// The second round was disturbed: both sides took ten times as long.
	ours := Samples{{2, 2, 3}, {20, 30, 40}, {2, 2, 2}}
	reference := Samples{{1, 1, 1}, {10, 10, 10}, {2, 2, 2}}
	c := Compare("get", "answer", "ms", ours, reference)
	g.Expect(c.P50).To(Equal(2.0), "the median of 2, 3 and 1")
	g.Expect([]float64{c.Lowest, c.Highest}).To(Equal([]float64{1, 3}))
	g.Expect(c.P99).To(Equal(4.0))
	g.Expect(c.Ours.Count).To(Equal(9))
	g.Expect(c.Ours.P50).To(Equal(2.0))
	g.Expect(c.Reference.P50).To(Equal(2.0))

	g.Expect(c.Missed()).To(BeFalse(), "there is no target")
	c.Target = 1
	g.Expect(c.Missed()).To(BeTrue())
	c.Target = 2
	g.Expect(c.Missed()).To(BeFalse())
}

func TestCompareWithoutRatio(t *testing.T) {
	g := NewWithT(t)
	before := Compare("watch", "after the answer", "ms", Samples{{-1, -2}}, Samples{{1, 2}})
	g.Expect([]float64{before.P50, before.P99}).To(Equal([]float64{0, 0}), "seen before the answer")
	none := Compare("watch", "answer", "ms", nil, nil)
	g.Expect(none.P50).To(BeZero())
}

func example() *Report {
	c := Compare("get", "answer", "ms", Samples{{2}}, Samples{{1}})
	c.Target = 1
	c.Costs = []Cost{{Of: "kube-apiserver", What: "CPU", Unit: "ms", Ours: 0.5, Reference: 0.25}, {Of: "kube-apiserver", What: "requests to etcd", Ours: 0.01}}
	return &Report{ID: "B0", Name: "example", About: "an example", Ours: "convoy", Reference: "CRD", Settings: map[string]any{"objects": "many"},
		Comparisons: []Comparison{c}, Figures: []Figure{{Of: "etcd", What: "memory", Unit: "MiB", Value: 123.4}}}
}

func TestPrint(t *testing.T) {
	g := NewWithT(t)
	var text strings.Builder
	g.Expect(example().Print(&text)).To(Succeed())
	var rows [][]string
	for line := range strings.Lines(text.String()) {
		rows = append(rows, strings.Fields(line))
	}
	g.Expect(rows).To(ContainElements(
		strings.Fields("get answer ms 1 2.00 1.00 2.00 1.00 2.00 2.00..2.00 2.00 <= 1.00 missed"),
		strings.Fields("objects: many"),
		strings.Fields("get kube-apiserver CPU ms 0.50 0.25"),
		strings.Fields("etcd memory MiB 123"),
	))
	g.Expect(text.String()).NotTo(ContainSubstring("requests to etcd"), "it costs next to nothing")
}

func TestWrite(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "figures.json")
	written := &Document{Command: []string{"bench"}, Machine: ThisMachine(), Reports: []*Report{example()}}
	g.Expect(written.Write(path)).To(Succeed())
	data, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	read := &Document{}
	g.Expect(json.Unmarshal(data, read)).To(Succeed())
	g.Expect(read).To(Equal(written))
	g.Expect(read.Machine.CPUs).To(BeNumerically(">", 0))
}

func TestNumber(t *testing.T) {
	g := NewWithT(t)
	for want, given := range map[string]float64{"0": 0, "1234": 1234.4, "12.3": 12.34, "1.23": 1.234, "0.12": 0.1234, "0.0012": 0.00123, "-12.3": -12.34} {
		g.Expect(number(given)).To(Equal(want))
	}
}

func TestMachine(t *testing.T) {
	g := NewWithT(t)
	g.Expect(cpuModel("processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nmodel name\t: other\n")).To(Equal("A CPU @ 2 GHz"))
	g.Expect(loadAverage("0.1 0.2 0.3 1/100 4711\n")).To(Equal("0.1 0.2 0.3"))
	g.Expect(loadAverage("")).To(BeEmpty())
}
