// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// gateBeforeSync is the only point that a gate can stand at.
const gateBeforeSync = "sync"

// lifecycle checks hooks and gates.
func lifecycle(path *field.Path, l *corev1alpha1.LifecycleSpec) field.ErrorList {
	if l == nil {
		return nil
	}
	hooks, gates := path.Child("hooks"), path.Child("gates")
	errs := atMost(hooks, l.Hooks, maxItems)
	errs = append(errs, unique(hooks, l.Hooks, "name", func(h *corev1alpha1.Hook) string { return h.Name })...)
	for i := range l.Hooks {
		errs = append(errs, hook(hooks.Index(i), &l.Hooks[i])...)
	}
	errs = append(errs, atMost(gates, l.Gates, maxItems)...)
	errs = append(errs, unique(gates, l.Gates, "name", func(g *corev1alpha1.Gate) string { return g.Name })...)
	for i, gate := range l.Gates {
		errs = append(errs, label(gates.Index(i).Child("name"), gate.Name)...)
		errs = append(errs, oneOf(gates.Index(i).Child("before"), gate.Before, gateBeforeSync)...)
	}
	return errs
}

func hook(path *field.Path, h *corev1alpha1.Hook) field.ErrorList {
	errs := label(path.Child("name"), h.Name)
	errs = append(errs, oneOf(path.Child("on"), h.On, corev1alpha1.HookPreSync, corev1alpha1.HookPostSync,
		corev1alpha1.HookSyncFailed, corev1alpha1.HookPreDelete, corev1alpha1.HookPostDelete)...)
	errs = append(errs, template(path.Child("template"), h.Template.Raw)...)
	errs = append(errs, duration(path.Child("timeout"), h.Timeout, second, 7*day)...)
	errs = append(errs, oneOf(path.Child("deletePolicy"), h.DeletePolicy, corev1alpha1.HookDeleteBeforeCreation,
		corev1alpha1.HookDeleteSucceeded, corev1alpha1.HookDeleteFailed)...)
	return append(errs, oneOf(path.Child("failurePolicy"), h.FailurePolicy, corev1alpha1.HookFailureStop,
		corev1alpha1.HookFailureIgnore)...)
}

// template checks that a hook's object can be one.
func template(path *field.Path, raw []byte) field.ErrorList {
	if len(raw) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return field.ErrorList{field.Invalid(path, hidden, "must be an object with apiVersion and kind, for example a Job")}
	}
	var errs field.ErrorList
	if object.APIVersion == "" {
		errs = append(errs, field.Required(path.Child("apiVersion"), ""))
	} else if gv, err := schema.ParseGroupVersion(object.APIVersion); err != nil || gv.Version == "" {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), object.APIVersion, "must be an API version, for example batch/v1"))
	}
	if object.Kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), ""))
	} else if !kindPattern.MatchString(object.Kind) {
		errs = append(errs, field.Invalid(path.Child("kind"), object.Kind, "must be a kind, for example Job"))
	}
	if object.Metadata.Name != "" {
		errs = append(errs, invalid(path.Child("metadata", "name"), object.Metadata.Name, content.IsPathSegmentName(object.Metadata.Name))...)
	}
	return errs
}

// lifecycleStatus checks what is written about hooks and gates.
func lifecycleStatus(path *field.Path, l *corev1alpha1.LifecycleStatus) field.ErrorList {
	hooks, gates := path.Child("hooks"), path.Child("gates")
	errs := unique(hooks, l.Hooks, "name", func(h *corev1alpha1.HookStatus) string { return h.Name })
	for i := range l.Hooks {
		item := hooks.Index(i)
		if l.Hooks[i].Name == "" {
			errs = append(errs, field.Required(item.Child("name"), ""))
		}
		errs = append(errs, oneOf(item.Child("on"), l.Hooks[i].On, corev1alpha1.HookPreSync, corev1alpha1.HookPostSync,
			corev1alpha1.HookSyncFailed, corev1alpha1.HookPreDelete, corev1alpha1.HookPostDelete)...)
		errs = append(errs, oneOf(item.Child("phase"), l.Hooks[i].Phase, corev1alpha1.HookRunning,
			corev1alpha1.HookSucceeded, corev1alpha1.HookFailed)...)
	}
	errs = append(errs, unique(gates, l.Gates, "name", func(g *corev1alpha1.GateStatus) string { return g.Name })...)
	for i := range l.Gates {
		errs = append(errs, label(gates.Index(i).Child("name"), l.Gates[i].Name)...)
	}
	return errs
}
