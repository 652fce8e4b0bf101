// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const trackOrigins = "originAnnotations"

// edit adds to a kustomization what a Release says: components at the end, images over
// those of the same name, a prefix before and a suffix behind the ones it has. With track, it also
// turns on the tracking of origins; own tells that the kustomization did not have it on.
// A kustomization that cannot be parsed is left as it is, for the library to say why.
func edit(content []byte, spec corev1alpha1.KustomizeRender, track bool) (edited []byte, own bool, err error) {
	var k map[string]any
	if err := yaml.Unmarshal(content, &k); err != nil || len(k) == 0 {
		return content, false, nil
	}
	if err := unfold(k, "buildMetadata", "components", "images", "namePrefix", "nameSuffix"); err != nil {
		return nil, false, err
	}
	var problems []error
	list := func(field string) []any {
		had, ok := k[field].([]any)
		if !ok && k[field] != nil {
			problems = append(problems, errors.New(field+" is not a list"))
		}
		return slices.Clone(had)
	}
	metadata := list("buildMetadata")
	if own = track && !slices.Contains(metadata, any(trackOrigins)); own {
		k["buildMetadata"] = append(metadata, trackOrigins)
	}
	if len(spec.Components) > 0 {
		components := list("components")
		for _, c := range spec.Components {
			components = append(components, c)
		}
		k["components"] = components
	}
	if len(spec.Images) > 0 {
		k["images"] = withImages(list("images"), spec.Images)
	}
	addAffix(k, "namePrefix", func(had string) string { return spec.NamePrefix + had })
	addAffix(k, "nameSuffix", func(had string) string { return had + spec.NameSuffix })
	if len(problems) > 0 {
		return nil, false, errors.Join(problems...)
	}
	edited, err = yaml.Marshal(k)
	return edited, own, err
}

// unfold gives fields their names, for which the library takes any that differ in case alone.
func unfold(k map[string]any, fields ...string) error {
	for _, field := range fields {
		for _, key := range slices.Sorted(maps.Keys(k)) {
			if key == field || !strings.EqualFold(key, field) {
				continue
			}
			if _, twice := k[field]; twice {
				return fmt.Errorf("%s is there twice, as %s, too", field, key)
			}
			k[field] = k[key]
			delete(k, key)
		}
	}
	return nil
}

func addAffix(k map[string]any, field string, add func(string) string) {
	had, _ := k[field].(string)
	if affix := add(had); affix != "" {
		k[field] = affix
	}
}

// withImages puts images over those of the same name: what one sets replaces what was
// set, and a tag and a digest replace each other.
func withImages(had []any, images []corev1alpha1.KustomizeImage) []any {
	for _, image := range images {
		at := slices.IndexFunc(had, func(e any) bool {
			entry, ok := e.(map[string]any)
			return ok && unfold(entry, "name", "newName", "newTag", "digest", "tagSuffix") == nil && entry["name"] == image.Name
		})
		if at < 0 {
			had = append(had, map[string]any{"name": image.Name})
			at = len(had) - 1
		}
		had[at] = withImage(had[at].(map[string]any), image)
	}
	return had
}

func withImage(entry map[string]any, image corev1alpha1.KustomizeImage) map[string]any {
	if image.NewName != "" {
		entry["newName"] = image.NewName
	}
	if image.NewTag != "" || image.Digest != "" {
		for _, field := range []string{"newTag", "digest", "tagSuffix"} {
			delete(entry, field)
		}
	}
	if image.NewTag != "" {
		entry["newTag"] = image.NewTag
	}
	if image.Digest != "" {
		entry["digest"] = image.Digest
	}
	return entry
}
