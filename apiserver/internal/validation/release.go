// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const (
	maxItems   = 256
	maxText    = 1024
	maxWave    = 100_000
	maxHistory = 100
	// maxPatience is ten years: whoever means never leaves the annotation out.
	maxPatience = 10 * 365 * day
)

// inventoryPage is the ending of the names of an inventory's further pages.
var inventoryPage = regexp.MustCompile(`\.[0-9]+$`)

// Release checks a Release.
func Release(r *corev1alpha1.Release) field.ErrorList {
	spec := field.NewPath("spec")
	errs := releaseName(r)
	errs = append(errs, orphanAfter(field.NewPath("metadata", "annotations"), r.Annotations)...)
	errs = append(errs, subdomain(spec.Child("clusterRef", "name"), r.Spec.ClusterRef.Name)...)
	errs = append(errs, number(spec.Child("wave"), r.Spec.Wave, -maxWave, maxWave)...)
	errs = append(errs, label(spec.Child("targetNamespace"), r.Spec.TargetNamespace)...)
	errs = append(errs, optionalSubdomain(spec.Child("serviceAccountName"), r.Spec.ServiceAccountName)...)
	errs = append(errs, source(spec.Child("source"), &r.Spec.Source)...)
	errs = append(errs, render(spec.Child("render"), r)...)
	errs = append(errs, mutations(spec.Child("mutations"), r.Spec.Mutations)...)
	errs = append(errs, dependencies(spec.Child("dependsOn"), r)...)
	errs = append(errs, sync(spec.Child("sync"), &r.Spec.Sync)...)
	errs = append(errs, drift(spec.Child("drift"), r.Spec.Drift)...)
	errs = append(errs, ruleSetRefs(spec.Child("health", "ruleSetRefs"), r.Spec.Health)...)
	errs = append(errs, lifecycle(spec.Child("lifecycle"), r.Spec.Lifecycle)...)
	errs = append(errs, pin(spec.Child("pin"), r.Spec.Pin)...)
	if history := r.Spec.History; history != nil && history.Limit != nil {
		errs = append(errs, number(spec.Child("history", "limit"), *history.Limit, 1, maxHistory)...)
	}
	return append(errs, oneOf(spec.Child("deletionPolicy"), r.Spec.DeletionPolicy,
		corev1alpha1.DeletionPolicyDelete, corev1alpha1.DeletionPolicyOrphan)...)
}

// ReleaseUpdate checks what may not change in a Release, and what is new in its metadata. With
// another spec, it is checked as a whole.
func ReleaseUpdate(r, old *corev1alpha1.Release) field.ErrorList {
	errs := apivalidation.ValidateImmutableField(r.Spec.ClusterRef.Name, old.Spec.ClusterRef.Name,
		field.NewPath("spec", "clusterRef", "name"))
	before, had := old.Annotations[corev1alpha1.AnnotationOrphanAfter]
	if (!had || before != r.Annotations[corev1alpha1.AnnotationOrphanAfter]) && reflect.DeepEqual(r.Spec, old.Spec) {
		errs = append(errs, orphanAfter(field.NewPath("metadata", "annotations"), r.Annotations)...)
	}
	return errs
}

// ReleaseStatus checks the status of a Release.
func ReleaseStatus(r *corev1alpha1.Release) field.ErrorList {
	errs := conditions(r.Status.Conditions)
	if r.Status.Lifecycle != nil {
		errs = append(errs, lifecycleStatus(field.NewPath("status", "lifecycle"), r.Status.Lifecycle)...)
	}
	return errs
}

// ReleaseWarnings tells of what is legal but suspicious in a Release.
func ReleaseWarnings(r *corev1alpha1.Release) []string {
	var warnings []string
	sync := r.Spec.Sync
	if sync.Prune != nil && !*sync.Prune && sync.Mode == corev1alpha1.SyncModeAutomatic {
		warnings = append(warnings, "spec.sync.prune: objects that leave the source stay in the cluster")
	}
	if render := r.Spec.Render; render != nil && render.Helm != nil && len(render.Helm.ValuesFrom) > 0 &&
		r.Spec.Source.Helm == nil && render.Type != corev1alpha1.RenderHelm {
		warnings = append(warnings, "spec.render.helm.valuesFrom: counts only if the content is a chart; spec.render.type: helm makes sure of it")
	}
	for i, mutation := range r.Spec.Mutations {
		if reflect.DeepEqual(mutation.Target, corev1alpha1.ObjectSelector{}) {
			warnings = append(warnings, fmt.Sprintf("spec.mutations[%d].target: is empty, and matches every object", i))
		}
	}
	source := r.Spec.Source
	for path, value := range map[string]string{
		"spec.source.git.ref.semver": ifSet(source.Git, func(g *corev1alpha1.GitSource) string { return g.Ref.Semver }),
		"spec.source.helm.version":   ifSet(source.Helm, func(h *corev1alpha1.HelmSource) string { return h.Version }),
		"spec.source.oci.ref.semver": ifSet(source.OCI, func(o *corev1alpha1.OCISource) string { return o.Ref.Semver }),
	} {
		if strings.TrimSpace(value) == "*" {
			warnings = append(warnings, path+": \"*\" takes every new version, the next major one too")
		}
	}
	return sorted(warnings)
}

func releaseName(r *corev1alpha1.Release) field.ErrorList {
	var errs field.ErrorList
	if inventoryPage.MatchString(r.Name) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), r.Name,
			"may not end in a dot and a number: such names are those of further pages of another Release's inventory"))
	}
	return errs
}

// orphanAfter checks how long the target of a deleted Release may be unreachable.
func orphanAfter(path *field.Path, annotations map[string]string) field.ErrorList {
	value, ok := annotations[corev1alpha1.AnnotationOrphanAfter]
	if !ok {
		return nil
	}
	path = path.Key(corev1alpha1.AnnotationOrphanAfter)
	patience, err := time.ParseDuration(value)
	if err != nil {
		return field.ErrorList{field.Invalid(path, value, "must be a duration, for example 1h or 30m")}
	}
	return presentDuration(path, metav1.Duration{Duration: patience}, second, maxPatience)
}

func dependencies(path *field.Path, r *corev1alpha1.Release) field.ErrorList {
	errs := atMost(path, r.Spec.DependsOn, maxItems)
	errs = append(errs, unique(path, r.Spec.DependsOn, "name", func(d *corev1alpha1.Dependency) string { return d.Name })...)
	budget := expressionBudget(maxExpressions)
	for i, dependency := range r.Spec.DependsOn {
		item := path.Index(i)
		errs = append(errs, subdomain(item.Child("name"), dependency.Name)...)
		if dependency.Name != "" && dependency.Name == r.Name {
			errs = append(errs, field.Invalid(item.Child("name"), dependency.Name, "a Release cannot depend on itself"))
		}
		if expression := item.Child("readyExpr"); dependency.ReadyExpr != "" {
			long := budget.take(expression, dependency.ReadyExpr)
			errs = append(errs, long...)
			if long == nil && !budget.spent() {
				errs = append(errs, readyExpression(expression, dependency.ReadyExpr)...)
			}
		}
	}
	return errs
}

func ruleSetRefs(path *field.Path, health *corev1alpha1.ReleaseHealthSpec) field.ErrorList {
	if health == nil {
		return nil
	}
	errs := atMost(path, health.RuleSetRefs, maxItems)
	errs = append(errs, unique(path, health.RuleSetRefs, "name", func(r *corev1alpha1.LocalReference) string { return r.Name })...)
	for i, ref := range health.RuleSetRefs {
		errs = append(errs, subdomain(path.Index(i).Child("name"), ref.Name)...)
	}
	return errs
}

var historyID = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)

func pin(path *field.Path, p *corev1alpha1.Pin) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := exactlyOne(path, choice{"revision", p.Revision != ""}, choice{"render", p.Render != ""})
	errs = append(errs, short(path.Child("revision"), p.Revision, maxRevision)...)
	if strings.ContainsAny(p.Revision, " \t\r\n") {
		errs = append(errs, field.Invalid(path.Child("revision"), p.Revision, "may hold no white space"))
	}
	if p.Render != "" && !historyID.MatchString(p.Render) && !digestPattern.MatchString(p.Render) {
		errs = append(errs, field.Invalid(path.Child("render"), p.Render, "must be the digest of a render, sha256:<64 hex digits>, or the id of an entry of status.history"))
	}
	return append(errs, short(path.Child("reason"), p.Reason, maxText)...)
}

// ifSet reads from what a pointer points to, if it does.
func ifSet[T any](from *T, read func(*T) string) string {
	if from == nil {
		return ""
	}
	return read(from)
}

// sorted makes what was collected from a map the same every time.
func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}
