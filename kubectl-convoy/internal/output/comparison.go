// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// actions in the order in which they are counted for people.
var actions = []corev1alpha1.ObjectAction{
	corev1alpha1.ActionCreate, corev1alpha1.ActionUpdate, corev1alpha1.ActionRecreate,
	corev1alpha1.ActionDelete, corev1alpha1.ActionError, corev1alpha1.ActionUnchanged,
}

// marks are what a line of a comparison begins with.
var marks = map[corev1alpha1.ObjectAction]string{
	corev1alpha1.ActionCreate: "+", corev1alpha1.ActionUpdate: "~", corev1alpha1.ActionRecreate: "±",
	corev1alpha1.ActionDelete: "-", corev1alpha1.ActionError: "!", corev1alpha1.ActionUnchanged: " ",
}

// Preview writes what a sync would do.
func Preview(w io.Writer, preview *corev1alpha1.ReleasePreview) error {
	lines := &lineWriter{w: w}
	counts := map[corev1alpha1.ObjectAction]int{}
	for i := range preview.Objects {
		object := &preview.Objects[i]
		counts[object.Action]++
		if object.Action == corev1alpha1.ActionUnchanged {
			continue
		}
		head := fmt.Sprintf("%s %s %s", marks[object.Action], object.Action, ObjectName(object.ObjectKey))
		if object.Hook != "" {
			head += " (hook " + object.Hook + ")"
		}
		if object.Simulated {
			head += " (simulated)"
		}
		lines.print("%s", head)
		lines.message(object.Message)
		lines.changes(object.Changes)
	}
	lines.print("%s: %s", ShortRevision(preview.Revision), tally(counts))
	return lines.err
}

// Diff writes how objects differ.
func Diff(w io.Writer, diff *corev1alpha1.ReleaseDiff) error {
	lines := &lineWriter{w: w}
	for i := range diff.Objects {
		object := &diff.Objects[i]
		if object.Action == corev1alpha1.ActionUnchanged {
			continue
		}
		lines.print("%s %s %s", marks[object.Action], object.Action, ObjectName(object.ObjectKey))
		lines.message(object.Message)
		if object.Unified != "" {
			lines.print("%s", strings.TrimRight(object.Unified, "\n"))
		} else {
			lines.changes(object.Changes)
		}
	}
	return lines.err
}

// History writes past renders, and the objects of one where they are given.
func History(w io.Writer, history *corev1alpha1.ReleaseHistory) error {
	if len(history.Objects) > 0 {
		lines := &lineWriter{w: w}
		for i := range history.Objects {
			data, err := yaml.JSONToYAML(history.Objects[i].Raw)
			if err != nil {
				return err
			}
			lines.print("---\n%s", strings.TrimRight(string(data), "\n"))
		}
		return lines.err
	}
	table := printers.GetNewTabWriter(w)
	fmt.Fprint(table, "ID\tREVISION\tRENDER\tOUTCOME\tAGE\tMESSAGE\n")
	for _, entry := range history.Entries {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", entry.ID, ShortRevision(entry.Revision), ShortRevision(entry.Render),
			entry.Outcome, ago(entry.At), oneLine(entry.Message))
	}
	return table.Flush()
}

func tally(counts map[corev1alpha1.ObjectAction]int) string {
	var parts []string
	for _, action := range actions {
		if n := counts[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	if len(parts) == 0 {
		return "no objects"
	}
	return strings.Join(parts, ", ")
}

// lineWriter writes lines and remembers the first error.
type lineWriter struct {
	w   io.Writer
	err error
}

func (l *lineWriter) print(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format+"\n", args...)
	}
}

func (l *lineWriter) message(text string) {
	if text != "" {
		l.print("    %s", oneLine(text))
	}
}

func (l *lineWriter) changes(changes []corev1alpha1.FieldChange) {
	for _, change := range changes {
		from, to := change.From, change.To
		if from == "" {
			from = "(absent)"
		}
		if to == "" {
			to = "(absent)"
		}
		line := fmt.Sprintf("    %s: %s -> %s", change.Path, from, to)
		if change.Manager != "" {
			line += " (owned by " + change.Manager + ")"
		}
		l.print("%s", line)
	}
}
