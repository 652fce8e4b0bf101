// SPDX-License-Identifier: Apache-2.0

package report

import "slices"

// Comparison is one work done in two ways, in turns.
type Comparison struct {
	Work      string       `json:"work"`
	Measure   string       `json:"measure"`
	Unit      string       `json:"unit"`
	Ours      Distribution `json:"ours"`
	Reference Distribution `json:"reference"`
	// P50 is the median over the rounds of the ratio of the two sides' medians in a round:
	// what disturbs a round disturbs both sides of it.
	P50 float64 `json:"ratioP50"`
	// Lowest and Highest are the extremes of these ratios: how far the figure can be trusted.
	Lowest  float64 `json:"ratioP50Lowest"`
	Highest float64 `json:"ratioP50Highest"`
	// P99 is the ratio of the 99th percentiles of all samples.
	P99 float64 `json:"ratioP99"`
	// Target is the ratio to reach; 0 when there is none.
	Target float64 `json:"target,omitempty"`
	Costs  []Cost  `json:"costs,omitempty"`
}

// Cost is what one operation costs besides time.
type Cost struct {
	Of        string  `json:"of"` // the process, or the client
	What      string  `json:"what"`
	Unit      string  `json:"unit,omitempty"`
	Ours      float64 `json:"ours"`
	Reference float64 `json:"reference"`
}

// Samples are those of one side, by round.
type Samples [][]float64

// Compare compares the samples of the two sides, which have as many rounds.
func Compare(work, measure, unit string, ours, reference Samples) Comparison {
	c := Comparison{
		Work: work, Measure: measure, Unit: unit,
		Ours: Describe(slices.Concat(ours...)), Reference: Describe(slices.Concat(reference...)),
	}
	var ratios []float64
	for round := range ours {
		if len(ours[round]) > 0 && len(reference[round]) > 0 {
			ratios = append(ratios, ratio(Describe(ours[round]).P50, Describe(reference[round]).P50))
		}
	}
	if len(ratios) > 0 {
		c.P50, c.Lowest, c.Highest = Median(ratios), slices.Min(ratios), slices.Max(ratios)
		c.P99 = ratio(c.Ours.P99, c.Reference.P99)
	}
	return c
}

// Missed says whether the ratio of the medians is above the target.
func (c Comparison) Missed() bool { return c.Target > 0 && c.P50 > c.Target }

// ratio is 0 where there is none: a time before the moment from which it is counted has no
// ratio to another.
func ratio(ours, reference float64) float64 {
	if ours <= 0 || reference <= 0 {
		return 0
	}
	return ours / reference
}
