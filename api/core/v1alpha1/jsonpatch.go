// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"slices"
)

// ObjectPatch is what differs of one object as a JSON patch (RFC 6902). An object that is only
// on one side has an empty one: its action says which.
//
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type ObjectPatch struct {
	ObjectKey `json:",inline"`
	// Action is what a sync would do.
	Action ObjectAction `json:"action"`
	// Patch makes the right side of the left one. In the place of a masked value is the text
	// that stands for it.
	Patch []JSONPatchOperation `json:"patch"`
	// Message of an error, or a remark.
	Message string `json:"message,omitempty"`
}

// JSONPatchOperation is one operation of a JSON patch.
//
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type JSONPatchOperation struct {
	// Op is add, remove or replace.
	Op string `json:"op"`
	// Path is a JSON pointer.
	Path string `json:"path"`
	// Value is JSON; absent with remove.
	Value json.RawMessage `json:"value,omitempty"`
}

// JSONPatches gives the differences as JSON patches, in the order of the objects.
func (d *ReleaseDiff) JSONPatches() []ObjectPatch {
	patches := make([]ObjectPatch, 0, len(d.Objects))
	for _, object := range d.Objects {
		patches = append(patches, ObjectPatch{ObjectKey: object.ObjectKey, Action: object.Action, Patch: jsonPatch(object.Changes), Message: object.Message})
	}
	return patches
}

// jsonPatch turns changes into operations. What goes, goes last, and the last of a list first,
// so that each is where its path says when its turn comes.
func jsonPatch(changes []FieldChange) []JSONPatchOperation {
	operations := make([]JSONPatchOperation, 0, len(changes))
	var removed []JSONPatchOperation
	for _, change := range changes {
		switch {
		case change.To == "":
			removed = append(removed, JSONPatchOperation{Op: "remove", Path: change.Path})
		case change.From == "":
			operations = append(operations, JSONPatchOperation{Op: "add", Path: change.Path, Value: valueOf(change.To)})
		default:
			operations = append(operations, JSONPatchOperation{Op: "replace", Path: change.Path, Value: valueOf(change.To)})
		}
	}
	slices.Reverse(removed)
	return append(operations, removed...)
}

// valueOf is the value of a change; what stands for a masked one is no JSON, and becomes a
// text.
func valueOf(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return quoted
}
