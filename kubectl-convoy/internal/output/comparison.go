// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
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

// Preview writes what a sync would do. It has the objects of the actions in only, or of
// all when that is empty; objects that the sync would leave as they are, are then counted and
// not listed. What is done with hooks is told; they are not among the objects.
func Preview(w io.Writer, preview *corev1alpha1.ReleasePreview, only []string) error {
	lines := &lineWriter{w: w}
	counts, hooks := map[corev1alpha1.ObjectAction]int{}, 0
	for i := range preview.Objects {
		object := &preview.Objects[i]
		if object.Hook != "" && object.Action == corev1alpha1.ActionUnchanged {
			hooks++
			lines.print("  %s (hook %s) %s", naming.Object(object.ObjectKey), object.Hook, oneLine(object.Message))
			continue
		}
		counts[object.Action]++
		if object.Action != corev1alpha1.ActionUnchanged || len(only) > 0 {
			lines.preview(object)
		}
	}
	summary := tally(counts, hooks)
	switch {
	case summary == "" && len(only) > 0:
		summary = "no object with the action " + strings.Join(only, ", ")
	case summary == "":
		summary = "no objects"
	}
	lines.print("%s: %s", naming.Short(preview.Revision), summary)
	if preview.Plan != "" {
		lines.print("plan %s", naming.Short(preview.Plan))
	}
	return lines.err
}

func (l *lineWriter) preview(object *corev1alpha1.ObjectPreview) {
	head := fmt.Sprintf("%s %s %s", marks[object.Action], object.Action, naming.Object(object.ObjectKey))
	if object.Hook != "" {
		head += " (hook " + object.Hook + ")"
	}
	if object.Simulated {
		head += " (simulated)"
	}
	l.print("%s", head)
	l.message(object.Reason, object.Message)
	l.changes(object.Changes)
}

// Diff writes how objects differ.
func Diff(w io.Writer, diff *corev1alpha1.ReleaseDiff) error {
	lines := &lineWriter{w: w}
	for i := range diff.Objects {
		object := &diff.Objects[i]
		if object.Action == corev1alpha1.ActionUnchanged {
			continue
		}
		lines.print("%s %s %s", marks[object.Action], object.Action, naming.Object(object.ObjectKey))
		lines.message(object.Reason, object.Message)
		if object.Unified != "" {
			lines.print("%s", titled(object.Unified, naming.Object(object.ObjectKey), diff))
		} else {
			lines.changes(object.Changes)
		}
	}
	return lines.err
}

// titled gives a unified diff whose header tells the object and which side is which.
func titled(unified, object string, diff *corev1alpha1.ReleaseDiff) string {
	lines := strings.SplitN(strings.TrimRight(unified, "\n"), "\n", 3)
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") {
		return strings.Join(lines, "\n")
	}
	lines[0] = fmt.Sprintf("--- %s (%s)", object, side(diff.From))
	lines[1] = fmt.Sprintf("+++ %s (%s)", object, side(diff.To))
	return strings.Join(lines, "\n")
}

// side says what one side of a comparison is: live, desired, a render by its digest, or an
// entry of the history by its id.
func side(name string) string {
	switch {
	case name == "live" || name == "desired":
		return name
	case strings.Contains(name, ":"):
		return "render " + naming.Short(name)
	}
	return "history id " + name
}

// History gives a line for each past render.
func History(history *corev1alpha1.ReleaseHistory) *Table {
	table := NewTable("ID", "REVISION", "RENDER", "OUTCOME", "REASON", "OBJECTS", "TOOK", "AGE", "REQUESTED BY", "APPROVED BY", "MESSAGE")
	for _, entry := range history.Entries {
		table.Add(entry.ID, naming.Short(entry.Revision), naming.Short(entry.Render), Cell{string(entry.Outcome), outcomeColour(entry.Outcome)},
			entry.Reason, entry.Objects, took(entry.Duration), ago(entry.At), entry.RequestedBy, approvers(entry.Approvals), oneLine(entry.Message))
	}
	return table
}

func outcomeColour(outcome corev1alpha1.HistoryOutcome) Colour {
	switch outcome {
	case corev1alpha1.OutcomeHealthy:
		return Good
	case corev1alpha1.OutcomeFailed:
		return Bad
	case corev1alpha1.OutcomeSuperseded:
		return Faint
	}
	return Waiting
}

// Documents writes objects as YAML, one document for each.
func Documents(w io.Writer, objects []runtime.RawExtension) error {
	lines := &lineWriter{w: w}
	for i := range objects {
		data, err := yaml.JSONToYAML(objects[i].Raw)
		if err != nil {
			return err
		}
		lines.print("---\n%s", strings.TrimRight(string(data), "\n"))
	}
	return lines.err
}

func took(d *metav1.Duration) string {
	if d == nil {
		return ""
	}
	return human(d.Duration)
}

// approvers names who let a render through its gates, each once.
func approvers(approvals []corev1alpha1.Approval) string {
	var names []string
	for _, approval := range approvals {
		if !slices.Contains(names, approval.By) {
			names = append(names, approval.By)
		}
	}
	return strings.Join(names, ", ")
}

func tally(counts map[corev1alpha1.ObjectAction]int, hooks int) string {
	var parts []string
	for _, action := range actions {
		if n := counts[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	if hooks > 0 {
		parts = append(parts, Count(hooks, "hook"))
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

// message writes why, with the reason in front where there is one.
func (l *lineWriter) message(reason, text string) {
	if reason != "" {
		text = reason + ": " + text
	}
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
