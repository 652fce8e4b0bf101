// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// kindPattern is what a kind of any API looks like.
var kindPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)

// keyPattern is what a key of a Secret or ConfigMap looks like.
var keyPattern = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// ObjectMeta checks the metadata of a new object, so that its faults are told together with
// those of the spec.
func ObjectMeta(meta metav1.Object, namespaced bool) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(meta, namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// FinalizerWarnings tells of new finalizers without a domain, in the words that clients know
// from custom resources.
func FinalizerWarnings(meta metav1.Object, old []string) []string {
	var warnings []string
	for _, name := range meta.GetFinalizers() {
		standard := name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents
		if !strings.Contains(name, "/") && !standard && !slices.Contains(old, name) {
			warnings = append(warnings, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers", name))
		}
	}
	return warnings
}

// subdomain checks a name that most objects have: a lower-case DNS subdomain.
func subdomain(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return invalid(path, name, content.IsDNS1123Subdomain(name))
}

// optionalSubdomain is subdomain for a name that may be absent.
func optionalSubdomain(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return nil
	}
	return subdomain(path, name)
}

// label checks the name of a namespace or of an item of a list: a lower-case DNS label.
func label(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return invalid(path, name, content.IsDNS1123Label(name))
}

// key checks a key of a Secret or ConfigMap.
func key(path *field.Path, key string) field.ErrorList {
	if !keyPattern.MatchString(key) || key == "." || key == ".." {
		return field.ErrorList{field.Invalid(path, key, "must be a key of a Secret or ConfigMap: at most 253 letters, digits, '-', '_' and '.'")}
	}
	return nil
}

// groupVersionKind checks the parts of a kind's identity that are present.
func groupVersionKind(path *field.Path, group, version, kind string) field.ErrorList {
	errs := optionalSubdomain(path.Child("group"), group)
	if version != "" {
		errs = append(errs, label(path.Child("version"), version)...)
	}
	if kind != "" && !kindPattern.MatchString(kind) {
		errs = append(errs, field.Invalid(path.Child("kind"), kind, "must be a kind, for example Deployment"))
	}
	return errs
}

// oneOf checks a value of an enumeration. Empty values got their default before; one that
// is still empty has none.
func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("must be one of %q", allowed))}
	}
	if !slices.Contains(allowed, value) {
		return field.ErrorList{field.NotSupported(path, value, allowed)}
	}
	return nil
}

// unique checks that the items of a list have different keys.
func unique[T any](path *field.Path, items []T, member string, name func(*T) string) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool, len(items))
	for i := range items {
		value := name(&items[i])
		if value != "" && seen[value] {
			errs = append(errs, field.Duplicate(child(path.Index(i), member), value))
		}
		seen[value] = true
	}
	return errs
}

// child is a member of an item, or the item itself when the member has no name.
func child(path *field.Path, member string) *field.Path {
	if member == "" {
		return path
	}
	return path.Child(member)
}

// atMost checks the length of a list.
func atMost[T any](path *field.Path, items []T, limit int) field.ErrorList {
	if len(items) > limit {
		return field.ErrorList{field.TooMany(path, len(items), limit)}
	}
	return nil
}

// short checks the length of a text.
func short(path *field.Path, text string, limit int) field.ErrorList {
	if len(text) > limit {
		return field.ErrorList{field.TooLong(path, "", limit)}
	}
	return nil
}

func invalid(path *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}
