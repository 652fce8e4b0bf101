// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Page is a page of a table as an API server makes it, as far as it is shown: a metav1.Table.
type Page struct {
	metav1.ListMeta `json:"metadata"`
	Columns         []struct {
		Name string `json:"name"`
	} `json:"columnDefinitions"`
	Rows []struct {
		Cells  []any `json:"cells"`
		Object struct {
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		} `json:"object"`
	} `json:"rows"`
}

// conditionColumns are those whose cells are statuses of conditions.
var conditionColumns = []string{"READY", "HEALTHY", "INSYNC"}

// ReleasePages gives a line for each Release, as Releases does, of pages that the server made.
func ReleasePages(pages []Page, withNamespace, wide bool) *Table {
	columns := releaseColumns(withNamespace, wide)
	table := NewTable(columns...)
	for _, page := range pages {
		at := map[string]int{}
		for i, column := range page.Columns {
			at[strings.ToUpper(column.Name)] = i
		}
		for _, row := range page.Rows {
			cells := make([]any, len(columns))
			for i, name := range columns {
				text := ""
				if from, known := at[name]; known && from < len(row.Cells) && row.Cells[from] != nil {
					text = oneLine(fmt.Sprint(row.Cells[from]))
				}
				switch {
				case name == "NAMESPACE":
					text = row.Object.Metadata.Namespace
				case name == "REVISION" && text == "", name == "RENDER" && text == "":
					text = "<none>"
				}
				cells[i] = Cell{Text: text}
				if slices.Contains(conditionColumns, name) {
					cells[i] = Cell{text, conditionColour(metav1.ConditionStatus(text))}
				}
			}
			table.Add(cells...)
		}
	}
	return table
}
