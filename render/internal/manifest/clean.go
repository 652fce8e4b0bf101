// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/kubernetes/scheme"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// serverMetadata is written by API servers. In a source it comes from an object that was
// read from a cluster; sent back it would be refused, or tie the object to one cluster.
var serverMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid",
}

// Annotations and labels that say who applied an object; a source cannot know.
var (
	foreignAnnotations = []string{"kubectl.kubernetes.io/last-applied-configuration", corev1alpha1.AnnotationRelease}
	foreignLabels      = []string{corev1alpha1.LabelOwner}
)

// Clean takes off what only an API server or an applier may write, in place, and checks
// what must hold for every object. The error is an *InvalidError.
func Clean(d *Document) error {
	if problem := clean(d.Object.Object); problem != "" {
		return &InvalidError{Object: Name(d.Object.Object), Origin: d.Origin, Problem: problem}
	}
	return nil
}

func clean(object map[string]any) (problem string) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return "metadata is missing or is not an object"
	}
	for _, field := range serverMetadata {
		delete(metadata, field)
	}
	if problem := checkName(metadata); problem != "" {
		return problem
	}
	if problem := cleanStrings(metadata, "labels", "label", foreignLabels); problem != "" {
		return problem
	}
	if problem := cleanStrings(metadata, "annotations", "annotation", foreignAnnotations); problem != "" {
		return problem
	}
	cleanStatus(object)
	return checkData(object)
}

func checkName(metadata map[string]any) (problem string) {
	name, isString := metadata["name"].(string)
	switch {
	case metadata["name"] != nil && !isString:
		return "metadata.name is not a string; quote it"
	case name == "" && metadata["generateName"] != nil:
		return "metadata.generateName cannot be used: an object needs the same name at every sync; set metadata.name"
	case name == "":
		return "metadata.name is missing"
	}
	delete(metadata, "generateName")
	if namespace, ok := metadata["namespace"]; ok && namespace != nil {
		if _, ok := namespace.(string); !ok {
			return "metadata.namespace is not a string; quote it"
		}
	}
	if metadata["namespace"] == nil || metadata["namespace"] == "" {
		delete(metadata, "namespace")
	}
	return ""
}

// cleanStrings checks labels or annotations, and removes nulls, which mean "absent".
func cleanStrings(metadata map[string]any, field, one string, foreign []string) (problem string) {
	value, ok := metadata[field]
	if !ok {
		return ""
	}
	entries, ok := value.(map[string]any)
	if !ok && value != nil {
		return "metadata." + field + " is not an object"
	}
	for _, key := range foreign {
		delete(entries, key)
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if entries[key] == nil {
			delete(entries, key)
		} else if _, ok := entries[key].(string); !ok {
			return fmt.Sprintf("the %s %q is not a string but %s; quote it", one, key, describe(entries[key]))
		}
	}
	if len(entries) == 0 {
		delete(metadata, field)
	}
	return ""
}

// cleanStatus drops the status, which generators of manifests leave behind. Only a kind
// that convoy does not know keeps one that says something: without a status subresource,
// status is a field like any other.
func cleanStatus(object map[string]any) {
	status, ok := object["status"]
	if !ok {
		return
	}
	fields, isMap := status.(map[string]any)
	if status == nil || (isMap && len(fields) == 0) || builtIn(object) {
		delete(object, "status")
	}
}

func builtIn(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	group := groupOf(apiVersion)
	return scheme.Scheme.IsGroupRegistered(group) || group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"
}

func groupOf(apiVersion string) string {
	for i := range len(apiVersion) {
		if apiVersion[i] == '/' {
			return apiVersion[:i]
		}
	}
	return ""
}

// checkData refuses Secrets and ConfigMaps whose values an API server would refuse too,
// because its message would show them.
func checkData(object map[string]any) (problem string) {
	if object["apiVersion"] != "v1" || (object["kind"] != "Secret" && object["kind"] != "ConfigMap") {
		return ""
	}
	for _, field := range []string{"data", "stringData", "binaryData"} {
		value, ok := object[field]
		if !ok || value == nil {
			continue
		}
		entries, ok := value.(map[string]any)
		if !ok {
			return field + " is not an object"
		}
		encoded := field == "binaryData" || (field == "data" && object["kind"] == "Secret")
		if problem := checkEntries(field, entries, encoded); problem != "" {
			return problem
		}
	}
	return ""
}

func checkEntries(field string, entries map[string]any, encoded bool) (problem string) {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		text, ok := entries[key].(string)
		if !ok && entries[key] != nil {
			return fmt.Sprintf("the value of %q in %s is not a string but %s; quote it", key, field, describe(entries[key]))
		}
		if encoded {
			if _, err := base64.StdEncoding.DecodeString(text); err != nil {
				return fmt.Sprintf("the value of %q in %s is not base64", key, field)
			}
		}
	}
	return ""
}
