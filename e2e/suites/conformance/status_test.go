// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
)

func condition(kind, status string) object {
	return object{"type": kind, "status": status, "reason": "Because", "message": "of this", "lastTransitionTime": "2026-01-01T00:00:00Z"}
}

func hasConditions(s *subject) bool { return s.kind != "ReleaseInventory" }

var _ = Describe("Status", func() {
	seen := setting(observedGeneration, 1)
	table(
		behaviour{name: "is written by its subresource, and nothing else with it", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			updated := p.put(ctx, p.item("a", "status"), edited(stored, seen, p.withField(2), setting(at("metadata.labels.x"), "y"), setting(at("metadata.annotations.x"), nil)), "fieldManager=watcher")
			p.sawObject("updated", updated)
			p.sawManagers("managers", updated)
			p.sawObject("stored", p.get(ctx, p.item("a")))
			p.sawObject("read by its subresource", p.get(ctx, p.item("a", "status")))
		}},
		behaviour{
			name: "is written without finalizers", like: custom, of: namespaced, why: "a Deployment's status can be written together with finalizers, as an oversight that cannot be undone",
			does: statusWithFinalizer,
		},
		behaviour{name: "is written without finalizers of a global kind", of: func(s *subject) bool { return s.global }, does: statusWithFinalizer},
		behaviour{name: "is not written with the rest", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			stored = p.put(ctx, p.item("a", "status"), edited(stored, seen), "fieldManager=watcher")
			updated := p.put(ctx, p.item("a"), edited(stored, setting(observedGeneration, 7), p.withField(2)))
			p.sawObject("put", updated)
			p.sawManagers("managers", updated)
			p.sawObject("put without a status", p.put(ctx, p.item("a"), edited(updated, setting(at("status"), nil))))
			p.sawObject("merge patch", p.patch(ctx, p.item("a"), mergePatch, containing(observedGeneration, 8)))
			p.sawObject("merge patch that removes it", p.patch(ctx, p.item("a"), mergePatch, `{"status":null}`))
			p.sawObject("JSON patch", p.patch(ctx, p.item("a"), jsonPatch, []any{object{"op": "replace", "path": "/status/observedGeneration", "value": 9}}))
		}},
		behaviour{name: "is not applied with the rest", does: func(ctx context.Context, p *probe) {
			applied := p.patch(ctx, p.item("a"), applyPatch, set(p.object("a"), observedGeneration, 1), "fieldManager=me")
			p.sawObject("created", applied)
			p.sawManagers("managers", applied)
			applied = p.patch(ctx, p.item("a"), applyPatch, set(p.object("a"), observedGeneration, 2), "fieldManager=me")
			p.sawObject("again", applied)
		}},
		behaviour{name: "is patched", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			path := p.item("a", "status")
			merged := p.patch(ctx, path, mergePatch, object{"status": object{"observedGeneration": 1}, "spec": p.change(2)["spec"], "metadata": object{"labels": object{"x": "y"}}})
			p.sawObject("merge patch", merged)
			p.sawManagers("managers", merged)
			p.sawObject("again", p.patch(ctx, path, mergePatch, containing(observedGeneration, 1)))
			p.sawObject("JSON patch", p.patch(ctx, path, jsonPatch, []any{object{"op": "replace", "path": "/status/observedGeneration", "value": 2}}))
			p.sawObject("with the version", p.patch(ctx, path, mergePatch, set(containing(observedGeneration, 3), at("metadata.resourceVersion"), p.get(ctx, path).version())))
			p.saw("with an old version", p.patch(ctx, path, mergePatch, set(containing(observedGeneration, 4), at("metadata.resourceVersion"), merged.version())))
			p.sawObject("as a trial", p.patch(ctx, path, mergePatch, containing(observedGeneration, 5), "dryRun=All"))
			p.sawObject("stored", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "is applied", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			path := p.item("a", "status")
			applied := p.patch(ctx, path, applyPatch, set(set(p.identity("a"), observedGeneration, 1), p.field, p.values[1]), "fieldManager=watcher")
			p.sawObject("applied", applied)
			p.sawManagers("managers", applied)
			p.sawObject("again", p.patch(ctx, path, applyPatch, set(p.identity("a"), observedGeneration, 1), "fieldManager=watcher"))
			p.saw("conflict", p.patch(ctx, path, applyPatch, set(p.identity("a"), observedGeneration, 2), "fieldManager=other"))
			forced := p.patch(ctx, path, applyPatch, set(p.identity("a"), observedGeneration, 2), "fieldManager=other", "force=true")
			p.sawObject("forced", forced)
			p.sawManagers("managers", forced)
		}},
		behaviour{name: "is not applied to what does not exist", of: namespaced, does: func(ctx context.Context, p *probe) {
			p.saw("apply", p.patch(ctx, p.item("b", "status"), applyPatch, set(p.identity("b"), observedGeneration, 1), "fieldManager=watcher"))
		}},
		behaviour{name: "has conditions that several managers apply", of: hasConditions, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			path := p.item("a", "status")
			apply := func(manager, kind, status string) *response {
				return p.patch(ctx, path, applyPatch, set(p.identity("a"), conditions, []any{condition(kind, status)}), "fieldManager="+manager)
			}
			p.sawObject("one", apply("one", "One", "True"))
			p.sawObject("two", apply("two", "Two", "False"))
			p.sawObject("one again", apply("one", "One", "False"))
			p.saw("one by two", apply("two", "One", "True"))
			p.sawManagers("managers", p.get(ctx, p.item("a")))
			p.sawObject("two without", p.patch(ctx, path, applyPatch, p.identity("a"), "fieldManager=two"))
		}},
		behaviour{name: "of what changed meanwhile conflicts", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.put(ctx, p.item("a"), edited(stored, p.withField(2)))
			p.saw("conflict", p.put(ctx, p.item("a", "status"), edited(stored, seen)))
		}},
		behaviour{name: "that is the same is not written", does: func(ctx context.Context, p *probe) {
			stored := p.put(ctx, p.item("a", "status"), edited(p.create(ctx, "a"), seen))
			p.sawObject("first", stored)
			p.sawObject("again", p.put(ctx, p.item("a", "status"), stored.object()))
			p.sawObject("with another spec", p.put(ctx, p.item("a", "status"), edited(stored, p.withField(2))))
			p.sawObject("with an invalid spec", p.put(ctx, p.item("a", "status"), edited(stored, setting(p.field, p.invalid))))
		}},
		behaviour{name: "of what does not exist", does: func(ctx context.Context, p *probe) {
			p.saw("get", p.get(ctx, p.item("a", "status")))
			p.saw("merge patch", p.patch(ctx, p.item("a", "status"), mergePatch, containing(observedGeneration, 1)))
		}},
		behaviour{name: "of what does not exist, replaced", does: func(ctx context.Context, p *probe) {
			p.saw("put", p.put(ctx, p.item("a", "status"), set(p.object("a"), at("metadata.resourceVersion"), "1")))
		}},
		behaviour{name: "of what changed identity", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.saw("uid", p.put(ctx, p.item("a", "status"), edited(stored, seen, setting(at("metadata.uid"), "11111111-2222-3333-4444-555555555555"))))
			p.saw("name", p.put(ctx, p.item("a", "status"), edited(stored, seen, setting(at("metadata.name"), "other"))))
		}},
		behaviour{name: "cannot be created or deleted", like: builtin, why: noHandWork, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("post", p.post(ctx, p.item("a", "status"), p.object("a")))
			p.saw("delete", p.remove(ctx, p.item("a", "status"), nil))
			p.saw("options", p.send(ctx, request{method: http.MethodOptions, path: p.item("a", "status")}))
		}},
		behaviour{name: "with unknown and doubled fields", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, mode := range []string{"Strict", "Warn", "Ignore"} {
				stored := p.get(ctx, p.item("a"))
				p.saw(mode, p.put(ctx, p.item("a", "status"), edited(stored, seen, setting(at("status.nonsense"), 1)), "fieldValidation="+mode))
			}
		}},
		behaviour{name: "that cannot be decoded", of: onlyPrincipals, like: builtin, why: typed, does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.saw("put", p.put(ctx, p.item("a", "status"), edited(stored, setting(observedGeneration, "x"))))
			p.saw("merge patch", p.patch(ctx, p.item("a", "status"), mergePatch, containing(observedGeneration, "x")))
		}},
		behaviour{name: "is removed field by field", does: func(ctx context.Context, p *probe) {
			stored := p.put(ctx, p.item("a", "status"), edited(p.create(ctx, "a"), seen))
			p.sawObject("without", p.put(ctx, p.item("a", "status"), edited(stored, setting(at("status"), nil))))
			p.sawManagers("managers", p.get(ctx, p.item("a")))
		}},
	)
})

// typed is why convoy follows built-in kinds in how a value of a wrong type is refused.
const typed = "values are decoded into Go types; a schema has its own words for a value of a wrong type"

func statusWithFinalizer(ctx context.Context, p *probe) {
	stored := p.create(ctx, "a")
	updated := p.put(ctx, p.item("a", "status"), edited(stored, setting(observedGeneration, 1), withFinalizer), "fieldManager=watcher")
	p.sawObject("updated", updated)
	p.sawManagers("managers", updated)
}
