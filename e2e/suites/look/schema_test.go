// SPDX-License-Identifier: Apache-2.0

package look

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// strict is a definition with a field for each thing that a schema can say.
const strict = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            status: {type: object, properties: {ready: {type: boolean}}}
            spec:
              type: object
              required: [mode]
              properties:
                mode: {type: string, default: fast, enum: [fast, slow]}
                size: {type: integer, minimum: 1, maximum: 9, exclusiveMaximum: true}
                small: {type: integer, format: int32}
                ratio: {type: number, multipleOf: 0.1}
                label: {type: string, minLength: 2, maxLength: 4, pattern: '^[a-z]+$'}
                since: {type: string, format: date-time}
                address: {type: string, format: ipv4}
                colour: {type: string, format: colour}
                port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
                names: {type: array, maxItems: 2, x-kubernetes-list-type: set, items: {type: string}}
                parts:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
                  items: {type: object, required: [name], properties: {name: {type: string}, weight: {type: integer}}}
                tags: {type: object, maxProperties: 1, additionalProperties: {type: string}}
                any: {type: object}
                open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {inner: {type: object, properties: {a: {type: string}}}}}
                whole: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: string}}}}}
                maybe: {type: string, nullable: true}
                nested: {type: object, required: [a], properties: {a: {type: string, default: x}}}
                either: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
                never: {type: object, properties: {a: {type: string}}, not: {required: [a]}}
                bounded: {type: integer, allOf: [{minimum: 1}], anyOf: [{maximum: 3}, {minimum: 7}]}
`

// widgetsOf are objects of that definition: what they have beside their names, and the field
// for which they are refused, "" when they are not.
var widgetsOf = map[string]string{
	"spec: {}":                                 "",
	"":                                         "spec",
	"spec: []":                                 "spec",
	"spec: {mode: slow, size: 1}":              "",
	"spec: {mode: medium}":                     "mode",
	"spec: {mode: null}":                       "",
	"spec: {modus: slow}":                      "modus",
	"spec: {}, data: {}":                       "data",
	"spec: {size: 0}":                          "size",
	"spec: {size: 9}":                          "size",
	"spec: {size: 1.5}":                        "size",
	"spec: {size: 2.0}":                        "",
	"spec: {size: '2'}":                        "size",
	"spec: {small: 3000000000}":                "small",
	"spec: {ratio: 0.3}":                       "",
	"spec: {ratio: 0.35}":                      "ratio",
	"spec: {label: a}":                         "label",
	"spec: {label: abcde}":                     "label",
	"spec: {label: a1}":                        "label",
	"spec: {label: abc}":                       "",
	"spec: {since: yesterday}":                 "since",
	"spec: {since: '2026-01-02T03:04:05Z'}":    "",
	"spec: {address: '1.2.3'}":                 "address",
	"spec: {address: '1.2.3.4'}":               "",
	"spec: {colour: octarine}":                 "",
	"spec: {port: 80}":                         "",
	"spec: {port: http}":                       "",
	"spec: {port: true}":                       "port",
	"spec: {port: 1.5}":                        "port",
	"spec: {names: [a, b]}":                    "",
	"spec: {names: [a, a]}":                    "names",
	"spec: {names: [a, b, c]}":                 "names",
	"spec: {names: [1]}":                       "names",
	"spec: {parts: [{name: a}, {name: b}]}":    "",
	"spec: {parts: [{name: a}, {name: a}]}":    "parts",
	"spec: {parts: [{weight: 1}]}":             "parts",
	"spec: {parts: [{name: a, wait: 1}]}":      "wait",
	"spec: {tags: {a: b}}":                     "",
	"spec: {tags: {a: 1}}":                     "tags",
	"spec: {tags: {a: b, c: d}}":               "tags",
	"spec: {tags: {a: null}}":                  "tags",
	"spec: {any: {a: {b: 1}}}":                 "",
	"spec: {open: {a: 1, inner: {b: 1}}}":      "",
	"spec: {open: {inner: {a: 1}}}":            "a",
	"spec: {whole: {apiVersion: v1, kind: X}}": "",
	"spec: {whole: {apiVersion: v1, kind: X, spec: {b: c}}}": "b",
	"spec: {maybe: null}":             "",
	"spec: {size: null}":              "size",
	"spec: {nested: {}}":              "",
	"spec: {nested: {a: null}}":       "",
	"spec: {either: {a: x}}":          "",
	"spec: {either: {a: x, b: x}}":    "either",
	"spec: {either: {}}":              "either",
	"spec: {never: {}}":               "",
	"spec: {never: {a: x}}":           "never",
	"spec: {bounded: 2}":              "",
	"spec: {bounded: 5}":              "bounded",
	"spec: {bounded: 0}":              "bounded",
	"spec: {}, status: {ready: true}": "",
}

var _ = Describe("A preview of custom resources whose definition comes with them", func() {
	It("refuses what the API server does, once it has the definition, and nothing else", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		group := n.Name + ".example.com"
		crd := strings.ReplaceAll(strict, "GROUP", group)
		objects, fields := []string{crd}, map[string]string{}
		for i, rest := range slices.Sorted(maps.Keys(widgetsOf)) {
			name := fmt.Sprintf("w-%d", i)
			fields[name] = widgetsOf[rest]
			objects = append(objects, strings.TrimSuffix(fmt.Sprintf("{apiVersion: %s/v1, kind: Widget, metadata: {name: %s}, %s", group, name, rest), ", ")+"}\n")
		}
		fields["W"] = "name"
		objects = append(objects, "{apiVersion: "+group+"/v1, kind: Widget, metadata: {name: W}, spec: {}}\n")
		n.Commit(ctx, map[string]string{"a/all.yaml": strings.Join(objects, "---\n")})
		n.Create(ctx, held(n, "web", "a"))

		plan := func() map[string]corev1alpha1.ObjectPreview {
			found := map[string]corev1alpha1.ObjectPreview{}
			for _, object := range preview(ctx, n, "web", corev1alpha1.ReleasePreviewOptions{}).Objects {
				if object.Kind == "Widget" {
					found[object.Name] = object
				}
			}
			return found
		}
		judged := func(found map[string]corev1alpha1.ObjectPreview) []string {
			var all []string
			for name, object := range found {
				line := fmt.Sprintf("%s %s", name, object.Action)
				if object.Action == corev1alpha1.ActionError && strings.Contains(object.Message, fields[name]) {
					line += " " + fields[name]
				}
				all = append(all, line)
			}
			slices.Sort(all)
			return all
		}
		var want []string
		for name, field := range fields {
			if field == "" {
				want = append(want, name+" create")
				continue
			}
			want = append(want, name+" error "+field)
		}
		slices.Sort(want)

		foreseen := plan()
		Expect(judged(foreseen)).To(Equal(want), "%v", foreseen)
		for _, object := range foreseen {
			Expect(object.Simulated).To(Equal(object.Action == corev1alpha1.ActionCreate))
		}

		target := []string{"KUBECONFIG=" + n.Target.AdminKubeconfig()}
		out, errOut, code := n.KubectlWith(ctx, crd, target, "apply", "-f", "-")
		Expect(code).To(BeZero(), out+errOut)
		DeferCleanup(func(ctx SpecContext) {
			_, errOut, code := n.KubectlWith(ctx, crd, target, "delete", "-f", "-")
			Expect(code).To(BeZero(), errOut)
		}, NodeTimeout(limit))
		var asked map[string]corev1alpha1.ObjectPreview
		Eventually(ctx, func() bool {
			asked = plan()
			return slices.ContainsFunc(slices.Collect(maps.Values(asked)), func(object corev1alpha1.ObjectPreview) bool { return object.Simulated })
		}).Should(BeFalse(), "a kind is served a moment after it was defined")
		Expect(judged(asked)).To(Equal(want), "%v", asked)
	}, NodeTimeout(limit))
})
