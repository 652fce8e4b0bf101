// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
)

// apply applies an object, as YAML's subset JSON.
func (p *probe) apply(ctx context.Context, name, manager string, o object, parameters ...string) *response {
	GinkgoHelper()
	return p.patch(ctx, p.item(name), applyPatch, o, append([]string{"fieldManager=" + manager}, parameters...)...)
}

var _ = Describe("Apply", func() {
	label := at("metadata.labels.x")
	table(
		behaviour{name: "creates, and applied again changes nothing", does: func(ctx context.Context, p *probe) {
			created := p.apply(ctx, "a", "me", p.object("a"))
			p.sawObject("created", created)
			p.sawManagers("managers", created)
			again := p.apply(ctx, "a", "me", p.object("a"))
			p.sawObject("again", again)
			p.sawManagers("managers", again)
			p.sawObject("changed", p.apply(ctx, "a", "me", set(p.object("a"), p.field, p.values[1])))
			p.sawObject("again", p.apply(ctx, "a", "me", set(p.object("a"), p.field, p.values[1])))
		}},
		behaviour{name: "does not own defaults", of: hasEnum, does: func(ctx context.Context, p *probe) {
			created := p.apply(ctx, "a", "me", p.object("a"))
			p.note("has its default", p.hasDefault(created.object()))
			p.detailed = true
			p.sawManagers("managers", created)
		}},
		behaviour{name: "conflicts with other managers, unless forced", of: hasScalar, does: func(ctx context.Context, p *probe) {
			p.apply(ctx, "a", "me", p.object("a"))
			other := set(p.identity("a"), p.field, p.values[0])
			p.sawManagers("the same value is shared", p.apply(ctx, "a", "other", other))
			p.patch(ctx, p.item("a"), mergePatch, p.change(2), "fieldManager=updater")
			p.sawManagers("an update takes it", p.get(ctx, p.item("a")))
			conflict := p.apply(ctx, "a", "me", p.object("a"))
			p.sawConflict("conflict", conflict)
			p.sawConflict("as a trial", p.apply(ctx, "a", "me", p.object("a"), "dryRun=All"))
			p.sawObject("unchanged", p.get(ctx, p.item("a")))
			forced := p.apply(ctx, "a", "me", p.object("a"), "force=true")
			p.sawObject("forced", forced)
			p.sawManagers("managers", forced)
		}},
		behaviour{name: "removes what is not applied any more", does: func(ctx context.Context, p *probe) {
			p.apply(ctx, "a", "me", set(p.object("a"), label, "y"))
			p.apply(ctx, "a", "other", set(p.identity("a"), at("metadata.labels.z"), "y"))
			removed := p.apply(ctx, "a", "me", p.object("a"))
			p.sawObject("removed", removed)
			p.sawManagers("managers", removed)
			removed = p.apply(ctx, "a", "other", p.identity("a"))
			p.sawObject("by the other", removed)
			p.sawManagers("managers", removed)
		}},
		behaviour{name: "merges items that several managers apply", of: hasItems, does: applyItems},
		behaviour{name: "after a change by update conflicts only with that", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			applied := p.apply(ctx, "a", "me", set(p.identity("a"), p.field, p.values[0]))
			p.sawManagers("shared", applied)
			p.sawConflict("another value", p.apply(ctx, "a", "me", set(p.identity("a"), p.field, p.values[1])))
			p.sawManagers("forced", p.apply(ctx, "a", "me", set(p.identity("a"), p.field, p.values[1]), "force=true"))
		}},
		behaviour{name: "without a manager", does: func(ctx context.Context, p *probe) {
			p.saw("none", p.patch(ctx, p.item("a"), applyPatch, p.object("a")))
			p.saw("empty", p.patch(ctx, p.item("a"), applyPatch, p.object("a"), "fieldManager="))
		}},
		behaviour{name: "with faulty objects", does: func(ctx context.Context, p *probe) {
			p.saw("no kind", p.apply(ctx, "a", "me", set(p.object("a"), at("kind"), nil)))
			p.saw("no version", p.apply(ctx, "a", "me", set(p.object("a"), at("apiVersion"), nil)))
			p.saw("another name", p.apply(ctx, "a", "me", p.object("b")))
			p.saw("no name", p.apply(ctx, "a", "me", set(p.object("a"), at("metadata.name"), nil)))
			p.saw("managed fields", p.apply(ctx, "a", "me", set(p.object("a"), at("metadata.managedFields"), []any{object{}})))
			p.saw("no YAML", p.patch(ctx, p.item("a"), applyPatch, "{[", "fieldManager=me"))
			p.saw("a list", p.patch(ctx, p.item("a"), applyPatch, "[]", "fieldManager=me"))
			p.saw("nothing", p.patch(ctx, p.item("a"), applyPatch, "", "fieldManager=me"))
			p.saw("a version", p.apply(ctx, "a", "me", set(p.object("a"), at("metadata.resourceVersion"), "1")))
		}},
		behaviour{name: "of another kind", does: func(ctx context.Context, p *probe) {
			p.saw("kind", p.apply(ctx, "a", "me", set(p.object("a"), at("kind"), "Other")))
			p.saw("group", p.apply(ctx, "a", "me", set(p.object("a"), at("apiVersion"), "other/v1")))
			p.saw("version", p.apply(ctx, "a", "me", set(p.object("a"), at("apiVersion"), p.group+"/v7")))
		}},
		behaviour{name: "in another namespace", of: namespaced, does: func(ctx context.Context, p *probe) {
			p.saw("another", p.apply(ctx, "a", "me", set(p.object("a"), at("metadata.namespace"), "other")))
			p.sawObject("none", p.apply(ctx, "a", "me", set(p.object("a"), at("metadata.namespace"), nil)))
			path := "/apis/" + p.groupVersion() + "/namespaces/nowhere/" + p.plural + "/a"
			p.saw("that does not exist", p.patch(ctx, path, applyPatch, set(p.object("a"), at("metadata.namespace"), "nowhere"), "fieldManager=me"))
		}},
		behaviour{name: "with a version", does: func(ctx context.Context, p *probe) {
			version := at("metadata.resourceVersion")
			created := p.apply(ctx, "a", "me", p.object("a"))
			p.sawObject("of now", p.apply(ctx, "a", "me", set(set(p.object("a"), version, created.version()), p.field, p.values[1])))
			p.saw("of then", p.apply(ctx, "a", "me", set(set(p.object("a"), version, created.version()), p.field, p.values[2])))
		}},
		behaviour{name: "with another uid", like: builtin, why: validatedTwice, does: func(ctx context.Context, p *probe) {
			another := "11111111-2222-3333-4444-555555555555"
			p.saw("of nothing", p.apply(ctx, "a", "me", set(p.object("a"), at("metadata.uid"), another)))
			created := p.apply(ctx, "a", "me", p.object("a"))
			p.saw("of another", p.apply(ctx, "a", "me", set(p.object("a"), at("metadata.uid"), another)))
			p.sawObject("of this", p.apply(ctx, "a", "me", set(p.object("a"), at("metadata.uid"), created.string(at("metadata.uid")))))
		}},
		behaviour{name: "with an unknown field", decided: "docs/limits.md", does: func(ctx context.Context, p *probe) {
			for _, mode := range []string{"Strict", "Warn", "Ignore"} {
				p.saw(mode, p.apply(ctx, "a", "me", set(p.object("a"), at("spec.nonsense"), 1), "fieldValidation="+mode))
			}
			p.saw("default", p.apply(ctx, "a", "me", set(p.object("a"), at("metadata.nonsense"), 1)))
		}},
		behaviour{name: "with a doubled field", does: func(ctx context.Context, p *probe) {
			for _, mode := range []string{"Strict", "Warn", "Ignore"} {
				yaml := "apiVersion: " + p.groupVersion() + "\nkind: " + p.kind + "\nkind: " + p.kind + "\nmetadata: {name: " + p.name("a") + "}\nspec: " + encoded(p.object("a")["spec"])
				p.saw(mode, p.patch(ctx, p.item("a"), applyPatch, yaml, "fieldManager=me", "fieldValidation="+mode))
			}
		}},
		behaviour{name: "with two items of one name", decided: "docs/limits.md", of: hasItems, does: func(ctx context.Context, p *probe) {
			p.saw("refused", p.apply(ctx, "a", "me", set(p.object("a"), p.items, []any{p.build("x", "Va"), p.build("x", "Vb")})))
		}},
		behaviour{name: "with a value of a wrong type", decided: "docs/limits.md", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.saw("refused", p.apply(ctx, "a", "me", set(p.object("a"), p.field, object{"x": "y"})))
		}},
		behaviour{name: "as a trial", does: func(ctx context.Context, p *probe) {
			trial := p.apply(ctx, "a", "me", p.object("a"), "dryRun=All")
			p.note("create", []any{trial.code, p.fieldValue(trial.object()), trial.version() == ""})
			p.saw("not stored", p.get(ctx, p.item("a")))
			p.apply(ctx, "a", "me", p.object("a"))
			p.sawObject("change", p.apply(ctx, "a", "me", set(p.object("a"), p.field, p.values[1]), "dryRun=All"))
			p.sawObject("stored", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "after the managed fields were reset", of: namespaced, does: func(ctx context.Context, p *probe) {
			p.apply(ctx, "a", "me", p.object("a"))
			p.patch(ctx, p.item("a"), mergePatch, object{"metadata": object{"managedFields": []any{object{}}}})
			applied := p.apply(ctx, "a", "me", p.object("a"))
			p.sawObject("applied", applied)
			p.sawManagers("managers", applied)
		}},
		behaviour{name: "by update and apply of one name are two managers", does: func(ctx context.Context, p *probe) {
			p.apply(ctx, "a", "me", p.object("a"))
			p.patch(ctx, p.item("a"), mergePatch, p.change(2), "fieldManager=me")
			p.sawManagers("managers", p.get(ctx, p.item("a")))
			p.sawConflict("conflict", p.apply(ctx, "a", "me", p.object("a")))
		}},
	)
})

// applyItems lets two managers each own an item and one value of a third.
func applyItems(ctx context.Context, p *probe) {
	p.detailed = true
	withItems := func(o object, items ...any) object {
		if p.kind == "Deployment" { // it came with an item, that its first manager must keep
			items = append(items, p.build("main", "a"))
		}
		return set(o, p.items, items)
	}
	p.sawObject("first", p.apply(ctx, "a", "me", withItems(p.object("a"), p.build("x", "Va"), p.build("y", "Va"))))
	second := p.apply(ctx, "a", "other", set(p.identity("a"), p.items, []any{p.build("z", "Va"), p.build("y", "Va")}))
	p.sawObject("second", second)
	p.sawManagers("managers", second)
	p.sawConflict("another value", p.apply(ctx, "a", "other", set(p.identity("a"), p.items, []any{p.build("z", "Va"), p.build("y", "Vb")})))
	third := p.apply(ctx, "a", "me", withItems(p.object("a"), p.build("y", "Va")))
	p.sawObject("third", third)
	p.sawManagers("managers", third)
	p.sawObject("fourth", p.apply(ctx, "a", "other", p.identity("a")))
}

// sawConflict notes a conflict of managers. How the fields of a kind are called is left out.
func (p *probe) sawConflict(step string, r *response) {
	status := r.object()
	var causes []any
	for _, cause := range p.differentCauses(status) {
		where, _ := cause["field"].(string)
		message, _ := cause["message"].(string)
		causes = append(causes, object{"reason": cause["reason"], "message": p.text(message), "of the field": p.field.holds(where), "of an item": p.items.known() && p.items.holds(where)})
	}
	p.note(step, object{"code": r.code, "reason": status["reason"], "causes": causes, "details": get(status, at("details.name"))})
}
