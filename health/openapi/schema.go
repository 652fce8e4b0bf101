// SPDX-License-Identifier: Apache-2.0

package openapi

// Type is what kind of value a Schema describes.
type Type int

// The types of values.
const (
	// Any is a value of which nothing is known, or that may be of several types.
	Any Type = iota
	// Object has named fields.
	Object
	// Map has values of one schema under any keys.
	Map
	// List has items of one schema.
	List
	// String, Integer, Number and Boolean are scalars. A Number has a fraction, or none.
	String
	Integer
	Number
	Boolean
)

// Schema describes values. It may contain itself, and must not be changed.
type Schema struct {
	Type Type
	// Fields of an Object, by name.
	Fields map[string]*Schema
	// Open is an Object that may have other fields too.
	Open bool
	// Elem describes the values of a Map and the items of a List.
	Elem *Schema
	// Enum are the texts that a String can be; none when it can be any.
	Enum []string
}

var anything = &Schema{Type: Any}

func mapOf(elem *Schema) *Schema { return &Schema{Type: Map, Elem: elem} }

// root gives the schema of whole objects: whatever a definition says of them, they have a
// group, a kind and metadata.
func root(declared *Schema) *Schema {
	whole := &Schema{Type: Object, Fields: map[string]*Schema{}, Open: declared.Type != Object || declared.Open}
	for name, field := range declared.Fields {
		whole.Fields[name] = field
	}
	whole.Fields["apiVersion"], whole.Fields["kind"] = &Schema{Type: String}, &Schema{Type: String}
	// A definition may say nothing of metadata but how names must look.
	if known := whole.Fields["metadata"]; known == nil || known.Fields["resourceVersion"] == nil {
		whole.Fields["metadata"] = objectMeta()
	}
	return whole
}

// objectMeta is metav1.ObjectMeta.
func objectMeta() *Schema {
	text, number, flag := &Schema{Type: String}, &Schema{Type: Integer}, &Schema{Type: Boolean}
	owner := &Schema{Type: Object, Fields: map[string]*Schema{
		"apiVersion": text, "kind": text, "name": text, "uid": text, "controller": flag, "blockOwnerDeletion": flag,
	}}
	return &Schema{Type: Object, Fields: map[string]*Schema{
		"name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text, "resourceVersion": text,
		"generation": number, "creationTimestamp": text, "deletionTimestamp": text, "deletionGracePeriodSeconds": number,
		"labels": mapOf(text), "annotations": mapOf(text), "finalizers": {Type: List, Elem: text},
		"ownerReferences": {Type: List, Elem: owner}, "managedFields": {Type: List, Elem: anything},
	}}
}
