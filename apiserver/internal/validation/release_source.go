// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const maxChart = 250

// source checks where a Release's content comes from.
func source(path *field.Path, s *corev1alpha1.ReleaseSource) field.ErrorList {
	errs := exactlyOne(path, choice{"git", s.Git != nil}, choice{"helm", s.Helm != nil}, choice{"oci", s.OCI != nil})
	if s.Git != nil {
		errs = append(errs, gitSource(path.Child("git"), s.Git)...)
	}
	if s.Helm != nil {
		errs = append(errs, helmSource(path.Child("helm"), s.Helm)...)
	}
	if s.OCI != nil {
		errs = append(errs, ociSource(path.Child("oci"), s.OCI)...)
	}
	return errs
}

func gitSource(path *field.Path, s *corev1alpha1.GitSource) field.ErrorList {
	ref := path.Child("ref")
	errs := subdomain(path.Child("repositoryRef", "name"), s.RepositoryRef.Name)
	errs = append(errs, atMostOne(ref,
		choice{"branch", s.Ref.Branch != ""}, choice{"tag", s.Ref.Tag != ""}, choice{"semver", s.Ref.Semver != ""},
		choice{"commit", s.Ref.Commit != ""}, choice{"name", s.Ref.Name != ""})...)
	for _, check := range []struct {
		name, value string
		valid       func(*field.Path, string) field.ErrorList
	}{
		{"branch", s.Ref.Branch, gitRefName},
		{"tag", s.Ref.Tag, gitRefName},
		{"semver", s.Ref.Semver, semverRange},
		{"commit", s.Ref.Commit, commit},
		{"name", s.Ref.Name, fullGitRefName},
	} {
		if check.value != "" {
			errs = append(errs, check.valid(ref.Child(check.name), check.value)...)
		}
	}
	return append(errs, contentPath(path.Child("path"), s.Path)...)
}

func helmSource(path *field.Path, s *corev1alpha1.HelmSource) field.ErrorList {
	errs := subdomain(path.Child("registryRef", "name"), s.RegistryRef.Name)
	chart := path.Child("chart")
	switch {
	case s.Chart == "":
		errs = append(errs, field.Required(chart, ""))
	case len(s.Chart) > maxChart:
		errs = append(errs, field.TooLong(chart, "", maxChart))
	case !chartPattern.MatchString(s.Chart):
		errs = append(errs, field.Invalid(chart, s.Chart, "must be the name of a chart: letters, digits, '-', '_' and '.', parts divided by '/', without version"))
	}
	if s.Version != "" {
		errs = append(errs, semverRange(path.Child("version"), s.Version)...)
	}
	return errs
}

func ociSource(path *field.Path, s *corev1alpha1.OCISource) field.ErrorList {
	ref := path.Child("ref")
	errs := subdomain(path.Child("registryRef", "name"), s.RegistryRef.Name)
	errs = append(errs, repository(path.Child("repository"), s.Repository)...)
	errs = append(errs, atMostOne(ref, choice{"tag", s.Ref.Tag != ""}, choice{"semver", s.Ref.Semver != ""},
		choice{"digest", s.Ref.Digest != ""})...)
	if s.Ref.Tag != "" {
		errs = append(errs, tag(ref.Child("tag"), s.Ref.Tag)...)
	}
	if s.Ref.Semver != "" {
		errs = append(errs, semverRange(ref.Child("semver"), s.Ref.Semver)...)
	}
	if s.Ref.Digest != "" {
		errs = append(errs, digest(ref.Child("digest"), s.Ref.Digest)...)
	}
	if s.LayerSelector != nil && !mediaTypePattern.MatchString(s.LayerSelector.MediaType) {
		errs = append(errs, field.Invalid(path.Child("layerSelector", "mediaType"), s.LayerSelector.MediaType, "must be a media type, for example application/vnd.oci.image.layer.v1.tar+gzip"))
	}
	return append(errs, contentPath(path.Child("path"), s.Path)...)
}

// sourcePath is the folder of a source that holds the content.
func sourcePath(s *corev1alpha1.ReleaseSource) string {
	switch {
	case s.Git != nil:
		return s.Git.Path
	case s.OCI != nil:
		return s.OCI.Path
	}
	return ""
}
