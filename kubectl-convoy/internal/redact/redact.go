// SPDX-License-Identifier: Apache-2.0

// Package redact takes secrets out of objects and texts that are handed to others. It rather
// masks too much: what looks like a secret by its name, place or form is one.
package redact

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Masked stands where a secret was.
const Masked = "(masked)"

// freeForm are fields of convoy's kinds into which people write what they want.
var freeForm = map[string]bool{"values": true, "template": true, "patch": true, "annotations": true}

// applied are ends of annotations in which tools keep what was applied.
var applied = []string{"last-applied-configuration", "rio.cattle.io/applied", "/last-applied", "kapp.k14s.io/original"}

// Object takes the secrets out of an object of the API, which it changes: values under names of
// secrets, the data of Secrets, what tools keep in annotations of what was applied, and what
// looks like a secret in a text.
func Object(object map[string]any) {
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	of(object, false)
}

// of masks below a value; anything tells that its names are those of people, not of the API.
func of(value any, anything bool) any {
	switch value := value.(type) {
	case map[string]any:
		ofMap(value, anything)
		return value
	case []any:
		for i := range value {
			value[i] = of(value[i], anything)
		}
		maskArguments(value)
		return value
	case string:
		if anything {
			return document(value, false)
		}
		return Text(value)
	}
	return value
}

func ofMap(fields map[string]any, anything bool) {
	if version := fields["apiVersion"]; fields["kind"] == "Secret" && (version == "v1" || version == nil) {
		maskData(fields)
	}
	// An environment variable, and an operation of a JSON patch, have the name beside the value.
	for _, naming := range []string{"name", "key", "path"} {
		if name, ok := fields[naming].(string); ok && (Secret(name) || naming == "name" && plain(name) == "key" || naming == "path" && isSecretPath(name)) {
			mask(fields, "value")
		}
	}
	for field, value := range fields {
		text, isText := value.(string)
		switch {
		case field == "patch" && isText:
			fields[field] = document(text, mayChangeSecrets(fields["target"]))
		case field == "key" && anything && isText && !namesAnother(fields):
			mask(fields, field)
		case slices.ContainsFunc(applied, func(end string) bool { return strings.HasSuffix(field, end) }):
			mask(fields, field)
		case Secret(field) && (anything && !isObjectReference(field, value) || isText && !isReference(field)):
			mask(fields, field)
		default:
			fields[field] = of(value, anything || freeForm[field])
		}
	}
}

// isObjectReference tells whether a field holds the name of an object, as secretKeyRef does.
func isObjectReference(field string, value any) bool {
	reference, ok := value.(map[string]any)
	return ok && strings.HasSuffix(field, "Ref") && reference["name"] != nil
}

// namesAnother tells by what stands beside a key that it is one of a Secret, a label or a taint.
func namesAnother(fields map[string]any) bool {
	return slices.ContainsFunc([]string{"name", "path", "operator", "effect", "value", "values", "optional"}, func(field string) bool {
		_, ok := fields[field]
		return ok
	})
}

// isSecretPath tells whether a JSON patch writes at a path what may be secret: data, the value of
// an environment variable, whose name is elsewhere, or something with the name of a secret.
func isSecretPath(path string) bool {
	parts := strings.Split(path, "/")
	if len(parts) > 2 && parts[len(parts)-1] == "value" && slices.Contains(parts, "env") {
		return true
	}
	return slices.ContainsFunc(parts, func(part string) bool {
		return strings.EqualFold(part, "data") || strings.EqualFold(part, "stringData") || Secret(part)
	})
}

// mayChangeSecrets tells whether a mutation with a target may be one of Secrets.
func mayChangeSecrets(target any) bool {
	selector, _ := target.(map[string]any)
	kind, _ := selector["kind"].(string)
	return kind == "" || kind == "Secret"
}

// maskArguments masks items behind a flag with the name of a secret.
func maskArguments(items []any) {
	for i := 1; i < len(items); i++ {
		flag, isText := items[i-1].(string)
		name := strings.TrimLeft(flag, "-")
		value, _ := items[i].(string)
		if isText && name != flag && !strings.ContainsAny(name, "= \t\n") && !strings.HasPrefix(value, "-") && Secret(name) && !isReference(name) {
			items[i] = Masked
		}
	}
}

// maskData masks the data of a Secret, or what a patch makes of it.
func maskData(fields map[string]any) {
	mask(fields, "data")
	mask(fields, "stringData")
}

// mask puts the mask in the place of a value, if there is one.
func mask(fields map[string]any, field string) {
	if value, ok := fields[field]; ok && value != nil {
		fields[field] = Masked
	}
}

var separator = regexp.MustCompile(`(?m)^---(?:[ \t][^\n]*)?(?:\n|\z)`)

// document is Text of what may be YAML or JSON in a string, as a patch is; ofSecret tells that it
// may be of a Secret. What may be of one and cannot be read is masked as a whole.
func document(text string, ofSecret bool) string {
	var done strings.Builder
	begin := 0
	for _, end := range append(separator.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		one, ok := oneDocument(text[begin:end[0]], ofSecret)
		if !ok {
			return Masked
		}
		done.WriteString(one + text[end[0]:end[1]])
		begin = end[1]
	}
	return done.String()
}

func oneDocument(text string, ofSecret bool) (string, bool) {
	if !strings.ContainsAny(text, ":{") {
		return Text(text), true
	}
	var content any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		return Text(text), !ofSecret && !secretKind.MatchString(text)
	}
	switch content := content.(type) {
	case map[string]any:
		if ofSecret {
			maskData(content)
		}
	case []any:
		for _, operation := range content {
			operation, _ := operation.(map[string]any)
			if whole, ok := operation["value"].(map[string]any); ok && ofSecret && operation["path"] == "" {
				maskData(whole)
			}
		}
	default:
		return Text(text), true
	}
	masked, err := yaml.Marshal(of(content, true))
	return string(masked), err == nil
}
