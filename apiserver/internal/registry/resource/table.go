// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/clock"
)

// none stands in a cell for a time that is not known.
const none = "<unknown>"

// Column is a column of a table.
type Column[P Object] struct {
	// Name is the heading.
	Name string
	// Description for `kubectl get -o wide` and for programs.
	Description string
	// Type is "string" when empty, or "integer".
	Type string
	// Wide columns are shown with -o wide only.
	Wide bool
	// Cell gives the value: a string or an int64.
	Cell func(obj P, now time.Time) any
}

// Table prints objects of a kind.
type Table[P Object] struct {
	Columns []Column[P]
	Clock   clock.PassiveClock
}

// ConvertToTable prints an object or a list.
func (t Table[P]) ConvertToTable(_ context.Context, object runtime.Object, options runtime.Object) (*metav1.Table, error) {
	now := t.Clock.Now()
	table := &metav1.Table{Rows: []metav1.TableRow{}} // a list, also when it is empty
	add := func(obj runtime.Object) error {
		item, ok := obj.(P)
		if !ok {
			return fmt.Errorf("cannot print a %T in a table of %T", obj, *new(P))
		}
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells:  t.cells(item, now),
			Object: runtime.RawExtension{Object: obj},
		})
		return nil
	}
	if err := eachObject(object, add); err != nil {
		return nil, err
	}
	setListMeta(table, object)
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		table.ColumnDefinitions = t.headings()
	}
	return table, nil
}

func (t Table[P]) cells(obj P, now time.Time) []any {
	cells := make([]any, 0, len(t.Columns)+2)
	cells = append(cells, obj.GetName())
	age := Since(&metav1.Time{Time: obj.GetCreationTimestamp().Time}, now)
	aged := false
	for _, column := range t.Columns {
		if column.Wide && !aged {
			cells, aged = append(cells, age), true
		}
		cells = append(cells, column.Cell(obj, now))
	}
	if !aged {
		cells = append(cells, age)
	}
	return cells
}

// headings puts the age after the columns that are always shown, as people know it.
func (t Table[P]) headings() []metav1.TableColumnDefinition {
	age := metav1.TableColumnDefinition{
		Name: "Age", Type: "string",
		Description: "How long ago the object was created.",
	}
	headings := []metav1.TableColumnDefinition{{
		Name: "Name", Type: "string", Format: "name",
		Description: "Name of the object, unique in its namespace.",
	}}
	aged := false
	for _, column := range t.Columns {
		heading := metav1.TableColumnDefinition{Name: column.Name, Type: column.Type, Description: column.Description}
		if heading.Type == "" {
			heading.Type = "string"
		}
		if column.Wide {
			heading.Priority = 1
			if !aged {
				headings, aged = append(headings, age), true
			}
		}
		headings = append(headings, heading)
	}
	if !aged {
		headings = append(headings, age)
	}
	return headings
}

// Since prints how long ago a time was.
func Since(t *metav1.Time, now time.Time) string {
	if t.IsZero() {
		return none
	}
	return duration.HumanDuration(now.Sub(t.Time))
}

// ConditionStatus is the status of a condition, Unknown while there is none.
func ConditionStatus(conditions []metav1.Condition, conditionType string) string {
	if condition := meta.FindStatusCondition(conditions, conditionType); condition != nil {
		return string(condition.Status)
	}
	return string(metav1.ConditionUnknown)
}

// ConditionMessage is the message of a condition, empty while there is none.
func ConditionMessage(conditions []metav1.Condition, conditionType string) string {
	if condition := meta.FindStatusCondition(conditions, conditionType); condition != nil {
		return condition.Message
	}
	return ""
}

func eachObject(object runtime.Object, visit func(runtime.Object) error) error {
	if meta.IsListType(object) {
		return meta.EachListItem(object, visit)
	}
	return visit(object)
}

func setListMeta(table *metav1.Table, object runtime.Object) {
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
		return
	}
	if common, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = common.GetResourceVersion()
	}
}
