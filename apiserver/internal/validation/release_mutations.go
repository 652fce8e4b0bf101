// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxPatch is how long a patch may be. What its aliases stand for counts, too: a patch may be
// maxExpanded large once they are written out, all of a Release maxPatches, in which each value has
// perValue bytes besides its text. Who renders has the same limits.
const (
	maxPatch    = 64 * 1024
	maxExpanded = 1 << 20
	maxPatches  = 4 << 20
	perValue    = 16
)

// patchOperations are those of RFC 6902.
var patchOperations = []string{"add", "remove", "replace", "move", "copy", "test"}

// mutations checks the changes of rendered objects.
func mutations(path *field.Path, list []corev1alpha1.Mutation) field.ErrorList {
	errs := atMost(path, list, maxItems)
	errs = append(errs, unique(path, list, "name", func(m *corev1alpha1.Mutation) string { return m.Name })...)
	left := int64(maxPatches)
	for i := range list {
		mutation, item := &list[i], path.Index(i)
		errs = append(errs, subdomain(item.Child("name"), mutation.Name)...)
		errs = append(errs, selector(item.Child("target"), &mutation.Target)...)
		errs = append(errs, oneOf(item.Child("type"), mutation.Type, corev1alpha1.MutationStrategic,
			corev1alpha1.MutationMerge, corev1alpha1.MutationJSON)...)
		errs = append(errs, patch(item.Child("patch"), mutation, &left)...)
	}
	return errs
}

// patch checks a patch, and takes its size off what is left for those of a Release. When nothing
// is left, none is looked at any more.
func patch(path *field.Path, mutation *corev1alpha1.Mutation, left *int64) field.ErrorList {
	if *left < 0 {
		return nil
	}
	if strings.TrimSpace(mutation.Patch) == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if errs := short(path, mutation.Patch, maxPatch); errs != nil {
		return errs
	}
	content, err := patchJSON([]byte(mutation.Patch))
	if err != nil {
		return field.ErrorList{field.Invalid(path, hidden, "must be YAML or JSON: "+err.Error())}
	}
	if *left -= sizeOf(content); *left < 0 {
		return field.ErrorList{field.Invalid(path, hidden, fmt.Sprintf("must not have more than %d MiB together with those before it, each value counted with %d bytes besides its text", maxPatches>>20, perValue))}
	}
	if mutation.Type == corev1alpha1.MutationJSON {
		return jsonPatch(path, content)
	}
	return jsonObject(path, content)
}

// patchJSON gives a patch as JSON. What is JSON stays as it is: not all of it is YAML.
func patchJSON(text []byte) ([]byte, error) {
	if json.Valid(text) {
		return text, nil
	}
	var node yamlv3.Node
	if err := yamlv3.Unmarshal(text, &node); err == nil && (expansion{}).of(&node) > maxExpanded {
		return nil, fmt.Errorf("the aliases make more than %d MiB of it", maxExpanded>>20)
	}
	return yaml.YAMLToJSON(text)
}

// expansion has the sizes of the nodes that aliases stand for, 0 while one is worked out: what
// contains itself is refused by the decoder.
type expansion map[*yamlv3.Node]int64

// of gives how large a node is once its aliases are written out, or that it is too large.
func (e expansion) of(node *yamlv3.Node) int64 {
	if node.Kind == yamlv3.AliasNode {
		size, ok := e[node.Alias]
		if !ok {
			e[node.Alias] = 0
			size = e.of(node.Alias)
			e[node.Alias] = size
		}
		return size
	}
	size := int64(perValue + len(node.Value))
	for _, child := range node.Content {
		if size += e.of(child); size > maxExpanded {
			break
		}
	}
	return size
}

// sizeOf gives how large JSON is when each value, and each key, has perValue bytes besides its text.
func sizeOf(content []byte) (size int64) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return size
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '}' || t == ']' {
				continue
			}
		case string:
			size += int64(len(t))
		case json.Number:
			size += int64(len(t))
		}
		size += perValue
	}
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
