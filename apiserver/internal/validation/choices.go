// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// choice is a member of a set of fields that exclude each other.
type choice struct {
	name string
	set  bool
}

// exactlyOne checks that one of the choices is made.
func exactlyOne(path *field.Path, choices ...choice) field.ErrorList {
	errs := atMostOne(path, choices...)
	for _, c := range choices {
		if c.set {
			return errs
		}
	}
	return append(errs, field.Required(path, fmt.Sprintf("exactly one of %s must be set", names(choices))))
}

// atMostOne checks that no two choices are made; every one after the first is an error.
func atMostOne(path *field.Path, choices ...choice) field.ErrorList {
	var errs field.ErrorList
	first := ""
	for _, c := range choices {
		switch {
		case !c.set:
		case first == "":
			first = c.name
		default:
			errs = append(errs, field.Forbidden(path.Child(c.name), fmt.Sprintf("may not be set beside %s", first)))
		}
	}
	return errs
}

func names(choices []choice) string {
	all := make([]string, len(choices))
	for i, c := range choices {
		all[i] = c.name
	}
	return strings.Join(all, ", ")
}
