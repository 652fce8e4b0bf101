// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
)

// objectKind is a kind of convoy's objects that a command is for.
type objectKind struct {
	name     string // Release
	resource schema.GroupVersionResource
	short    string
}

// The kinds that commands are for.
var (
	releaseKind       = objectKind{"Release", corev1alpha1.SchemeGroupVersion.WithResource("releases"), "rel"}
	clusterKind       = objectKind{"Cluster", corev1alpha1.SchemeGroupVersion.WithResource("clusters"), "ccl"}
	gitRepositoryKind = objectKind{"GitRepository", sourcev1alpha1.SchemeGroupVersion.WithResource("gitrepositories"), "cgit"}
	helmRegistryKind  = objectKind{"HelmRegistry", sourcev1alpha1.SchemeGroupVersion.WithResource("helmregistries"), "chelm"}
	ociRegistryKind   = objectKind{"OCIRegistry", sourcev1alpha1.SchemeGroupVersion.WithResource("ociregistries"), "coci"}
)

// plural names objects of the kind for people.
func (k objectKind) plural() string {
	if rest, ok := strings.CutSuffix(k.name, "y"); ok {
		return rest + "ies"
	}
	return k.name + "s"
}

// is tells whether a word of the command line means the kind, as kubectl would take it: in
// singular or plural, short, or with its group.
func (k objectKind) is(word string) bool {
	word = strings.ToLower(word)
	singular := strings.ToLower(k.name)
	if name, group, qualified := strings.Cut(word, "."); qualified {
		return group == k.resource.Group && (name == singular || name == k.resource.Resource)
	}
	return word == singular || word == k.resource.Resource || word == k.short
}

// count gives "1 Release", "2 Releases", "2 GitRepositories".
func (k objectKind) count(n int) string {
	if n == 1 {
		return "1 " + k.name
	}
	return fmt.Sprintf("%d %s", n, k.plural())
}

// kindOf finds the kind that a word of the command line means among those of a command.
func kindOf(word string, kinds []objectKind) (objectKind, error) {
	i := slices.IndexFunc(kinds, func(kind objectKind) bool { return kind.is(word) })
	if i < 0 {
		return objectKind{}, fmt.Errorf("unknown kind %q, must be one of %s", word, kindNames(kinds))
	}
	return kinds[i], nil
}

func kindNames(kinds []objectKind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = strings.ToLower(kind.name)
	}
	return strings.Join(names, ", ")
}
