// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// cronField is one of the five fields of a cron expression.
type cronField struct {
	name        string
	least, most int
	names       []string // of the values from least on
}

var cronFields = []cronField{
	{name: "minute", most: 59},
	{name: "hour", most: 23},
	{name: "day of month", least: 1, most: 31},
	{name: "month", least: 1, most: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", most: 6, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// schedule checks a cron expression of five fields.
func schedule(path *field.Path, expression string) field.ErrorList {
	if expression == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	values := strings.Fields(expression)
	if len(values) != len(cronFields) {
		return field.ErrorList{field.Invalid(path, expression, "must be a cron expression of five fields: minute, hour, day of month, month, day of week")}
	}
	var errs field.ErrorList
	for i, value := range values {
		if err := cronFields[i].check(value); err != nil {
			errs = append(errs, field.Invalid(path, expression, fmt.Sprintf("%s: %v", cronFields[i].name, err)))
		}
	}
	return errs
}

// check takes a list of values, ranges and stars, each with or without a step.
func (f cronField) check(list string) error {
	for _, item := range strings.Split(list, ",") {
		span, step, stepped := strings.Cut(item, "/")
		if stepped {
			if n, err := strconv.Atoi(step); err != nil || n < 1 || n > f.most {
				return fmt.Errorf("%q is not a step between 1 and %d", step, f.most)
			}
		}
		if span == "*" {
			continue
		}
		from, to, ranged := strings.Cut(span, "-")
		first, err := f.value(from)
		if err != nil {
			return err
		}
		if !ranged {
			continue
		}
		last, err := f.value(to)
		if err != nil {
			return err
		}
		if last < first {
			return fmt.Errorf("the range %q ends before it begins", span)
		}
	}
	return nil
}

func (f cronField) value(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.least + i, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.least || n > f.most {
		return 0, fmt.Errorf("%q is not a value between %d and %d", text, f.least, f.most)
	}
	return n, nil
}
