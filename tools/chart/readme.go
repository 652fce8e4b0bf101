// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
)

// The table stands between these lines.
const (
	tableBegin = "<!-- values: made by tools/chart -->\n"
	tableEnd   = "<!-- end of values -->\n"
)

// replaceTable returns the text with its table of values made anew.
func replaceTable(text string, values []value) (string, error) {
	before, rest, begins := strings.Cut(text, tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return "", errors.New("lacks the lines between which the table of values is")
	}
	var rows strings.Builder
	rows.WriteString("\n| value | default | |\n|---|---|---|\n")
	if err := writeRows(&rows, values); err != nil {
		return "", err
	}
	return before + tableBegin + rows.String() + "\n" + tableEnd + after, nil
}

func writeRows(rows *strings.Builder, values []value) error {
	for _, one := range values {
		if one.isObject() {
			if err := writeRows(rows, one.children); err != nil {
				return err
			}
			continue
		}
		shown, err := scalar(one.node)
		if err != nil {
			return fmt.Errorf("%s: %w", one.path, err)
		}
		name := one.path
		if one.same() != "" && !strings.Contains(one.path, ".") {
			name, shown = one.path+".…", "as `"+one.same()+".…`"
		} else {
			shown = "`" + shown + "`"
		}
		fmt.Fprintf(rows, "| `%s` | %s | %s |\n", name, escape(shown), escape(one.description))
	}
	return nil
}

func escape(cell string) string { return strings.ReplaceAll(cell, "|", `\|`) }
