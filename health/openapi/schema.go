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

var (
	anything = &Schema{Type: Any}
	aText    = &Schema{Type: String}
	aNumber  = &Schema{Type: Integer}
	aFlag    = &Schema{Type: Boolean}
)

func mapOf(elem *Schema) *Schema { return &Schema{Type: Map, Elem: elem} }

// root gives the schema of whole objects: whatever a definition says of them, they have a
// group, a kind and metadata.
func root(declared *Schema) *Schema {
	whole := &Schema{Type: Object, Fields: map[string]*Schema{}, Open: declared.Type != Object || declared.Open}
	for name, field := range declared.Fields {
		whole.Fields[name] = field
	}
	whole.Fields["apiVersion"], whole.Fields["kind"] = aText, aText
	// A definition may say nothing of metadata but how names must look.
	if known := whole.Fields["metadata"]; known == nil || known.Fields["resourceVersion"] == nil {
		whole.Fields["metadata"] = objectMeta
	}
	return whole
}

// objectMeta is metav1.ObjectMeta.
var objectMeta = &Schema{Type: Object, Fields: map[string]*Schema{
	"name": aText, "generateName": aText, "namespace": aText, "selfLink": aText, "uid": aText, "resourceVersion": aText,
	"generation": aNumber, "creationTimestamp": aText, "deletionTimestamp": aText, "deletionGracePeriodSeconds": aNumber,
	"labels": mapOf(aText), "annotations": mapOf(aText), "finalizers": {Type: List, Elem: aText},
	"ownerReferences": {Type: List, Elem: &Schema{Type: Object, Fields: map[string]*Schema{
		"apiVersion": aText, "kind": aText, "name": aText, "uid": aText, "controller": aFlag, "blockOwnerDeletion": aFlag,
	}}},
	"managedFields": {Type: List, Elem: anything},
}}
