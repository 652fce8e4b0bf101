// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// document is the OpenAPI v3 document of the subject's group and version, once the host has it:
// it gathers them after the kinds are served.
func document(ctx context.Context, s *subject) object {
	GinkgoHelper()
	var r *response
	Eventually(ctx, func() int {
		r = send(ctx, suite.admin, request{path: "/openapi/v3/apis/" + s.groupVersion()})
		return r.code
	}, "90s", "200ms").Should(Equal(http.StatusOK), s.groupVersion())
	return r.object()
}

var _ = Describe("OpenAPI", func() {
	table(
		behaviour{
			name: "tells of the same operations with the same parameters", like: builtin,
			why: "custom resources are not described as wholly",
			does: func(ctx context.Context, p *probe) {
				paths, _ := document(ctx, p.subject)["paths"].(object)
				base := strings.Replace(p.collection(), p.namespace, "{namespace}", 1)
				for _, where := range []string{base, base + "/{name}", base + "/{name}/status", "/apis/" + p.groupVersion() + "/" + p.plural, strings.Replace(base, p.version+"/", p.version+"/watch/", 1)} {
					operations, _ := paths[where].(object)
					for _, method := range []string{"get", "put", "post", "delete", "patch", "head", "options", "parameters"} {
						if operations[method] == nil {
							continue
						}
						if method == "parameters" {
							p.note(p.text(where)+" parameters", parameterNames(operations[method]))
							continue
						}
						operation, _ := operations[method].(object)
						kind, _ := operation["x-kubernetes-group-version-kind"].(object)
						p.note(p.text(where)+" "+method, object{
							"parameters": parameterNames(operation["parameters"]), "action": operation["x-kubernetes-action"],
							"kind": p.text(fmt.Sprint(kind["group"], " ", kind["version"] == p.version, " ", kind["kind"])), "accepts": mediaTypes(get(operation, at("requestBody.content"))),
							"answers": mediaTypes(get(operation, at("responses.200.content"))),
						})
					}
				}
			},
		},
		behaviour{name: "knows the kind and its list by group, version and kind", does: func(ctx context.Context, p *probe) {
			schemas, _ := get(document(ctx, p.subject), at("components.schemas")).(object)
			var known []string
			for _, value := range schemas {
				schema, _ := value.(object)
				kinds, _ := schema["x-kubernetes-group-version-kind"].([]any)
				for _, kind := range kinds {
					if of, _ := kind.(object); of["kind"] == p.kind || of["kind"] == p.kind+"List" {
						known = append(known, p.text(fmt.Sprint(of["group"], " ", of["version"] == p.version, " ", of["kind"])))
					}
				}
			}
			slices.Sort(known)
			p.note("known", known)
		}},
	)

	It("describes every field of convoy's kinds, and says of every list how it is merged", func(ctx SpecContext) {
		documents := map[string]object{}
		var faults []string
		for _, s := range subjects {
			if s.role != ours {
				continue
			}
			if documents[s.groupVersion()] == nil {
				documents[s.groupVersion()] = document(ctx, s)
			}
			w := schemaWalk{schemas: get(documents[s.groupVersion()], at("components.schemas")).(object), seen: map[string]bool{}}
			group, _, _ := strings.Cut(s.group, ".")
			w.walk("io.kumodo.convoy."+group+"."+s.version+"."+s.kind, s.kind)
			faults = append(faults, w.faults...)
		}
		Expect(faults).To(BeEmpty())
	})

	It("is part of the host's document for old clients", func(ctx SpecContext) {
		// The host gathers it every minute.
		Eventually(ctx, func() []string {
			definitions, _ := send(ctx, suite.admin, request{path: "/openapi/v2"}).object()["definitions"].(object)
			var missing []string
			for _, s := range subjects {
				group, _, _ := strings.Cut(s.group, ".")
				if name := "io.kumodo.convoy." + group + "." + s.version + "." + s.kind; s.role == ours && definitions[name] == nil {
					missing = append(missing, name)
				}
			}
			return missing
		}, "90s", "2s").Should(BeEmpty())
	}, NodeTimeout(behaviourTimeout))
})

func parameterNames(value any) []string {
	list, _ := value.([]any)
	names := []string{}
	for _, entry := range list {
		parameter, _ := entry.(object)
		names = append(names, fmt.Sprint(parameter["name"], " in ", parameter["in"]))
	}
	slices.Sort(names)
	return names
}

// mediaTypes leaves out protobuf and what comes with it, which only built-in kinds have.
func mediaTypes(value any) []string {
	content, _ := value.(object)
	names := []string{}
	for name := range content {
		if !strings.Contains(name, "protobuf") && !strings.Contains(name, "cbor") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// schemaWalk looks at all fields below a kind, but those of the library's types.
type schemaWalk struct {
	schemas object
	seen    map[string]bool
	faults  []string
}

func (w *schemaWalk) walk(name, where string) {
	schema, ok := w.schemas[name].(object)
	if !ok {
		w.faults = append(w.faults, where+": there is no schema "+name)
		return
	}
	if w.seen[name] || strings.HasPrefix(name, "io.k8s.") {
		return
	}
	w.seen[name] = true
	if schema["description"] == nil {
		w.faults = append(w.faults, where+": "+name+" has no description")
	}
	properties, _ := schema["properties"].(object)
	for field, value := range properties {
		property, _ := value.(object)
		if text, _ := property["description"].(string); strings.TrimSpace(text) == "" {
			w.faults = append(w.faults, where+"."+field+" has no description")
		}
		if property["type"] == "array" && property["x-kubernetes-list-type"] == nil && field != "items" {
			w.faults = append(w.faults, where+"."+field+" is a list that does not say how it is merged")
		}
		for _, reference := range schemaReferences(property) {
			w.walk(reference, where+"."+field)
		}
	}
}

// schemaReferences are the names of the schemas that a property refers to.
func schemaReferences(value any) []string {
	var names []string
	switch value := value.(type) {
	case object:
		if name, ok := value["$ref"].(string); ok {
			names = append(names, strings.TrimPrefix(name, "#/components/schemas/"))
		}
		for _, below := range value {
			names = append(names, schemaReferences(below)...)
		}
	case []any:
		for _, below := range value {
			names = append(names, schemaReferences(below)...)
		}
	}
	return names
}
