// SPDX-License-Identifier: Apache-2.0

package scheme_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/generated/openapi"
	"kumodo.io/convoy/apiserver/internal/scheme"
	"kumodo.io/convoy/apiserver/internal/validation"
	"kumodo.io/convoy/doctest"
)

// pages are the pages of kinds, and the kind that each is of.
var pages = map[string]runtime.Object{
	"docs/kinds/cluster.md":          &corev1alpha1.Cluster{},
	"docs/kinds/release.md":          &corev1alpha1.Release{},
	"docs/kinds/releaseinventory.md": &corev1alpha1.ReleaseInventory{},
	"docs/kinds/gitrepository.md":    &sourcev1alpha1.GitRepository{},
	"docs/kinds/helmregistry.md":     &sourcev1alpha1.HelmRegistry{},
	"docs/kinds/ociregistry.md":      &sourcev1alpha1.OCIRegistry{},
	"docs/kinds/healthruleset.md":    &extv1alpha1.HealthRuleSet{},
}

// answers are what subresources answer with, on the page of these.
var answers = []any{
	corev1alpha1.ReleasePreview{}, corev1alpha1.ReleaseDiff{}, corev1alpha1.ReleaseHealth{}, corev1alpha1.ReleaseHistory{}, corev1alpha1.ReleaseValues{},
}

func TestPagesTellOfEveryField(t *testing.T) {
	g := NewWithT(t)
	s, err := scheme.New()
	g.Expect(err).NotTo(HaveOccurred())
	describe := describer()
	for page, object := range pages {
		table := doctest.FieldTable(doctest.Kind{Type: reflect.TypeOf(object).Elem(), Describe: describe, Default: func(object any) {
			object.(metav1.Object).SetNamespace("(its namespace)")
			object.(metav1.Object).SetName("(its name)")
			s.Default(object.(runtime.Object))
		}}, fieldsOf(object)...)
		doctest.Part(t, page, "fields", table)
	}
	var all strings.Builder
	for _, answer := range answers {
		kind := reflect.TypeOf(answer)
		var names []string
		for i := range kind.NumField() {
			if name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ","); name != "" && name != "metadata" {
				names = append(names, name)
			}
		}
		fmt.Fprintf(&all, "### %s\n\n%s\n", kind.Name(), doctest.FieldTable(doctest.Kind{Type: kind, Describe: describe, Default: func(any) {}}, names...))
	}
	doctest.Part(t, "docs/subresources.md", "fields", strings.TrimSuffix(all.String(), "\n"))
}

func fieldsOf(object runtime.Object) []string {
	if _, hasStatus := reflect.TypeOf(object).Elem().FieldByName("Status"); hasStatus {
		return []string{"spec", "status"}
	}
	return []string{"spec"}
}

// describer looks fields up in the OpenAPI definitions that are served.
func describer() func(owner reflect.Type, name string) (doctest.Field, bool) {
	definitions := openapi.GetOpenAPIDefinitions(func(string) spec.Ref { return spec.Ref{} })
	return func(owner reflect.Type, name string) (doctest.Field, bool) {
		named, ok := reflect.Zero(owner).Interface().(util.OpenAPIModelNamer)
		if !ok {
			return doctest.Field{}, false
		}
		schema := definitions[named.OpenAPIModelName()].Schema
		property, ok := schema.Properties[name]
		return doctest.Field{Text: property.Description, Required: slices.Contains(schema.Required, name)}, ok
	}
}

var separator = regexp.MustCompile(`(?m)^---\n`)

// TestExamplesOfPagesAreAccepted holds what is YAML of convoy's kinds on a page against what
// the server accepts: unknown fields are refused, and whole objects are checked as when they
// are written.
func TestExamplesOfPagesAreAccepted(t *testing.T) {
	g := NewWithT(t)
	s, err := scheme.New()
	g.Expect(err).NotTo(HaveOccurred())
	decoder := serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
	texts, err := doctest.Pages()
	g.Expect(err).NotTo(HaveOccurred())
	whole, parts := 0, 0
	for page, text := range texts {
		for _, block := range doctest.Blocks(page, text) {
			if block.Language != "yaml" {
				continue
			}
			for _, document := range separator.Split(block.Text, -1) {
				document, isWhole := asObject(page, document)
				if document == "" {
					continue
				}
				object, _, err := decoder.Decode([]byte(document), nil, nil)
				if err != nil {
					t.Errorf("%s:%d: %v", block.Page, block.Line, err)
					continue
				}
				if !isWhole {
					parts++
					continue
				}
				whole++
				s.Default(object)
				if err := validate(object).ToAggregate(); err != nil {
					t.Errorf("%s:%d: %v", block.Page, block.Line, err)
				}
			}
		}
	}
	g.Expect(whole).To(BeNumerically(">", 10))
	g.Expect(parts).To(BeNumerically(">", 3))
}

// asObject gives a document of a page if it is of one of convoy's kinds, and whether all of it
// is shown. A part of a spec is one of the kind that the page is of, else of a Release.
func asObject(page, document string) (object string, isWhole bool) {
	var kind struct{ APIVersion, Kind string }
	if yaml.Unmarshal([]byte(document), &kind) == nil && kind.APIVersion != "" {
		if group, _, _ := strings.Cut(kind.APIVersion, "/"); strings.HasSuffix(group, ".convoy.kumodo.io") {
			return document, true
		}
		return "", false
	}
	of, hasKind := pages[page]
	switch {
	case strings.HasPrefix(document, "  ") && document[2] != ' ' && document[2] != '-':
		document = "spec:\n" + document
	case !hasKind || !strings.HasPrefix(document, "spec:"):
		return "", false
	}
	if !hasKind {
		of = &corev1alpha1.Release{}
	}
	s, err := scheme.ForNames()
	if err != nil {
		return "", false
	}
	gvks, _, err := s.ObjectKinds(of)
	if err != nil {
		return "", false
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\n", gvks[0].GroupVersion(), gvks[0].Kind) + document, false
}

func validate(object runtime.Object) field.ErrorList {
	switch object := object.(type) {
	case *corev1alpha1.Cluster:
		return validation.Cluster(object)
	case *corev1alpha1.Release:
		return validation.Release(object)
	case *corev1alpha1.ReleaseInventory:
		return validation.ReleaseInventory(object)
	case *sourcev1alpha1.GitRepository:
		return validation.GitRepository(object)
	case *sourcev1alpha1.HelmRegistry:
		return validation.HelmRegistry(object)
	case *sourcev1alpha1.OCIRegistry:
		return validation.OCIRegistry(object)
	case *extv1alpha1.HealthRuleSet:
		return validation.HealthRuleSet(object)
	case *extv1alpha1.GlobalHealthRuleSet:
		return validation.GlobalHealthRuleSet(object)
	}
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("nothing checks a %T", object))}
}
