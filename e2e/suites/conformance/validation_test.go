// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/yaml"
)

var modes = []string{"Strict", "Warn", "Ignore", ""}

// postAs posts a body of a media type.
func (p *probe) postAs(ctx context.Context, mediaType string, body any, parameters ...string) *response {
	GinkgoHelper()
	return p.send(ctx, request{method: "POST", path: p.collection(), body: body, query: query(parameters...), header: map[string]string{"Content-Type": mediaType}})
}

// asYAML writes an object as YAML, with a line of its own for each field.
func asYAML(o object) string {
	data, err := yaml.Marshal(o)
	if err != nil {
		Fail(err.Error())
	}
	return string(data)
}

var _ = Describe("Field validation", func() {
	table(
		behaviour{name: "of unknown fields", does: func(ctx context.Context, p *probe) {
			for i, mode := range modes {
				o := set(p.object(fmt.Sprint("a", i)), at("spec.nonsense"), 1)
				set(o, at("metadata.nonsense"), 1)
				o["nonsense"] = 1
				p.saw("JSON "+mode, p.post(ctx, p.collection(), o, "fieldValidation="+mode))
				p.saw("YAML "+mode, p.postAs(ctx, yamlType, asYAML(rename(o, p.name(fmt.Sprint("b", i)))), "fieldValidation="+mode))
			}
			p.saw("unknown mode", p.post(ctx, p.collection(), p.object("c"), "fieldValidation=Some"))
		}, of: freelyNamed},
		behaviour{name: "of doubled fields", of: freelyNamed, does: func(ctx context.Context, p *probe) {
			for i, mode := range modes {
				o := p.object(fmt.Sprint("a", i))
				body := encoded(o)
				doubled := strings.TrimSuffix(body, "}") + `,"kind":"` + p.kind + `"}`
				p.saw("JSON "+mode, p.postAs(ctx, jsonType, doubled, "fieldValidation="+mode))
				lines := asYAML(rename(o, p.name(fmt.Sprint("b", i)))) + "kind: " + p.kind + "\n"
				p.saw("YAML "+mode, p.postAs(ctx, yamlType, lines, "fieldValidation="+mode))
			}
		}},
		behaviour{
			name: "of fields in another case", of: freelyNamed, like: builtin,
			why: "the metadata of custom resources is decoded apart, and what is wrong with it told first",
			does: func(ctx context.Context, p *probe) {
				for i, mode := range modes {
					o := p.object(fmt.Sprint("a", i))
					o["Spec"] = object{}
					set(o, at("metadata.Labels"), object{"x": "y"})
					p.saw(mode, p.post(ctx, p.collection(), o, "fieldValidation="+mode))
				}
			},
		},
		behaviour{name: "of an update", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, mode := range modes {
				stored := p.get(ctx, p.item("a"))
				p.saw("unknown "+mode, p.put(ctx, p.item("a"), edited(stored, setting(at("spec.nonsense"), 1)), "fieldValidation="+mode))
				stored = p.get(ctx, p.item("a"))
				doubled := strings.TrimSuffix(encoded(stored.object()), "}") + `,"kind":"` + p.kind + `"}`
				p.saw("doubled "+mode, p.put(ctx, p.item("a"), doubled, "fieldValidation="+mode))
			}
		}},
		behaviour{name: "of values of a wrong type", of: onlyPrincipals, like: builtin, why: typed, does: func(ctx context.Context, p *probe) {
			p.saw("field", p.post(ctx, p.collection(), set(p.object("a"), p.field, p.wrongType)))
			p.saw("spec", p.post(ctx, p.collection(), set(p.object("a"), at("spec"), "x")))
			p.saw("status", p.post(ctx, p.collection(), set(p.object("a"), observedGeneration, "x")))
		}},
		behaviour{name: "of a spec that is null or absent", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.note("null spec", p.post(ctx, p.collection(), strings.Replace(encoded(set(p.object("a"), at("spec"), "NULL")), `"NULL"`, "null", 1)).code)
			p.note("absent", p.post(ctx, p.collection(), set(p.object("a"), at("spec"), nil)).code)
			p.saw("null field", p.post(ctx, p.collection(), strings.Replace(encoded(set(p.object("a"), p.field, "NULL")), `"NULL"`, "null", 1)))
			p.saw("null label", p.post(ctx, p.collection(), strings.Replace(encoded(set(p.object("b"), at("metadata.labels.x"), "NULL")), `"NULL"`, "null", 1)))
		}},
		behaviour{name: "of metadata of a wrong type", does: func(ctx context.Context, p *probe) {
			for _, change := range []struct {
				field path
				value any
			}{
				{at("metadata.name"), 7}, {at("metadata.labels"), "x"}, {at("metadata.labels"), object{"x": 7}}, {at("metadata.creationTimestamp"), "yesterday"},
				{at("metadata.finalizers"), "x"}, {at("metadata.generation"), "x"}, {at("metadata"), "x"},
			} {
				r := p.post(ctx, p.collection(), set(p.object("a"), change.field, change.value))
				p.note(fmt.Sprint(change.field, " ", encoded(change.value)), []any{r.code, r.string(at("reason"))})
			}
		}},
	)
})

func rename(o object, name string) object { return set(o, at("metadata.name"), name) }

var _ = Describe("Bodies", func() {
	table(
		behaviour{name: "that are no object of the kind", does: func(ctx context.Context, p *probe) {
			p.saw("nothing", p.postAs(ctx, jsonType, ""))
			p.saw("no JSON", p.postAs(ctx, jsonType, "{"))
			p.saw("a number", p.postAs(ctx, jsonType, "7"))
			p.saw("a list", p.postAs(ctx, jsonType, "[]"))
			p.saw("no YAML", p.postAs(ctx, yamlType, "a: b: c"))
			p.saw("more than one", p.postAs(ctx, jsonType, encoded(p.object("a"))+encoded(p.object("b"))))
		}},
		behaviour{name: "without kind or version", of: freelyNamed, like: builtin, why: typed, does: func(ctx context.Context, p *probe) {
			p.saw("no kind", p.post(ctx, p.collection(), set(p.object("c"), at("kind"), nil)))
			p.saw("no version", p.post(ctx, p.collection(), set(p.object("a"), at("apiVersion"), nil)))
			p.saw("neither", p.post(ctx, p.collection(), set(set(p.object("b"), at("apiVersion"), nil), at("kind"), nil)))
			p.sawNames("null", p.postAs(ctx, jsonType, "null"))
			p.sawNames("empty", p.postAs(ctx, jsonType, "{}"))
		}},
		behaviour{name: "of another kind", like: builtin, why: typed, does: func(ctx context.Context, p *probe) {
			p.saw("another kind", p.post(ctx, p.collection(), set(p.object("a"), at("kind"), "Other")))
			p.saw("its list", p.post(ctx, p.collection(), set(p.object("a"), at("kind"), p.kind+"List")))
			p.saw("another version", p.post(ctx, p.collection(), set(p.object("a"), at("apiVersion"), p.group+"/v7")))
			p.saw("another group", p.post(ctx, p.collection(), set(p.object("a"), at("apiVersion"), "other/v1")))
		}},
		behaviour{name: "in media types", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			for i, mediaType := range []string{
				"application/json; charset=utf-8", yamlType, "text/plain", "", "application/cbor", "application/xml",
				"application/x-www-form-urlencoded", "nonsense", mergePatch,
			} {
				p.saw(mediaType, p.postAs(ctx, mediaType, encoded(p.object(fmt.Sprint("a", i)))))
			}
		}},
		behaviour{name: "that are too large", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			long := func(size int) object {
				return set(p.object("a"), at("metadata.annotations"), object{"x": strings.Repeat("x", size)})
			}
			p.saw("create", p.post(ctx, p.collection(), long(3<<20)))
			stored := p.create(ctx, "a")
			p.saw("update", p.put(ctx, p.item("a"), set(long(3<<20), at("metadata.resourceVersion"), stored.version())))
			p.saw("merge patch", p.patch(ctx, p.item("a"), mergePatch, object{"metadata": long(3 << 20)["metadata"]}))
			p.saw("apply", p.apply(ctx, "a", "me", long(3<<20)))
			p.saw("delete", p.remove(ctx, p.item("a"), object{"nonsense": strings.Repeat("x", 3<<20)}))
		}},
		behaviour{name: "that etcd does not take", decided: "docs/limits.md", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			labels := object{}
			for i := range 12_000 {
				labels[fmt.Sprintf("x%05d%s", i, strings.Repeat("a", 40))] = strings.Repeat("a", 63)
			}
			p.saw("refused", p.post(ctx, p.collection(), set(p.object("a"), at("metadata.labels"), labels)))
		}},
	)
})
