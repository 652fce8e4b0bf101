// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kumodo.io/convoy/internal/window"
)

// schedule checks a cron expression of five fields.
func schedule(path *field.Path, expression string) field.ErrorList {
	if expression == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := window.CheckSchedule(expression); err != nil {
		return field.ErrorList{field.Invalid(path, expression, err.Error())}
	}
	return nil
}
