// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// maxHelmReleaseName is the longest release name that Helm takes.
const maxHelmReleaseName = 53

var (
	affixPattern      = regexp.MustCompile(`^[a-z0-9.-]{0,63}$`)
	imagePattern      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,254}$`)
	targetPathPattern = regexp.MustCompile(`^[^.\s]+(\.[^.\s]+)*$`)
)

var renderTypes = []corev1alpha1.RenderType{
	corev1alpha1.RenderAuto, corev1alpha1.RenderHelm, corev1alpha1.RenderKustomize, corev1alpha1.RenderPlain,
}

// render checks how a Release's content becomes objects.
func render(path *field.Path, r *corev1alpha1.Release) field.ErrorList {
	s := r.Spec.Render
	if s == nil {
		return nil
	}
	errs := oneOf(path.Child("type"), s.Type, renderTypes...)
	errs = append(errs, renderBlocks(path, s)...)
	if r.Spec.Source.Helm != nil && (s.Type == corev1alpha1.RenderKustomize || s.Type == corev1alpha1.RenderPlain) {
		errs = append(errs, field.Invalid(path.Child("type"), s.Type, "a chart from spec.source.helm is rendered with helm; use helm or auto"))
	}
	base := sourcePath(&r.Spec.Source)
	if s.Helm != nil {
		errs = append(errs, helmRender(path.Child("helm"), base, s.Helm)...)
	}
	if s.Kustomize != nil {
		errs = append(errs, kustomizeRender(path.Child("kustomize"), base, s.Kustomize)...)
	}
	return errs
}

// renderBlocks refuses a block that belongs to another type than the one that is named.
func renderBlocks(path *field.Path, s *corev1alpha1.RenderSpec) field.ErrorList {
	if !slices.Contains(renderTypes, s.Type) {
		return nil // the type is what is wrong
	}
	errs := atMostOne(path, choice{"helm", s.Helm != nil}, choice{"kustomize", s.Kustomize != nil})
	for _, block := range []struct {
		is  corev1alpha1.RenderType
		set bool
	}{{corev1alpha1.RenderHelm, s.Helm != nil}, {corev1alpha1.RenderKustomize, s.Kustomize != nil}} {
		if block.set && s.Type != corev1alpha1.RenderAuto && s.Type != block.is {
			errs = append(errs, field.Forbidden(path.Child(string(block.is)), fmt.Sprintf("may not be set when type is %s", s.Type)))
		}
	}
	return errs
}

func helmRender(path *field.Path, base string, h *corev1alpha1.HelmRender) field.ErrorList {
	var errs field.ErrorList
	if h.ReleaseName != "" {
		errs = append(errs, subdomain(path.Child("releaseName"), h.ReleaseName)...)
		errs = append(errs, short(path.Child("releaseName"), h.ReleaseName, maxHelmReleaseName)...)
	}
	errs = append(errs, atMost(path.Child("valuesFiles"), h.ValuesFiles, maxItems)...)
	for i, name := range h.ValuesFiles {
		errs = append(errs, file(path.Child("valuesFiles").Index(i), base, name)...)
	}
	errs = append(errs, atMost(path.Child("valuesFrom"), h.ValuesFrom, maxItems)...)
	for i := range h.ValuesFrom {
		errs = append(errs, valuesFrom(path.Child("valuesFrom").Index(i), &h.ValuesFrom[i])...)
	}
	if h.Values != nil {
		errs = append(errs, jsonObject(path.Child("values"), h.Values.Raw)...)
	}
	if h.KubeVersion != "" {
		if _, err := semver.NewVersion(h.KubeVersion); err != nil {
			errs = append(errs, field.Invalid(path.Child("kubeVersion"), h.KubeVersion, "must be a version, for example 1.37.2"))
		}
	}
	return append(errs, apiVersions(path.Child("apiVersions"), h.APIVersions)...)
}

func apiVersions(path *field.Path, versions []string) field.ErrorList {
	errs := atMost(path, versions, maxItems)
	for i, version := range versions {
		groupVersion, kind := version, ""
		if strings.Count(version, "/") == 2 {
			cut := strings.LastIndex(version, "/")
			groupVersion, kind = version[:cut], version[cut+1:]
			if !kindPattern.MatchString(kind) {
				groupVersion = ""
			}
		}
		if gv, err := schema.ParseGroupVersion(groupVersion); err != nil || gv.Version == "" {
			errs = append(errs, field.Invalid(path.Index(i), version, "must be an API version, for example batch/v1 or batch/v1/CronJob"))
		}
	}
	return errs
}

func valuesFrom(path *field.Path, v *corev1alpha1.ValuesReference) field.ErrorList {
	errs := oneOf(path.Child("kind"), v.Kind, "ConfigMap", "Secret", "GitRepository", "OCIRegistry")
	errs = append(errs, subdomain(path.Child("name"), v.Name)...)
	switch v.Kind {
	case "ConfigMap", "Secret":
		errs = append(errs, key(path.Child("key"), v.Key)...)
		errs = append(errs, absent(path.Child("ref"), v.Ref, "only a GitRepository or OCIRegistry has revisions")...)
		errs = append(errs, absent(path.Child("path"), v.Path, "only a GitRepository or OCIRegistry has files")...)
	case "GitRepository", "OCIRegistry":
		errs = append(errs, absent(path.Child("key"), v.Key, "only a ConfigMap or Secret has keys")...)
		errs = append(errs, file(path.Child("path"), ".", v.Path)...)
		if v.Ref != "" && v.Kind == "GitRepository" {
			errs = append(errs, gitRefName(path.Child("ref"), v.Ref)...)
		} else if v.Ref != "" {
			errs = append(errs, tag(path.Child("ref"), v.Ref)...)
		}
	}
	if v.TargetPath != "" && (!targetPathPattern.MatchString(v.TargetPath) || len(v.TargetPath) > maxText) {
		errs = append(errs, field.Invalid(path.Child("targetPath"), v.TargetPath, "must be a dotted path, for example image.tag"))
	}
	return errs
}

func absent(path *field.Path, value, why string) field.ErrorList {
	if value == "" {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, why)}
}

func kustomizeRender(path *field.Path, base string, k *corev1alpha1.KustomizeRender) field.ErrorList {
	errs := atMost(path.Child("components"), k.Components, maxItems)
	for i, component := range k.Components {
		errs = append(errs, file(path.Child("components").Index(i), base, component)...)
	}
	images := path.Child("images")
	errs = append(errs, atMost(images, k.Images, maxItems)...)
	errs = append(errs, unique(images, k.Images, "name", func(i *corev1alpha1.KustomizeImage) string { return i.Name })...)
	for i := range k.Images {
		errs = append(errs, kustomizeImage(images.Index(i), &k.Images[i])...)
	}
	for _, affix := range []struct{ name, value string }{{"namePrefix", k.NamePrefix}, {"nameSuffix", k.NameSuffix}} {
		if !affixPattern.MatchString(affix.value) {
			errs = append(errs, field.Invalid(path.Child(affix.name), affix.value, "must be at most 63 lower-case letters, digits, '-' and '.', as part of a name"))
		}
	}
	return errs
}

func kustomizeImage(path *field.Path, image *corev1alpha1.KustomizeImage) field.ErrorList {
	var errs field.ErrorList
	if image.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if image.NewName == "" && image.NewTag == "" && image.Digest == "" {
		errs = append(errs, field.Required(path, "one of newName, newTag, digest must be set"))
	}
	for _, name := range []struct{ field, value string }{{"name", image.Name}, {"newName", image.NewName}} {
		if name.value != "" && !imagePattern.MatchString(name.value) {
			errs = append(errs, field.Invalid(path.Child(name.field), name.value, "must be the name of an image, without tag and digest"))
		}
	}
	errs = append(errs, atMostOne(path, choice{"newTag", image.NewTag != ""}, choice{"digest", image.Digest != ""})...)
	if image.NewTag != "" {
		errs = append(errs, tag(path.Child("newTag"), image.NewTag)...)
	}
	if image.Digest != "" {
		errs = append(errs, digest(path.Child("digest"), image.Digest)...)
	}
	return errs
}
