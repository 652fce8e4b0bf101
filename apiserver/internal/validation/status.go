// SPDX-License-Identifier: Apache-2.0

package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// conditions checks the conditions of a status as the schema of a CustomResourceDefinition
// with metav1.Condition would.
func conditions(list []metav1.Condition) field.ErrorList {
	return metav1validation.ValidateConditions(list, field.NewPath("status", "conditions"))
}
