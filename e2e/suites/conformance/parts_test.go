// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// parts are subresources that write one field of an object. The status of a built-in kind
// shows how such a subresource is to be; the first of them is compared with the others.
func parts() []*subject {
	part := func(kind, name, field, managed string, values ...any) *subject {
		s := *find(kind)
		s.part, s.field, s.managed, s.items = name, at(field), managed, nil
		copy(s.values[:], values)
		return &s
	}
	pin := func(revision string) any { return object{"revision": revision} }
	mutations := func(patch string) any {
		return []any{object{"name": "m", "type": "strategic", "target": object{}, "patch": patch}}
	}
	hooks := func(message string) any {
		return object{"hooks": []any{object{"name": "h", "on": "preSync", "phase": "running", "message": message}}}
	}
	return []*subject{
		part("Deployment", "status", "status.observedGeneration", "", 1, 2, 3),
		part("Release", "status", "status.observedGeneration", "", 1, 2, 3),
		part("Release", "pin", "spec.pin", "spec.pin.revision", pin("a"), pin("b"), pin("c")),
		part("Release", "mutations", "spec.mutations", `spec.mutations[{"name":"m"}].patch`, mutations("a: 1"), mutations("a: 2"), mutations("a: 3")),
		part("Release", "lifecycle", "status.lifecycle", `status.lifecycle.hooks[{"name":"h"}].message`, hooks("a"), hooks("b"), hooks("c")),
	}
}

var _ = Describe("A subresource that writes a part", func() {
	without := func(p *probe) func(object) { return setting(p.field, nil) }
	for _, b := range []behaviour{
		{name: "is read", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a", without(p))
			p.sawObject("get", p.get(ctx, p.item("a", p.part)))
			p.saw("get nobody", p.get(ctx, p.item("b", p.part)))
			p.sawTable("table", p.in(ctx, tableType, p.item("a", p.part)))
		}},
		{name: "is replaced, and nothing else with it", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a", without(p))
			replaced := p.put(ctx, p.item("a", p.part), edited(stored, p.withField(1), setting(at("metadata.labels.x"), "y")), "fieldManager=me")
			p.sawObject("put", replaced)
			p.sawManagers("managers", replaced)
			p.sawObject("again", p.put(ctx, p.item("a", p.part), replaced.object()))
			p.saw("old", p.put(ctx, p.item("a", p.part), edited(stored, p.withField(2))))
			p.saw("another name", p.put(ctx, p.item("a", p.part), edited(replaced, setting(at("metadata.name"), "b"))))
			p.saw("another uid", p.put(ctx, p.item("a", p.part), edited(replaced, setting(at("metadata.uid"), "11111111-2222-3333-4444-555555555555"))))
			p.saw("nobody", p.put(ctx, p.item("b", p.part), set(p.object("b"), at("metadata.resourceVersion"), "1")))
			p.sawObject("removed", p.put(ctx, p.item("a", p.part), edited(replaced, without(p))))
		}},
		{name: "is patched", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a", without(p))
			patched := p.patch(ctx, p.item("a", p.part), mergePatch, set(p.change(1), at("metadata.labels.x"), "y"))
			p.sawObject("merge patch", patched)
			p.sawManagers("managers", patched)
			p.sawObject("again", p.patch(ctx, p.item("a", p.part), mergePatch, p.change(1)))
			p.sawObject("JSON patch", p.patch(ctx, p.item("a", p.part), jsonPatch, []any{operation("replace", p.field.pointer(), p.values[1])}))
			p.sawObject("trial", p.patch(ctx, p.item("a", p.part), mergePatch, p.change(3), "dryRun=All"))
			p.saw("old", p.patch(ctx, p.item("a", p.part), mergePatch, set(p.change(3), at("metadata.resourceVersion"), patched.version())))
			p.saw("unknown field", p.patch(ctx, p.item("a", p.part), mergePatch, set(p.change(3), at("spec.nonsense"), 1), "fieldValidation=Strict"))
			p.saw("nobody", p.patch(ctx, p.item("b", p.part), mergePatch, p.change(1)))
			p.sawObject("stored", p.get(ctx, p.item("a")))
		}},
		{name: "is applied", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a", without(p))
			path := p.item("a", p.part)
			apply := func(manager string, value int, parameters ...string) *response {
				return p.patch(ctx, path, applyPatch, set(p.identity("a"), p.field, p.values[value-1]), append(parameters, "fieldManager="+manager)...)
			}
			applied := apply("me", 1)
			p.sawObject("applied", applied)
			p.sawManagers("managers", applied)
			p.sawObject("again", apply("me", 1))
			p.sawConflict("by another", apply("other", 2))
			forced := apply("other", 2, "force=true")
			p.sawObject("forced", forced)
			p.sawManagers("managers", forced)
			p.saw("to nobody", p.patch(ctx, p.item("b", p.part), applyPatch, set(p.identity("b"), p.field, p.values[0]), "fieldManager=me"))
		}},
		{name: "cannot do more", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a", without(p))
			p.saw("post", p.post(ctx, p.item("a", p.part), p.object("a")))
			p.saw("delete", p.remove(ctx, p.item("a", p.part), nil))
			p.saw("watch", p.get(ctx, p.item("a", p.part), "watch=true", "timeoutSeconds=1"))
		}},
		{name: "needs rights of its own", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a", without(p))
			u := user{p}
			u.grant(ctx, p.plural, nil, "get", "update", "patch")
			stored := p.get(ctx, p.item("a")).object()
			p.saw("get", u.send(ctx, "GET", p.item("a", p.part), nil, ""))
			p.saw("put", u.send(ctx, "PUT", p.item("a", p.part), stored, jsonType))
			p.saw("patch", u.send(ctx, "PATCH", p.item("a", p.part), p.change(1), mergePatch))
			u.grant(ctx, p.plural+"/"+p.part, nil, "patch")
			p.note("granted", u.send(ctx, "PATCH", p.item("a", p.part), p.change(1), mergePatch).code)
		}},
	} {
		It(b.name, func(ctx SpecContext) {
			all := parts()
			seen := observe(ctx, b, all)
			var differences []string
			for _, s := range all[1:] {
				// A part of the spec raises the generation, one of the status does not.
				if text := difference(withoutGeneration(seen[all[0]]), withoutGeneration(seen[s])); text != "" {
					differences = append(differences, s.plural+"/"+s.part+" is not like "+all[0].plural+"/"+all[0].part+":"+text)
				}
			}
			if len(differences) > 0 {
				Fail(strings.Join(differences, "\n"))
			}
		}, NodeTimeout(behaviourTimeout))
	}
})

func withoutGeneration(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.Contains(line, "metadata.generation = ") })
}
