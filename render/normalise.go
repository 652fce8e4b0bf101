// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/base64"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	secretKind      = schema.GroupKind{Kind: "Secret"}
	clusterRoleKind = schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}
)

// normalised is an object in the form in which a cluster keeps it: what can never come back
// from the server as it was written is written so that it can, and what a controller is to
// say is left out. So nothing differs for ever between what is rendered and what is live.
// obj stays as it is; it is returned itself where nothing is to be done.
func normalised(obj *unstructured.Unstructured) *unstructured.Unstructured {
	switch obj.GroupVersionKind().GroupKind() {
	case secretKind:
		if _, ok := obj.Object["stringData"]; ok {
			obj = obj.DeepCopy()
			foldStringData(obj)
		}
	case clusterRoleKind:
		// The rules of an aggregated role are its controller's; an empty list would wipe them.
		if rule, _ := obj.Object["aggregationRule"].(map[string]any); len(rule) > 0 {
			root := maps.Clone(obj.Object)
			delete(root, "rules")
			obj = &unstructured.Unstructured{Object: root}
		}
	}
	return obj
}

// foldStringData moves the values of a Secret's stringData into data, over which they go,
// as the server does. A value that is no string stays for the server to refuse.
func foldStringData(obj *unstructured.Unstructured) {
	plain, ok := obj.Object["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, ok := obj.Object["data"].(map[string]any)
	if !ok {
		if obj.Object["data"] != nil {
			return
		}
		data = map[string]any{}
	}
	for key, value := range plain {
		if s, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(s))
			delete(plain, key)
		}
	}
	if len(data) > 0 {
		obj.Object["data"] = data
	}
	if len(plain) == 0 {
		delete(obj.Object, "stringData")
	}
}
