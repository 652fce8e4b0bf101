// SPDX-License-Identifier: Apache-2.0

// Package report is what benchmarks find: figures, their comparison, and how they are
// shown and written.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Document is what one call of the command found.
type Document struct {
	Command []string  `json:"command"`
	Started time.Time `json:"started"`
	Machine Machine   `json:"machine"`
	Reports []*Report `json:"reports"`
}

// Report is what one benchmark found.
type Report struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"`
	About   string        `json:"about"`
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"tookNanoseconds"`
	// Settings are the numbers and the choices of the run.
	Settings map[string]any `json:"settings,omitempty"`
	// Ours and Reference name the two sides of the comparisons.
	Ours        string       `json:"ours,omitempty"`
	Reference   string       `json:"reference,omitempty"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	Figures     []Figure     `json:"figures,omitempty"`
	Series      []Series     `json:"series,omitempty"`
}

// Figure is a number that is compared with nothing in the run.
type Figure struct {
	Of    string  `json:"of"`
	What  string  `json:"what"`
	Unit  string  `json:"unit,omitempty"`
	Value float64 `json:"value"`
}

// Write writes the document as JSON.
func (d *Document) Write(path string) error {
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}
