// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// gap is the space between columns, as in kubectl's tables.
const gap = 3

// Cell is one field of a table.
type Cell struct {
	Text   string
	Colour Colour
}

// Table is rows of cells in aligned columns. It can be coloured, unlike what a tabwriter
// aligns.
type Table struct {
	header []string
	rows   [][]Cell
	// widths of the columns of what was written.
	widths []int
}

// NewTable gives a table with these columns.
func NewTable(columns ...string) *Table { return &Table{header: columns} }

// Add adds a row: cells are strings, Cells, or whatever fmt prints.
func (t *Table) Add(cells ...any) {
	row := make([]Cell, len(cells))
	for i, cell := range cells {
		switch cell := cell.(type) {
		case Cell:
			row[i] = cell
		case string:
			row[i] = Cell{Text: cell}
		default:
			row[i] = Cell{Text: fmt.Sprint(cell)}
		}
	}
	t.rows = append(t.rows, row)
}

// Empty tells whether there is nothing below the header.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Write writes the table, with its header or without, and with colour where w takes it.
func (t *Table) Write(w io.Writer, header bool) error {
	rows := t.rows
	if header && len(t.header) > 0 {
		names := make([]Cell, len(t.header))
		for i, name := range t.header {
			names[i] = Cell{Text: name}
		}
		rows = append([][]Cell{names}, rows...)
	}
	t.widths = columnWidths(rows)
	return writeRows(w, rows, t.widths)
}

// WriteMore writes the rows of another table below this one, in columns of the same width as
// far as they fit.
func (t *Table) WriteMore(w io.Writer, more *Table) error { return writeRows(w, more.rows, t.widths) }

func writeRows(w io.Writer, rows [][]Cell, widths []int) error {
	colour := TakesColour(w)
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(paint(cell.Text, cell.Colour, colour))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell.Text), 0)+gap))
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func columnWidths(rows [][]Cell) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	return widths
}
