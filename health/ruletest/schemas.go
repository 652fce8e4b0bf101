// SPDX-License-Identifier: Apache-2.0

package ruletest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/health/openapi"
)

// Schemas tell which fields the objects of kinds have. They are not safe for concurrent use.
type Schemas struct {
	defined   map[schema.GroupVersionKind][]*openapi.Schema // a kind may be defined several times
	published []*openapi.Document
}

// ReadSchemas reads CustomResourceDefinitions, with which other manifests may stand, and OpenAPI
// documents of version 3 as API servers publish them, in JSON. Errors are joined; each names the
// file. Files without either are an error.
func ReadSchemas(files ...File) (*Schemas, error) {
	schemas := &Schemas{defined: map[schema.GroupVersionKind][]*openapi.Schema{}}
	var faults []error
	for _, file := range files {
		if err := schemas.add(file); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 && len(schemas.defined) == 0 && len(schemas.published) == 0 {
		return nil, errors.New("neither a CustomResourceDefinition nor an OpenAPI document is there")
	}
	return schemas, errors.Join(faults...)
}

func (s *Schemas) add(file File) error {
	if isDocument, err := s.addDocument(file); isDocument {
		return err
	}
	manifests, err := readAs(yaml.YAMLToJSON, file) // those that are published have fields twice
	if err != nil {
		return err
	}
	for i := range manifests {
		defined, err := openapi.OfDefinition(manifests[i].fields)
		if errors.Is(err, openapi.ErrNoDefinition) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: CustomResourceDefinition %s: %w", manifests[i].position(), manifests[i].meta.GetName(), err)
		}
		for kind, of := range defined {
			s.defined[kind] = append(s.defined[kind], of)
		}
	}
	return nil
}

// addDocument adds an OpenAPI document; false when the file is something else.
func (s *Schemas) addDocument(file File) (bool, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(file.Data), []byte("{")) {
		return false, nil
	}
	var version struct{ OpenAPI, Swagger string }
	if json.Unmarshal(file.Data, &version) != nil || version.OpenAPI == "" && version.Swagger == "" {
		return false, nil
	}
	document, err := openapi.ParseDocument(file.Data)
	if errors.Is(err, openapi.ErrNoDocument) {
		return true, fmt.Errorf("%s: an OpenAPI document of version %s: take one of version 3, as kubectl get --raw /openapi/v3/apis/GROUP/VERSION gives it",
			file.Name, cmp.Or(version.OpenAPI, version.Swagger))
	}
	if err != nil {
		return true, fmt.Errorf("%s: %w", file.Name, err)
	}
	s.published = append(s.published, document)
	return true, nil
}

// known is the schema of a kind in one version.
type known struct {
	kind schema.GroupVersionKind
	of   *openapi.Schema
}

// of gives the schemas of the kind that a rule is for, by version.
func (s *Schemas) of(rule *extv1alpha1.HealthRule) []known {
	var all []known
	for kind, defined := range s.defined {
		for _, of := range defined {
			if health.Targets(rule, kind) {
				all = append(all, known{kind, of})
			}
		}
	}
	for _, document := range s.published {
		for _, kind := range document.Kinds() {
			if health.Targets(rule, kind) {
				all = append(all, known{kind, document.Schema(kind)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b known) int { return cmp.Compare(a.kind.Version, b.kind.Version) })
	return all
}

// Checked tells which rules were held against schemas.
type Checked struct {
	// Rules that were, and the kinds with versions that they are for, sorted.
	Rules int
	Kinds []string
	// Unknown are the kinds of rules of which there is no schema, sorted.
	Unknown []string
}

// CheckTypes holds the rules of sets against the schemas of their kinds. Of a kind with several
// versions, a rule may read what any has that it is for. Errors are joined; each names file and
// line, set, rule, expression and the place in it.
func CheckTypes(sets []*Set, schemas *Schemas) (Checked, error) {
	var checked Checked
	var faults []error
	for _, set := range sets {
		for i := range set.Rules {
			rule := &set.Rules[i]
			kinds := schemas.of(rule)
			if len(kinds) == 0 {
				checked.Unknown = append(checked.Unknown, schema.GroupKind{Group: rule.Target.Group, Kind: rule.Target.Kind}.String())
				continue
			}
			checked.Rules++
			checked.Kinds = append(checked.Kinds, named(kinds))
			findings, err := findingsOf(rule, kinds)
			faults = append(faults, err)
			for _, finding := range findings {
				faults = append(faults, set.misfit(i, finding))
			}
		}
	}
	for _, list := range []*[]string{&checked.Kinds, &checked.Unknown} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return checked, errors.Join(faults...)
}

func findingsOf(rule *extv1alpha1.HealthRule, kinds []known) ([]health.Finding, error) {
	each := make([][]health.Finding, len(kinds))
	for i, one := range kinds {
		var err error
		if each[i], err = health.CheckTypes([]extv1alpha1.HealthRule{*rule}, one.kind, one.of); err != nil {
			return nil, err
		}
	}
	return health.Everywhere(each...), nil
}

// named is a kind with its versions: "Widget.example.com (v1, v2)".
func named(kinds []known) string {
	versions := make([]string, len(kinds))
	for i, one := range kinds {
		versions[i] = one.kind.Version
	}
	return fmt.Sprintf("%s (%s)", kinds[0].kind.GroupKind(), strings.Join(slices.Compact(versions), ", "))
}

func (s *Set) misfit(index int, finding health.Finding) error {
	lines := strings.Split(expressions(&s.Rules[index])[finding.Field], "\n")
	shown := lines[min(finding.Line, len(lines))-1]
	return s.fault([]any{"spec", "rules", index, finding.Field}, "rule %q: expression %s: at %d:%d: %s, near %s",
		finding.Rule, finding.Field, finding.Line, finding.Column, finding.Message, near(shown, finding.Column-1))
}
