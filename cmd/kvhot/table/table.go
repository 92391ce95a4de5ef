// Package table lays out a merged view as text: a table of the keys, one of the nodes, and notes on what the reader might
// take for something else, such as an empty list of a server that does not track.
//
// A column is shown if any row has something in it and there is room: where there is not, those of least weight go first,
// and the name of the key and its rate never. So servers that tell little have a small table, and a narrow terminal shows
// what matters.
package table

import (
	"slices"
	"strings"

	"kvserver/cmd/kvhot/quote"
)

// Role says what a column holds, for those who give it a colour.
type Role uint8

// The roles.
const (
	Plain Role = iota
	Key
	Main // the number that the rows are ordered by
	Graph
	State
)

// Column is one column of a Table, its cells from the top.
type Column struct {
	Head  string
	Role  Role
	Right bool // numbers
	Width int
	Cells []string

	weight int // the columns of least weight go first; 0 never
}

// Table is what fits.
type Table struct{ Columns []Column }

// keyWidthMin is as much of a name as must be seen; other columns go before it becomes less. keyWidthMax keeps names of a
// megabyte from making lines of a megabyte.
const (
	keyWidthMin = 16
	keyWidthMax = 200
	separation  = 2 // blanks between columns
)

// fit leaves out columns until the rest takes at most so many characters, and gives each its width; width 0 has no limit.
func fit(columns []Column, width int) Table {
	for i := range columns {
		c := &columns[i]
		c.Width = quote.Width(c.Head)
		for _, cell := range c.Cells {
			c.Width = max(c.Width, quote.Width(cell))
		}
		if c.Role == Key {
			c.Width = min(c.Width, keyWidthMax)
		}
	}
	for width > 0 && needed(columns) > width {
		least := -1
		for i, c := range columns {
			if c.weight > 0 && (least < 0 || c.weight < columns[least].weight) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		columns = slices.Delete(columns, least, least+1)
	}
	for i := range columns {
		if c := &columns[i]; c.Role == Key && width > 0 {
			rest := total(columns) - width
			c.Width = max(c.Width-max(rest, 0), min(c.Width, keyWidthMin))
		}
	}
	return Table{columns}
}

// total is what the columns take.
func total(columns []Column) int {
	sum := separation * (len(columns) - 1)
	for _, c := range columns {
		sum += c.Width
	}
	return sum
}

// needed is total with the names cut as far as they may be.
func needed(columns []Column) int {
	sum := total(columns)
	for _, c := range columns {
		if c.Role == Key {
			sum -= c.Width - min(c.Width, keyWidthMin)
		}
	}
	return sum
}

// Rows is how many rows there are below the head.
func (t Table) Rows() int {
	if len(t.Columns) == 0 {
		return 0
	}
	return len(t.Columns[0].Cells)
}

// Cell returns the text of a cell in exactly its column's width; row -1 is the head.
func (t Table) Cell(column, row int) string {
	c := t.Columns[column]
	text := c.Head
	if row >= 0 {
		text = c.Cells[row]
	}
	if c.Right {
		text = quote.Fit(text, c.Width)
		return strings.Repeat(" ", max(c.Width-quote.Width(text), 0)) + text
	}
	return quote.Pad(text, c.Width)
}

// Line returns the text of a row; -1 is the head.
func (t Table) Line(row int) string {
	cells := make([]string, len(t.Columns))
	for i := range t.Columns {
		cells[i] = t.Cell(i, row)
	}
	return strings.TrimRight(strings.Join(cells, strings.Repeat(" ", separation)), " ")
}

// String is the whole table, a line each with its end.
func (t Table) String() string {
	var b strings.Builder
	for row := -1; row < t.Rows(); row++ {
		b.WriteString(t.Line(row) + "\n")
	}
	return b.String()
}
