// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

func operation(name string, where string, value any) object {
	return object{"op": name, "path": where, "value": value}
}

var _ = Describe("Patch", func() {
	table(
		behaviour{name: "by JSON patch", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			patched := p.patch(ctx, p.item("a"), jsonPatch, []any{
				operation("test", p.field.pointer(), p.values[0]),
				operation("replace", p.field.pointer(), p.values[1]),
				operation("add", "/metadata/labels/x", "y"),
				object{"op": "move", "path": "/metadata/labels/z", "from": "/metadata/labels/x"},
				object{"op": "copy", "path": "/metadata/labels/y", "from": "/metadata/labels/z"},
				object{"op": "remove", "path": "/metadata/labels/z"},
			})
			p.sawObject("patched", patched)
			p.sawManagers("managers", patched)
			p.sawObject("of nothing", p.patch(ctx, p.item("a"), jsonPatch, []any{}))
			p.sawObject("to the same", p.patch(ctx, p.item("a"), jsonPatch, []any{operation("replace", p.field.pointer(), p.values[1])}))
		}},
		behaviour{name: "by JSON patch that fails", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			apply := func(operations ...any) *response { return p.patch(ctx, p.item("a"), jsonPatch, operations) }
			p.saw("test", apply(operation("test", "/metadata/name", "other"), operation("replace", p.field.pointer(), p.values[1])))
			p.saw("remove", apply(object{"op": "remove", "path": "/metadata/nothing"}))
			p.saw("replace", apply(operation("replace", "/metadata/annotations/x", "y")))
			p.saw("add below nothing", apply(operation("add", "/metadata/annotations/x", "y")))
			p.saw("no such operation", apply(operation("change", p.field.pointer(), 1)))
			p.saw("no list", p.patch(ctx, p.item("a"), jsonPatch, object{"op": "remove"}))
			p.saw("no JSON", p.patch(ctx, p.item("a"), jsonPatch, "{"))
			p.sawObject("unchanged", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "by JSON patch of 10001 operations", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			operations := strings.Repeat(`{"op":"test","path":"/kind","value":"`+p.kind+`"},`, 10_000)
			p.saw("10001", p.patch(ctx, p.item("a"), jsonPatch, "["+operations+`{"op":"test","path":"/kind","value":"`+p.kind+`"}]`))
			p.saw("10000", p.patch(ctx, p.item("a"), jsonPatch, "["+strings.TrimSuffix(operations, ",")+"]"))
		}},
		behaviour{name: "by merge patch", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			patched := p.patch(ctx, p.item("a"), mergePatch, p.change(2), "fieldManager=other")
			p.sawObject("patched", patched)
			p.sawManagers("managers", patched)
			p.sawObject("of nothing", p.patch(ctx, p.item("a"), mergePatch, object{}))
			p.sawObject("to the same", p.patch(ctx, p.item("a"), mergePatch, p.change(2)))
			p.sawObject("a label", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"labels":{"x":"y"}}}`))
			p.sawObject("a label removed", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"labels":{"x":null}}}`))
			p.saw("no JSON", p.patch(ctx, p.item("a"), mergePatch, "{"))
			p.saw("a list", p.patch(ctx, p.item("a"), mergePatch, "[]"))
			p.saw("nothing at all", p.patch(ctx, p.item("a"), mergePatch, ""))
			p.saw("YAML", p.patch(ctx, p.item("a"), mergePatch, "metadata:\n  labels: {x: y}\n"))
		}},
		behaviour{name: "by merge patch with a version", does: func(ctx context.Context, p *probe) {
			first := p.create(ctx, "a").version()
			withVersion := func(version string, value int) *response {
				return p.patch(ctx, p.item("a"), mergePatch, set(p.change(value), at("metadata.resourceVersion"), version))
			}
			p.sawObject("of now", withVersion(first, 2))
			p.saw("of then", withVersion(first, 3))
			p.saw("of nonsense", withVersion("nonsense", 3))
		}},
		behaviour{name: "by merge patch that takes the version away", like: custom, why: blindUpdates, of: namespaced, does: patchBlindly},
		behaviour{name: "by merge patch that takes the version of a global kind away", of: func(s *subject) bool { return s.global }, does: patchBlindly},
		behaviour{name: "by merge patch of what identifies the object", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, field := range []string{"name", "namespace"} {
				p.saw(field, p.patch(ctx, p.item("a"), mergePatch, set(p.change(2), at("metadata."+field), "11111111-2222-3333-4444-555555555555")))
				p.saw(field+" removed", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"`+field+`":null}}`))
			}
			p.saw("uid removed", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"uid":null}}`))
		}},
		behaviour{name: "by merge patch of the uid", like: builtin, why: validatedTwice, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("another", p.patch(ctx, p.item("a"), mergePatch, set(p.change(2), at("metadata.uid"), "11111111-2222-3333-4444-555555555555")))
		}},
		behaviour{name: "by merge patch to another kind", like: builtin, why: typed, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("kind", p.patch(ctx, p.item("a"), mergePatch, `{"kind":"Other"}`))
			p.saw("version", p.patch(ctx, p.item("a"), mergePatch, `{"apiVersion":"other/v1"}`))
		}},
		behaviour{name: "with an invalid result", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.sawInvalid("merge patch", p.patch(ctx, p.item("a"), mergePatch, containing(p.field, p.invalid)), p.field)
			p.sawInvalid("JSON patch", p.patch(ctx, p.item("a"), jsonPatch, []any{operation("replace", p.field.pointer(), p.invalid)}), p.field)
			p.sawInvalid("apply", p.patch(ctx, p.item("a"), applyPatch, set(p.identity("a"), p.field, p.invalid), "fieldManager=me", "force=true"), p.field)
		}},
		behaviour{name: "with a value of a wrong type", of: onlyPrincipals, like: builtin, why: typed, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("merge patch", p.patch(ctx, p.item("a"), mergePatch, containing(p.field, p.wrongType)))
			p.saw("JSON patch", p.patch(ctx, p.item("a"), jsonPatch, []any{operation("replace", p.field.pointer(), p.wrongType)}))
		}},
		behaviour{name: "of what does not exist", does: func(ctx context.Context, p *probe) {
			p.saw("merge patch", p.patch(ctx, p.item("a"), mergePatch, p.change(2)))
			p.saw("JSON patch", p.patch(ctx, p.item("a"), jsonPatch, []any{}))
			p.saw("as a trial", p.patch(ctx, p.item("a"), mergePatch, p.change(2), "dryRun=All"))
		}},
		behaviour{name: "as a trial", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.sawObject("merge patch", p.patch(ctx, p.item("a"), mergePatch, p.change(2), "dryRun=All"))
			p.sawObject("JSON patch", p.patch(ctx, p.item("a"), jsonPatch, []any{operation("replace", p.field.pointer(), p.values[2])}, "dryRun=All"))
			p.sawObject("unchanged", p.get(ctx, p.item("a")))
			p.saw("no such trial", p.patch(ctx, p.item("a"), mergePatch, p.change(2), "dryRun=Some"))
		}},
		behaviour{name: "with options that do not fit", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("force", p.patch(ctx, p.item("a"), mergePatch, p.change(2), "force=true"))
			p.saw("validation", p.patch(ctx, p.item("a"), mergePatch, p.change(2), "fieldValidation=Some"))
			p.saw("manager", p.patch(ctx, p.item("a"), mergePatch, p.change(2), "fieldManager="+strings.Repeat("m", 129)))
			p.saw("unknown", p.patch(ctx, p.item("a"), mergePatch, p.change(2), "nonsense=true"))
		}},
		behaviour{name: "with unknown fields", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, mode := range []string{"Strict", "Warn", "Ignore"} {
				p.saw("merge patch "+mode, p.patch(ctx, p.item("a"), mergePatch, `{"spec":{"nonsense":1}}`, "fieldValidation="+mode))
				p.saw("JSON patch "+mode, p.patch(ctx, p.item("a"), jsonPatch, `[{"op":"add","path":"/spec/nonsense","value":1}]`, "fieldValidation="+mode))
			}
			p.saw("merge patch", p.patch(ctx, p.item("a"), mergePatch, `{"spec":{"nonsense":1}}`))
		}},
		behaviour{name: "with doubled fields", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, mode := range []string{"Strict", "Warn", "Ignore"} {
				p.saw("merge patch "+mode, p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"labels":{"x":"y"},"labels":{"x":"z"}}}`, "fieldValidation="+mode))
				p.saw("JSON patch "+mode, p.patch(ctx, p.item("a"), jsonPatch, `[{"op":"test","op":"add","path":"/metadata/labels/x","value":"y"}]`, "fieldValidation="+mode))
			}
		}},
		behaviour{name: "of a type that is not known", like: builtin, why: strategicOffered, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("JSON", p.patch(ctx, p.item("a"), jsonType, p.change(2)))
			p.saw("none", p.patch(ctx, p.item("a"), "", p.change(2)))
			p.saw("apply in JSON", p.patch(ctx, p.item("a"), "application/apply-patch+json", p.object("a"), "fieldManager=me"))
			p.saw("apply in CBOR", p.patch(ctx, p.item("a"), "application/apply-patch+cbor", p.object("a"), "fieldManager=me"))
		}},
		behaviour{name: "by strategic merge patch", like: builtin, why: strategicOffered, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			patched := p.patch(ctx, p.item("a"), strategic, p.change(2))
			p.saw("patched", patched)
			p.sawManagers("managers", patched)
			p.saw("of nothing", p.patch(ctx, p.item("a"), strategic, "{}"))
			p.saw("a label deleted", p.patch(ctx, p.item("a"), strategic, `{"metadata":{"labels":{"$patch":"delete"}}}`))
			p.saw("an unknown field", p.patch(ctx, p.item("a"), strategic, `{"spec":{"nonsense":1}}`, "fieldValidation=Strict"))
			p.saw("a doubled field", p.patch(ctx, p.item("a"), strategic, `{"metadata":{"labels":{"x":"y"},"labels":{"x":"z"}}}`, "fieldValidation=Strict"))
			p.saw("no JSON", p.patch(ctx, p.item("a"), strategic, "{"))
		}},
		behaviour{
			name: "of conditions by strategic merge patch", of: onlyPrincipals, like: builtin,
			why: strategicOffered,
			does: func(ctx context.Context, p *probe) {
				p.create(ctx, "a")
				for _, change := range []any{
					condition("One", "True"), condition("Two", "True"), condition("One", "False"), object{"type": "One", "$patch": "delete"},
				} {
					patched := p.patch(ctx, p.item("a", "status"), strategic, set(object{}, conditions, []any{change}))
					p.note("conditions", []any{patched.code, p.statusShape(patched.object())})
				}
			},
		},
		behaviour{
			name: "of items by strategic merge patch", of: onlyPrincipals, like: builtin,
			why: strategicOffered,
			does: func(ctx context.Context, p *probe) {
				p.create(ctx, "a")
				for _, item := range []any{p.build("x", "Va"), p.build("y", "Va"), p.build("x", "Vb"), object{"name": "x", "$patch": "delete"}} {
					patched := p.patch(ctx, p.item("a"), strategic, containing(p.items, []any{item}))
					p.note("items", []any{patched.code, p.itemNames(patched.object())})
				}
			},
		},
	)
})

// strategicOffered is why convoy follows built-in kinds in strategic merge patches.
const strategicOffered = "strategic merge patches need Go types, which convoy has and custom resources have not"

// validatedTwice is why convoy follows built-in kinds where metadata is refused.
const validatedTwice = "the metadata of custom resources is checked in several rounds, which tell of the same in several ways"

func patchBlindly(ctx context.Context, p *probe) {
	p.create(ctx, "a")
	for i, version := range []any{"", "0"} {
		p.sawObject(encoded(version), p.patch(ctx, p.item("a"), mergePatch, set(p.change(i+2), at("metadata.resourceVersion"), version)))
	}
}
