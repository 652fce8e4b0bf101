// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// keyedList is a list whose items server-side apply tells apart by some of their fields
// (x-kubernetes-list-map-keys): two items with the same values of them cannot both be kept.
type keyedList struct {
	path string // from the object, or from the pod specification; * stands for every item of a list
	keys []string
}

// podLists are the keyed lists of a pod specification.
var podLists = []keyedList{
	{"containers", []string{"name"}},
	{"initContainers", []string{"name"}},
	{"volumes", []string{"name"}},
	{"imagePullSecrets", []string{"name"}},
	{"hostAliases", []string{"ip"}},
	{"resourceClaims", []string{"name"}},
	{"schedulingGates", []string{"name"}},
	{"topologySpreadConstraints", []string{"topologyKey", "whenUnsatisfiable"}},
	{"containers.*.env", []string{"name"}},
	{"containers.*.ports", []string{"containerPort", "protocol"}},
	{"containers.*.volumeMounts", []string{"mountPath"}},
	{"containers.*.volumeDevices", []string{"devicePath"}},
	{"containers.*.resources.claims", []string{"name"}},
	{"initContainers.*.env", []string{"name"}},
	{"initContainers.*.ports", []string{"containerPort", "protocol"}},
	{"initContainers.*.volumeMounts", []string{"mountPath"}},
	{"initContainers.*.volumeDevices", []string{"devicePath"}},
	{"initContainers.*.resources.claims", []string{"name"}},
}

// podSpecs says where each kind has its pod specification.
var podSpecs = map[schema.GroupKind]string{
	{Kind: "Pod"}:                        "spec",
	{Kind: "PodTemplate"}:                "template.spec",
	{Kind: "ReplicationController"}:      "spec.template.spec",
	{Group: "apps", Kind: "Deployment"}:  "spec.template.spec",
	{Group: "apps", Kind: "StatefulSet"}: "spec.template.spec",
	{Group: "apps", Kind: "DaemonSet"}:   "spec.template.spec",
	{Group: "apps", Kind: "ReplicaSet"}:  "spec.template.spec",
	{Group: "batch", Kind: "Job"}:        "spec.template.spec",
	{Group: "batch", Kind: "CronJob"}:    "spec.jobTemplate.spec.template.spec",
}

// otherLists are the keyed lists of other kinds.
var otherLists = map[schema.GroupKind][]keyedList{
	serviceKind:              {{"spec.ports", []string{"port", "protocol"}}},
	{Kind: "ServiceAccount"}: {{"secrets", []string{"name"}}},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: {{"webhooks", []string{"name"}}},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   {{"webhooks", []string{"name"}}},
}

// keyDefaults are the values that the server takes for keys that an item leaves out.
var keyDefaults = map[string]string{"protocol": "TCP"}

// duplicates gives a message for each pair of items with the same keys.
func duplicates(obj *unstructured.Unstructured) []string {
	kind := groupKind(obj)
	var messages []string
	report := func(message string) { messages = append(messages, message) }
	for _, list := range otherLists[kind] {
		inLists(obj.Object, strings.Split(list.path, "."), nil, list.keys, report)
	}
	if prefix, ok := podSpecs[kind]; ok {
		for _, list := range podLists {
			inLists(obj.Object, strings.Split(prefix+"."+list.path, "."), nil, list.keys, report)
		}
	}
	return messages
}

// inLists follows a path to each list it leads to and reports the duplicates there.
func inLists(value any, path []string, at *field.Path, keys []string, report func(string)) {
	if len(path) == 0 {
		if list, ok := value.([]any); ok {
			inList(list, at, keys, report)
		}
		return
	}
	if path[0] == "*" {
		list, _ := value.([]any)
		for i, item := range list {
			inLists(item, path[1:], at.Index(i), keys, report)
		}
		return
	}
	content, _ := value.(map[string]any)
	inLists(content[path[0]], path[1:], name(at, path[0]), keys, report)
}

func inList(list []any, at *field.Path, keys []string, report func(string)) {
	seen := map[string]int{}
	for i, item := range list {
		content, ok := item.(map[string]any)
		if !ok {
			continue
		}
		identity := identify(content, keys)
		if before, ok := seen[identity]; ok {
			report(fmt.Sprintf("%s and %s have the same %s, of which server-side apply can keep only one: take one out, if need be with a mutation",
				at.Index(before), at.Index(i), identity))
			continue
		}
		seen[identity] = i
	}
}

// identify writes the values of an item's keys for people, unambiguously.
func identify(item map[string]any, keys []string) string {
	parts := make([]string, len(keys))
	for i, key := range keys {
		value := item[key]
		if value == nil {
			value = keyDefaults[key]
		}
		parts[i] = fmt.Sprintf("%s %q", key, fmt.Sprint(value))
	}
	return strings.Join(parts, " and ")
}
