// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"errors"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func object(manifest string) *unstructured.Unstructured {
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		panic(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	return object
}

// widgets defines Widgets, with a schema for spec in its version v1.
func widgets(spec string) *unstructured.Unstructured {
	return object(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
    - {name: v0, served: false, storage: false}
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            status: {type: object, properties: {ready: {type: boolean}}}
            spec: ` + spec + `
    - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
}

func widget(rest string) *unstructured.Unstructured {
	return object("{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: w}, " + rest + "}")
}

// faults are the fields that an error of an API server names, with what it says of each.
func faults(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	var all []string
	for _, cause := range status.Status().Details.Causes {
		all = append(all, cause.Field+": "+cause.Message)
	}
	return all
}

func TestSchemas(t *testing.T) {
	typed := func(properties string) string { return "{type: object, properties: {" + properties + "}}" }
	for _, test := range []struct {
		name, schema, object string
		want                 []string // parts of what is said of each field
	}{
		{"as it should be", typed("size: {type: integer}"), "spec: {size: 1}", nil},
		{"another type", typed("size: {type: integer}"), "spec: {size: big}", []string{"spec.size: Invalid value: must be of type integer"}},
		{"a fraction for a whole number", typed("size: {type: integer}"), "spec: {size: 1.5}", []string{"spec.size"}},
		{"a whole number that is written as a fraction", typed("size: {type: integer}"), "spec: {size: 1.0}", nil},
		{"a whole number for a fraction", typed("size: {type: number}"), "spec: {size: 1}", nil},
		{"a number for a truth", typed("lit: {type: boolean}"), "spec: {lit: 1}", []string{"spec.lit"}},
		{"a text for a list", typed("l: {type: array, items: {type: string}}"), "spec: {l: a}", []string{"spec.l: Invalid value: must be of type array"}},
		{"a number in a list of texts", typed("l: {type: array, items: {type: string}}"), "spec: {l: [a, 1]}", []string{"spec.l[1]"}},
		{"a number or a text: a number", typed("p: {x-kubernetes-int-or-string: true}"), "spec: {p: 80}", nil},
		{"a number or a text: a text", typed("p: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}"), "spec: {p: http}", nil},
		{"a number or a text: neither", typed("p: {x-kubernetes-int-or-string: true}"), "spec: {p: true}", []string{"spec.p: Invalid value: must be of type integer or string"}},

		{"a field that is not declared", typed("size: {type: integer}"), "spec: {siez: 1}", []string{"spec.siez: Invalid value: the schema declares no such field"}},
		{"one in a list", typed("l: {type: array, items: {type: object, properties: {a: {type: string}}}}"), "spec: {l: [{a: x}, {b: x}]}", []string{"spec.l[1].b"}},
		{"one beside the spec", typed("size: {type: integer}"), "data: {}", []string{"data"}},
		{"one that is preserved", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "spec: {x: 1}", nil},
		{"one under what is preserved", "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: object, properties: {b: {type: string}}}}}", "spec: {a: {c: 1}}", nil},
		{"one of what declares none", "{type: object}", "spec: {x: 1}", nil},
		{"one of a map", typed("m: {type: object, additionalProperties: {type: string}}"), "spec: {m: {x: a}}", nil},
		{"a wrong one of a map", typed("m: {type: object, additionalProperties: {type: string}}"), "spec: {m: {x: 1}}", []string{"spec.m.x"}},
		{"those of an object within", typed("t: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}"),
			"spec: {t: {apiVersion: v1, kind: Pod, metadata: {name: a}, stats: {}}}", []string{"spec.t.stats"}},

		{"one that is missing", "{type: object, required: [size], properties: {size: {type: integer}}}", "spec: {}", []string{"spec.size: Required value"}},
		{"one that has a default", "{type: object, required: [size], properties: {size: {type: integer, default: 1}}}", "spec: {}", nil},
		{"one with a default within a default", typed("a: {type: object, default: {}, required: [b], properties: {b: {type: string, default: x, minLength: 1}}}"), "spec: {}", nil},
		{"one that is null", "{type: object, required: [size], properties: {size: {type: integer}}}", "spec: {size: null}", []string{"spec.size: Invalid value: must be of type integer, and is null"}},
		{"one that is null and has a default", "{type: object, required: [size], properties: {size: {type: integer, default: 1}}}", "spec: {size: null}", nil},
		{"one that may be null", "{type: object, required: [size], properties: {size: {type: integer, nullable: true, default: 1}}}", "spec: {size: null}", nil},
		{"null in a list", typed("l: {type: array, items: {type: string}}"), "spec: {l: [null]}", []string{"spec.l[0]"}},
		{"null in a map", typed("m: {type: object, additionalProperties: {type: string}}"), "spec: {m: {a: null}}", []string{"spec.m.a"}},

		{"one of a few", typed("c: {type: string, enum: [red, green]}"), "spec: {c: red}", nil},
		{"another than these", typed("c: {type: string, enum: [red, green]}"), "spec: {c: blue}", []string{`spec.c: Invalid value: must be one of "red", "green"`}},
		{"one of a few numbers", typed("c: {type: number, enum: [1, 2.5]}"), "spec: {c: 1.0}", nil},
		{"too small", typed("num: {type: integer, minimum: 1}"), "spec: {num: 0}", []string{"spec.num: Invalid value: must be at least 1"}},
		{"the bound itself", typed("num: {type: integer, minimum: 1, maximum: 1}"), "spec: {num: 1}", nil},
		{"the bound itself, which does not count", typed("num: {type: integer, minimum: 1, exclusiveMinimum: true}"), "spec: {num: 1}", []string{"must be more than 1"}},
		{"too large", typed("num: {type: number, maximum: 1.5}"), "spec: {num: 1.6}", []string{"must be at most 1.5"}},
		{"the upper bound itself, which does not count", typed("num: {type: integer, maximum: 1, exclusiveMaximum: true}"), "spec: {num: 1}", []string{"must be less than 1"}},
		{"too large for its format", typed("num: {type: integer, format: int32}"), "spec: {num: 3000000000}", []string{"32 bits"}},
		{"a multiple", typed("num: {type: number, multipleOf: 0.1}"), "spec: {num: 0.3}", nil},
		{"no multiple", typed("num: {type: integer, multipleOf: 5}"), "spec: {num: 7}", []string{"must be a multiple of 5"}},
		{"too short", typed("s: {type: string, minLength: 2}"), "spec: {s: ä}", []string{"at least 2 characters"}},
		{"not too long", typed("s: {type: string, maxLength: 2}"), "spec: {s: ää}", nil},
		{"too long", typed("s: {type: string, maxLength: 2}"), "spec: {s: abc}", []string{"at most 2 characters"}},
		{"another pattern", typed("s: {type: string, pattern: '^a+$'}"), "spec: {s: aab}", []string{`must match "^a+$"`}},
		{"the pattern", typed("s: {type: string, pattern: '^a+$'}"), "spec: {s: aa}", nil},
		{"a pattern that is none", typed("s: {type: string, pattern: '('}"), "spec: {s: aa}", nil},
		{"another format", typed("s: {type: string, format: date-time}"), "spec: {s: yesterday}", []string{"must be of format date-time"}},
		{"the format", typed("s: {type: string, format: date-time}"), "spec: {s: '2026-01-02T03:04:05Z'}", nil},
		{"a format that nobody knows", typed("s: {type: string, format: colour}"), "spec: {s: red}", nil},
		{"too few items", typed("l: {type: array, minItems: 1, items: {type: string}}"), "spec: {l: []}", []string{"at least 1 items"}},
		{"too many items", typed("l: {type: array, maxItems: 1, items: {type: string}}"), "spec: {l: [a, b]}", []string{"at most 1 items"}},
		{"too few fields", typed("m: {type: object, minProperties: 1, additionalProperties: {type: string}}"), "spec: {m: {}}", []string{"at least 1 fields"}},
		{"too many fields", typed("m: {type: object, maxProperties: 1, additionalProperties: {type: string}}"), "spec: {m: {a: b, c: d}}", []string{"at most 1 fields"}},
		{"twice in a set", typed("l: {type: array, x-kubernetes-list-type: set, items: {type: string}}"), "spec: {l: [a, b, a]}", []string{"spec.l[2]: Duplicate value"}},
		{"twice in a list", typed("l: {type: array, items: {type: string}}"), "spec: {l: [a, b, a]}", nil},
		{"twice in a map", typed("l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b], items: {type: object, properties: {a: {type: string}, b: {type: string, default: x}, c: {type: string}}}}"),
			"spec: {l: [{a: '1', b: x, c: q}, {a: '1', c: z}, {a: '1', b: r}]}", []string{"spec.l[1]: Duplicate value"}},

		{"all of two", typed("num: {type: integer, allOf: [{minimum: 1}, {maximum: 3}]}"), "spec: {num: 4}", []string{"must be at most 3"}},
		{"any of two", typed("num: {type: integer, anyOf: [{minimum: 10}, {maximum: 3}]}"), "spec: {num: 4}", []string{"anyOf"}},
		{"one of two, which both are", "{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}", "spec: {a: x, b: x}", []string{"spec: Invalid value: must be valid by exactly one of the schemas of oneOf, and is by 2"}},
		{"one of two", "{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}", "spec: {a: x}", nil},
		{"what it must not be", "{type: object, properties: {a: {type: string}}, not: {required: [a]}}", "spec: {a: x}", []string{"the schema of not"}},

		{"a status, which is not applied", typed("size: {type: integer}"), "status: {ready: maybe}", nil},
		{"two faults", typed("a: {type: string}, b: {type: string}"), "spec: {a: 1, b: 1}", []string{"spec.a", "spec.b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			given := widget(test.object)
			before := given.DeepCopy()
			_, err := New(widgets(test.schema)).Check(given)
			g.Expect(given).To(Equal(before))
			if test.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
			found := faults(err)
			g.Expect(found).To(HaveLen(len(test.want)), "%q", found)
			for i, part := range test.want {
				g.Expect(found[i]).To(ContainSubstring(part))
			}
		})
	}
}

// A schema may say something of the names of objects; all else of metadata is there all the same.
func TestSchemasOfMetadata(t *testing.T) {
	g := NewWithT(t)
	defined := widgets("{type: object}")
	versions := defined.Object["spec"].(map[string]any)["versions"].([]any)
	root := versions[1].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	root["properties"].(map[string]any)["metadata"] = map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string", "maxLength": int64(3)}}}
	set := New(defined)
	labelled := widget("spec: {}")
	labelled.SetLabels(map[string]string{"a": "b"})
	labelled.SetAnnotations(map[string]string{"a": "b"})
	_, err := set.Check(labelled)
	g.Expect(err).NotTo(HaveOccurred())
	labelled.SetName("long")
	_, err = set.Check(labelled)
	g.Expect(faults(err)).To(ContainElement(ContainSubstring("metadata.name")))
}

func TestNamesAndLabels(t *testing.T) {
	g := NewWithT(t)
	set := New(widgets("{type: object}"))
	_, err := set.Check(object("{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: ns, name: W, labels: {a: 'x y'}}}"))
	g.Expect(faults(err)).To(ConsistOf(HavePrefix("metadata.name: "), HavePrefix("metadata.labels: ")))
}

func TestFaultsQuoteNoValues(t *testing.T) {
	g := NewWithT(t)
	for _, schema := range []string{"{type: integer}", "{type: string, enum: [a]}", "{type: string, pattern: '^a$'}", "{type: string, maxLength: 1}", "{type: string, format: ipv4}"} {
		_, err := New(widgets("{type: object, properties: {password: " + schema + "}}")).Check(widget("spec: {password: hunter2}"))
		g.Expect(err).To(MatchError(And(ContainSubstring("spec.password"), Not(ContainSubstring("hunter2")))))
	}
}

func TestVersions(t *testing.T) {
	set := New(object("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}"), widgets("{type: object, x-kubernetes-validations: [{rule: 'true'}]}"))
	g := NewWithT(t)
	for manifest, want := range map[string]bool{
		"{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}":             true,
		"{apiVersion: example.com/v2, kind: Widget, metadata: {name: w}, any: thing}": false,
		// The renderer refuses these, unless the target serves them.
		"{apiVersion: example.com/v0, kind: Widget, metadata: {name: w}, any: thing}": false,
		"{apiVersion: example.com/v3, kind: Widget, metadata: {name: w}, any: thing}": false,
		"{apiVersion: example.com/v1, kind: Gadget, metadata: {name: w}, any: thing}": false,
	} {
		rules, err := set.Check(object(manifest))
		g.Expect(err).NotTo(HaveOccurred(), manifest)
		g.Expect(rules).To(Equal(want), manifest)
	}
	g.Expect(set.Defines(schema.GroupKind{Group: "example.com", Kind: "Widget"})).To(BeTrue())
	g.Expect(set.Defines(schema.GroupKind{Kind: "ConfigMap"})).To(BeFalse())
}

// The API server says what is wrong with a definition.
func TestDefinitionsThatAreNone(t *testing.T) {
	for _, spec := range []string{"", ", spec: 7", ", spec: {versions: 7}", ", spec: {versions: []}", ", spec: {group: example.com, names: {kind: Widget}, versions: 7}",
		", spec: {group: example.com, names: {kind: Widget}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: 7}}}]}",
		", spec: {group: example.com, names: {kind: Widget}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: array}}}}}]}",
		", spec: {group: example.com, names: {kind: Widget}, versions: [{name: v1, served: true}]}",
	} {
		g := NewWithT(t)
		set := New(object("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}" + spec + "}"))
		_, err := set.Check(widget("spec: [a]"))
		g.Expect(err).NotTo(HaveOccurred(), spec)
	}
}

func TestConcurrentUse(t *testing.T) {
	g := NewWithT(t)
	set := New(widgets("{type: object, properties: {s: {type: string, pattern: '^a$'}}}"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				_, err := set.Check(widget("spec: {s: b}"))
				if !apierrors.IsInvalid(err) {
					t.Errorf("unexpected: %v", err)
				}
			}
		})
	}
	wg.Wait()
	_, err := set.Check(widget("spec: {s: a}"))
	g.Expect(err).NotTo(HaveOccurred())
}
