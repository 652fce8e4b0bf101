// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	second = time.Second
	hour   = time.Hour
	day    = 24 * time.Hour
)

// duration checks the bounds of a duration that may be absent.
func duration(path *field.Path, value *metav1.Duration, shortest, longest time.Duration) field.ErrorList {
	if value == nil {
		return nil
	}
	return presentDuration(path, *value, shortest, longest)
}

func presentDuration(path *field.Path, value metav1.Duration, shortest, longest time.Duration) field.ErrorList {
	if value.Duration < shortest || value.Duration > longest {
		return field.ErrorList{field.Invalid(path, value.Duration.String(), fmt.Sprintf("must be between %s and %s", shortest, longest))}
	}
	return nil
}

// number checks the bounds of a number.
func number(path *field.Path, value, least, most int32) field.ErrorList {
	if value < least || value > most {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be between %d and %d", least, most))}
	}
	return nil
}
