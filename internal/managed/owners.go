// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"bytes"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// owners are the fields of an object by who owns them.
type owners struct {
	// convoy's are those that it applied, others' those that anybody else wrote, but for what
	// is written by way of a subresource; all are those of everybody.
	convoy, others, all *fieldpath.Set
}

func ownersOf(live *unstructured.Unstructured) (owners, error) {
	o := owners{fieldpath.NewSet(), fieldpath.NewSet(), fieldpath.NewSet()}
	for _, entry := range live.GetManagedFields() {
		fields, err := Fields(entry)
		if err != nil {
			return o, err
		}
		o.all = o.all.Union(fields)
		switch {
		case byConvoy(entry):
			o.convoy = o.convoy.Union(fields)
		case entry.Subresource == "":
			o.others = o.others.Union(fields)
		}
	}
	return o, nil
}

// Written are the fields of an object that convoy wrote, whether or not by applying it.
func Written(live *unstructured.Unstructured) (*fieldpath.Set, error) {
	written := fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != corev1alpha1.FieldManager {
			continue
		}
		fields, err := Fields(entry)
		if err != nil {
			return nil, err
		}
		written = written.Union(fields)
	}
	return written, nil
}

// releaseMark is where an object says which Release it is of.
var releaseMark = fieldpath.MakePathOrDie("metadata", "annotations", corev1alpha1.AnnotationRelease)

// Made tells whether convoy made an object for the Release that it is marked as being of, and has not
// changed it since: nobody else wrote it when it came to be, and what convoy applied then has the mark.
// One that was made for another Release has its mark from being handed over, and what kubectl applied
// is handed to convoy without one. False is said of any other object, as of one that convoy made and then
// changed.
func Made(live *unstructured.Unstructured) bool {
	created, made := live.GetCreationTimestamp(), false
	for _, entry := range live.GetManagedFields() {
		switch {
		case entry.Subresource != "" || entry.Time == nil || !entry.Time.Equal(&created):
		case byConvoy(entry):
			fields, err := Fields(entry)
			made = err == nil && fields.Has(releaseMark)
		default:
			return false
		}
	}
	return made
}

// byConvoy tells the entry of what convoy applied.
func byConvoy(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == corev1alpha1.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// Fields are those of an entry of an object's managed fields.
func Fields(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 == nil {
		return fields, nil
	}
	if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("reading the managed fields of %s: %w", entry.Manager, err)
	}
	return fields, nil
}

// HandedOver are the managed fields of an object in which fields, with all under them, are
// convoy's and nobody else's: what it applies next without them takes them off. What is written
// by way of a subresource stays with whom it is.
func HandedOver(live *unstructured.Unstructured, fields *fieldpath.Set) ([]metav1.ManagedFieldsEntry, error) {
	own := metav1.ManagedFieldsEntry{
		Manager: corev1alpha1.FieldManager, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: live.GetAPIVersion(), FieldsType: "FieldsV1",
	}
	present := fields
	var entries []metav1.ManagedFieldsEntry
	for _, entry := range live.GetManagedFields() {
		set, err := Fields(entry)
		switch {
		case err != nil:
			return nil, err
		case byConvoy(entry):
			own, present = entry, present.Union(set)
			continue
		case entry.Subresource == "":
			set = set.RecursiveDifference(fields)
		}
		if set.Empty() {
			continue
		}
		if entry.FieldsV1, err = encoded(set); err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	var err error
	if own.FieldsV1, err = encoded(present); err != nil {
		return nil, err
	}
	return append(entries, own), nil
}

func encoded(fields *fieldpath.Set) (*metav1.FieldsV1, error) {
	data, err := fields.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding managed fields: %w", err)
	}
	return metav1.NewFieldsV1(string(data)), nil
}

// Managers names who owns something of a field, or of what is under it, but convoy.
func Managers(live *unstructured.Unstructured, field fieldpath.Path) []string {
	var names []string
	for _, entry := range live.GetManagedFields() {
		fields, err := Fields(entry)
		if err == nil && !byConvoy(entry) && entry.Subresource == "" && owns(fields, field) {
			names = append(names, entry.Manager)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// owns tells whether a set has a field or something under it.
func owns(fields *fieldpath.Set, field fieldpath.Path) bool {
	return fields.Has(field) || !under(fields, field).Empty()
}

// under are the fields of a set below a path.
func under(fields *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, element := range path {
		fields = fields.WithPrefix(element)
	}
	return fields
}

// keys names the fields that tell the items of the list at a path apart; none when it has no
// such items.
func (o owners) keys(list fieldpath.Path) []string {
	var names []string
	fields := under(o.all, list)
	collect := func(element fieldpath.PathElement) {
		if names != nil || element.Key == nil {
			return
		}
		for _, key := range *element.Key {
			names = append(names, key.Name)
		}
	}
	fields.Members.Iterate(collect)
	fields.Children.Iterate(collect)
	return names
}
