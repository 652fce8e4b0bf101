// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Series is how something grows: of each X, how much there was of what all works are about, the Y.
type Series struct {
	What string    `json:"what"`
	Unit string    `json:"unit"`
	Of   string    `json:"of"` // what X counts
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
}

// Size of a plot.
const (
	plotWidth  = 18 * vg.Centimeter
	plotHeight = 11 * vg.Centimeter
)

// Plot draws the series of all reports into a folder, which is made if need be: one SVG, named after the
// report and the unit, for all of a unit. Both axes are logarithmic, so that what grows as X does has the
// slope of a diagonal. A series with a point that is not above zero is left out.
func (d *Document) Plot(folder string) error {
	for _, r := range d.Reports {
		byUnit := map[string][]Series{}
		var units []string
		for _, s := range r.Series {
			if slices.Min(slices.Concat(s.X, s.Y)) <= 0 {
				continue
			}
			if byUnit[s.Unit] == nil {
				units = append(units, s.Unit)
			}
			byUnit[s.Unit] = append(byUnit[s.Unit], s)
		}
		for _, unit := range units {
			if err := draw(filepath.Join(folder, r.Name+"-"+fileName(unit)+".svg"), byUnit[unit]); err != nil {
				return fmt.Errorf("draw %s of %s: %w", unit, r.Name, err)
			}
		}
	}
	return nil
}

// fileName has the letters of a unit.
func fileName(unit string) string {
	var letters []rune
	for _, r := range unit {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			letters = append(letters, r)
		}
	}
	return string(letters)
}

// draw draws series of one unit.
func draw(path string, series []Series) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = series[0].Of, series[0].Unit
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	var lines []any
	for _, s := range series {
		points := make(plotter.XYs, len(s.X))
		for i := range s.X {
			points[i].X, points[i].Y = s.X[i], s.Y[i]
		}
		lines = append(lines, s.What, points)
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return p.Save(plotWidth, plotHeight, path)
}
