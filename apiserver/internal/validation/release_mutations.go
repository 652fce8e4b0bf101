// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const maxPatch = 64 * 1024

// patchOperations are those of RFC 6902.
var patchOperations = []string{"add", "remove", "replace", "move", "copy", "test"}

// mutations checks the changes of rendered objects.
func mutations(path *field.Path, list []corev1alpha1.Mutation) field.ErrorList {
	errs := atMost(path, list, maxItems)
	errs = append(errs, unique(path, list, "name", func(m *corev1alpha1.Mutation) string { return m.Name })...)
	for i := range list {
		mutation, item := &list[i], path.Index(i)
		errs = append(errs, subdomain(item.Child("name"), mutation.Name)...)
		errs = append(errs, selector(item.Child("target"), &mutation.Target)...)
		errs = append(errs, oneOf(item.Child("type"), mutation.Type, corev1alpha1.MutationStrategic,
			corev1alpha1.MutationMerge, corev1alpha1.MutationJSON)...)
		errs = append(errs, patch(item.Child("patch"), mutation)...)
	}
	return errs
}

func patch(path *field.Path, mutation *corev1alpha1.Mutation) field.ErrorList {
	if strings.TrimSpace(mutation.Patch) == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if errs := short(path, mutation.Patch, maxPatch); errs != nil {
		return errs
	}
	content, err := yaml.YAMLToJSON([]byte(mutation.Patch))
	if err != nil {
		return field.ErrorList{field.Invalid(path, hidden, "must be YAML or JSON: "+err.Error())}
	}
	if mutation.Type == corev1alpha1.MutationJSON {
		return jsonPatch(path, content)
	}
	return jsonObject(path, content)
}

// jsonPatch checks the form of a JSON patch; whether its paths exist is seen when it meets
// an object.
func jsonPatch(path *field.Path, content []byte) field.ErrorList {
	var operations []struct {
		Op    string          `json:"op"`
		Path  *string         `json:"path"`
		From  *string         `json:"from"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(content, &operations); err != nil || len(operations) == 0 {
		return field.ErrorList{field.Invalid(path, hidden, "must be a list of operations of a JSON patch (RFC 6902)")}
	}
	var errs field.ErrorList
	for i, operation := range operations {
		fault := func(format string, args ...any) {
			errs = append(errs, field.Invalid(path, hidden, fmt.Sprintf("operation %d: ", i)+fmt.Sprintf(format, args...)))
		}
		if !slices.Contains(patchOperations, operation.Op) {
			fault("op must be one of %s", strings.Join(patchOperations, ", "))
			continue
		}
		if operation.Path == nil || !validPointer(*operation.Path) {
			fault("path must be a JSON pointer (RFC 6901)")
		}
		moves := operation.Op == "move" || operation.Op == "copy"
		if moves && (operation.From == nil || !validPointer(*operation.From)) {
			fault("from must be a JSON pointer (RFC 6901)")
		}
		if !moves && operation.Op != "remove" && operation.Value == nil {
			fault("value is required")
		}
	}
	return errs
}

// selector checks which objects a mutation or a drift rule is for.
func selector(path *field.Path, s *corev1alpha1.ObjectSelector) field.ErrorList {
	errs := groupVersionKind(path, s.Group, s.Version, s.Kind)
	if s.Namespace != "" {
		errs = append(errs, label(path.Child("namespace"), s.Namespace)...)
	}
	errs = append(errs, short(path.Child("name"), s.Name, maxText)...)
	for _, expression := range []struct{ name, value string }{
		{"labelSelector", s.LabelSelector}, {"annotationSelector", s.AnnotationSelector},
	} {
		if _, err := labels.Parse(expression.value); err != nil {
			errs = append(errs, field.Invalid(path.Child(expression.name), expression.value, "must be a selector as kubectl takes it, for example app=web,tier!=db"))
		}
	}
	return errs
}

// pointer checks a JSON pointer.
func pointer(path *field.Path, value string) field.ErrorList {
	if value == "" || !validPointer(value) || len(value) > maxText {
		return field.ErrorList{field.Invalid(path, value, "must be a JSON pointer (RFC 6901), for example /spec/replicas")}
	}
	return nil
}

func validPointer(value string) bool {
	if value == "" {
		return true
	}
	if value[0] != '/' {
		return false
	}
	for rest := value; ; {
		_, after, found := strings.Cut(rest, "~")
		if !found {
			return true
		}
		if !strings.HasPrefix(after, "0") && !strings.HasPrefix(after, "1") {
			return false
		}
		rest = after[1:]
	}
}

// jsonObject checks that free-form content is an object.
func jsonObject(path *field.Path, content []byte) field.ErrorList {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(content, &object); err != nil || object == nil {
		return field.ErrorList{field.Invalid(path, hidden, "must be an object: names with values")}
	}
	return nil
}
