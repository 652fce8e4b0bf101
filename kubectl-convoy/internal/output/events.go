// SPDX-License-Identifier: Apache-2.0

package output

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EventTime is when an event was last seen.
func EventTime(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}

// Events gives a line for each event.
func Events(events *corev1.EventList, withNamespace, wide bool) *Table {
	columns := []string{"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"}
	if withNamespace {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	if wide {
		columns = append(columns, "COUNT", "SOURCE")
	}
	table := NewTable(columns...)
	for i := range events.Items {
		event := &events.Items[i]
		kind := Cell{event.Type, ""}
		if event.Type == corev1.EventTypeWarning {
			kind.Colour = Bad
		}
		var row []any
		if withNamespace {
			row = append(row, event.InvolvedObject.Namespace)
		}
		row = append(row, ago(metav1.NewTime(EventTime(event))), kind, event.Reason, event.InvolvedObject.Kind+"/"+event.InvolvedObject.Name, oneLine(event.Message))
		if wide {
			row = append(row, max(event.Count, 1), event.Source.Component)
		}
		table.Add(row...)
	}
	return table
}
