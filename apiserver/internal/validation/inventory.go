// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxEntries bounds one page of an inventory to what fits into an object.
const maxEntries = 10_000

// ReleaseInventory checks a ReleaseInventory.
func ReleaseInventory(i *corev1alpha1.ReleaseInventory) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	errs = append(errs, subdomain(spec.Child("releaseRef", "name"), i.Spec.ReleaseRef.Name)...)
	if i.Spec.ReleaseRef.UID == "" {
		errs = append(errs, field.Required(spec.Child("releaseRef", "uid"), ""))
	}
	page, isPage := strings.CutPrefix(i.Name, i.Spec.ReleaseRef.Name)
	if !isPage || page != "" && inventoryPage.FindString(page) != page {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), i.Name, "must be the name of the Release in spec.releaseRef, or that with a dot and a number for a further page"))
	}
	entries := spec.Child("entries")
	errs = append(errs, atMost(entries, i.Spec.Entries, maxEntries)...)
	errs = append(errs, unique(entries, i.Spec.Entries, "", inventoryKey)...)
	for n := range i.Spec.Entries {
		errs = append(errs, inventoryEntry(entries.Index(n), &i.Spec.Entries[n])...)
	}
	return errs
}

// ReleaseInventoryUpdate checks what may not change in a ReleaseInventory.
func ReleaseInventoryUpdate(i, old *corev1alpha1.ReleaseInventory) field.ErrorList {
	return apivalidation.ValidateImmutableField(i.Spec.ReleaseRef.Name, old.Spec.ReleaseRef.Name,
		field.NewPath("spec", "releaseRef", "name"))
}

// ReleaseInventoryStatus checks the status of a ReleaseInventory.
func ReleaseInventoryStatus(i *corev1alpha1.ReleaseInventory) field.ErrorList {
	health := field.NewPath("status", "health")
	errs := atMost(health, i.Status.Health, maxEntries)
	for n := range i.Status.Health {
		entry, path := &i.Status.Health[n], health.Index(n)
		errs = append(errs, objectKey(path, &entry.ObjectKey)...)
		errs = append(errs, oneOf(path.Child("status"), entry.Status, corev1alpha1.HealthHealthy, corev1alpha1.HealthProgressing,
			corev1alpha1.HealthDegraded, corev1alpha1.HealthSuspended, corev1alpha1.HealthMissing, corev1alpha1.HealthUnknown)...)
	}
	return errs
}

// inventoryKey identifies an entry: an object, and the hook whose object it is, for a hook
// may apply an object that the content has as well.
func inventoryKey(e *corev1alpha1.InventoryEntry) string {
	return strings.Join([]string{e.Group, e.Kind, e.Namespace, e.Name, e.Hook}, "/")
}

func inventoryEntry(path *field.Path, e *corev1alpha1.InventoryEntry) field.ErrorList {
	errs := objectKey(path, &e.ObjectKey)
	if e.Digest != "" {
		errs = append(errs, digest(path.Child("digest"), e.Digest)...)
	}
	return errs
}

// objectKey checks the identity of an object of a target cluster. Its name follows the
// rules of its kind, of which only that it is part of a path is common to all.
func objectKey(path *field.Path, k *corev1alpha1.ObjectKey) field.ErrorList {
	errs := groupVersionKind(path, k.Group, k.Version, k.Kind)
	if k.Version == "" {
		errs = append(errs, field.Required(path.Child("version"), ""))
	}
	if k.Kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), ""))
	}
	if k.Namespace != "" {
		errs = append(errs, label(path.Child("namespace"), k.Namespace)...)
	}
	if k.Name == "" {
		return append(errs, field.Required(path.Child("name"), ""))
	}
	return append(errs, invalid(path.Child("name"), k.Name, content.IsPathSegmentName(k.Name))...)
}
