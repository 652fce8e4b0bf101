// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
)

// Distribution describes samples of one kind.
type Distribution struct {
	Count int     `json:"count"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
	Mean  float64 `json:"mean"`
}

// Describe gives the distribution of samples; that of none is zero.
func Describe(samples []float64) Distribution {
	if len(samples) == 0 {
		return Distribution{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	sum := 0.0
	for _, sample := range sorted {
		sum += sample
	}
	return Distribution{
		Count: len(sorted), Min: sorted[0], P50: Percentile(sorted, 50), P99: Percentile(sorted, 99),
		Max: sorted[len(sorted)-1], Mean: sum / float64(len(sorted)),
	}
}

// Percentile gives the smallest of the sorted samples that at least p per cent of them do
// not exceed (the nearest rank): always a sample that was seen. Of fewer than 100 samples
// the 99th percentile is thus the largest. There is at least one sample; p is above 0 and
// at most 100.
func Percentile(sorted []float64, p float64) float64 {
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// Median gives the middle of the samples, or the mean of the two in the middle. There is at
// least one sample.
func Median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Exponent gives e of the curve c*x^e that fits the points best, by least squares of their logarithms: 1 for
// what grows as x does. There is one for at least two points, all of which are above zero.
func Exponent(x, y []float64) (e float64, ok bool) {
	n := float64(len(x))
	var sumX, sumY, sumXX, sumXY float64
	for i := range x {
		if x[i] <= 0 || y[i] <= 0 {
			return 0, false
		}
		logX, logY := math.Log(x[i]), math.Log(y[i])
		sumX, sumY, sumXX, sumXY = sumX+logX, sumY+logY, sumXX+logX*logX, sumXY+logX*logY
	}
	spread := n*sumXX - sumX*sumX
	if len(x) < 2 || spread == 0 {
		return 0, false
	}
	return (n*sumXY - sumX*sumY) / spread, true
}
