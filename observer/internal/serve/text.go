// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// writeText writes an answer for people.
func writeText(ctx context.Context, w io.Writer, object reply) error {
	switch object := object.(type) {
	case *corev1alpha1.ReleasePreview:
		previewText(w, object)
	case *corev1alpha1.ReleaseDiff:
		diffText(w, object)
	case *corev1alpha1.ReleaseHealth:
		return healthText(w, object)
	case *corev1alpha1.ReleaseHistory:
		return historyText(ctx, w, object)
	default:
		return writeYAML(ctx, w, object)
	}
	return nil
}

func previewText(w io.Writer, preview *corev1alpha1.ReleasePreview) {
	fmt.Fprintf(w, "revision %s\nrender %s\nplan %s\n", preview.Revision, preview.Render, preview.Plan)
	for _, object := range preview.Objects {
		head := fmt.Sprintf("%s %s", object.Action, textName(object.ObjectKey))
		if object.Hook != "" {
			head += " (hook " + object.Hook + ")"
		}
		if object.Simulated {
			head += " (simulated)"
		}
		objectText(w, head, object.Reason, object.Message)
		for _, change := range object.Changes {
			line := fmt.Sprintf("    %s: %s -> %s", change.Path, orAbsent(change.From), orAbsent(change.To))
			if change.Manager != "" {
				line += " (owned by " + change.Manager + ")"
			}
			fmt.Fprintln(w, line)
		}
	}
}

func diffText(w io.Writer, diff *corev1alpha1.ReleaseDiff) {
	for _, object := range diff.Objects {
		name := textName(object.ObjectKey)
		objectText(w, fmt.Sprintf("%s %s", object.Action, name), object.Reason, object.Message)
		body := strings.TrimRight(object.Unified, "\n")
		if rest, ok := strings.CutPrefix(body, "--- from\n+++ to\n"); ok {
			body = fmt.Sprintf("--- %s (%s)\n+++ %s (%s)\n%s", name, diff.From, name, diff.To, rest)
		}
		if body != "" {
			fmt.Fprintln(w, body)
		}
	}
}

func objectText(w io.Writer, head, reason, message string) {
	fmt.Fprintln(w, head)
	if text := strings.TrimPrefix(reason+": "+oneLine(message), ": "); text != "" {
		fmt.Fprintf(w, "    %s\n", text)
	}
}

func healthText(w io.Writer, health *corev1alpha1.ReleaseHealth) error {
	table := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprint(table, "OBJECT\tSTATUS\tRULE\tSINCE\tMESSAGE\n")
	var rows func(indent string, objects []corev1alpha1.ObjectHealthDetail)
	rows = func(indent string, objects []corev1alpha1.ObjectHealthDetail) {
		for _, object := range objects {
			since := ""
			if object.Since != nil {
				since = object.Since.UTC().Format(time.RFC3339)
			}
			fmt.Fprintf(table, "%s%s\t%s\t%s\t%s\t%s\n", indent, textName(object.ObjectKey), object.Status, object.Rule, since, oneLine(object.Message))
			rows(indent+"  ", object.Children)
		}
	}
	rows("", health.Objects)
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n", health.Status)
	return err
}

func historyText(ctx context.Context, w io.Writer, history *corev1alpha1.ReleaseHistory) error {
	for i, object := range history.Objects {
		if _, err := fmt.Fprintln(w, "---"); err != nil {
			return err
		}
		if err := writePiece(ctx, w, fmt.Sprintf("objects[%d]", i), object.Raw); err != nil {
			return err
		}
	}
	if len(history.Objects) > 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprint(table, "ID\tREVISION\tRENDER\tOUTCOME\tREASON\tOBJECTS\tREQUESTED BY\tAT\tMESSAGE\n")
	for _, entry := range history.Entries {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", entry.ID, entry.Revision, entry.Render, entry.Outcome,
			entry.Reason, entry.Objects, oneLine(entry.RequestedBy), entry.At.UTC().Format(time.RFC3339), oneLine(entry.Message))
	}
	return table.Flush()
}

// textName is how an object is written for people.
func textName(key corev1alpha1.ObjectKey) string {
	kind := key.Kind
	if key.Group != "" {
		kind += "." + key.Group
	}
	if key.Namespace == "" {
		return kind + " " + key.Name
	}
	return kind + " " + key.Namespace + "/" + key.Name
}

func orAbsent(value string) string {
	if value == "" {
		return "(absent)"
	}
	return value
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
