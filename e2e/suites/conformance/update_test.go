// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
)

// edited is what is stored, with changes.
func edited(stored *response, changes ...func(object)) object {
	o := stored.object()
	for _, change := range changes {
		change(o)
	}
	return o
}

func setting(p path, value any) func(object) { return func(o object) { set(o, p, value) } }

var _ = Describe("Update", func() {
	version, label := at("metadata.resourceVersion"), at("metadata.labels.x")
	table(
		behaviour{name: "of the spec raises the generation", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			updated := p.put(ctx, p.item("a"), edited(stored, p.withField(2)), "fieldManager=other")
			p.sawObject("updated", updated)
			p.sawManagers("managers", updated)
			p.sawObject("stored", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "of labels does not raise the generation", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			updated := p.put(ctx, p.item("a"), edited(stored, setting(label, "y")))
			p.sawObject("labelled", updated)
			p.sawManagers("managers", updated)
		}},
		behaviour{
			name: "of annotations does not raise the generation", like: custom, why: "the annotations of a Deployment are copied to its ReplicaSets",
			of: namespaced, does: annotate,
		},
		behaviour{name: "of annotations of a global kind does not raise the generation", of: func(s *subject) bool { return s.global }, does: annotate},
		behaviour{name: "of nothing changes nothing", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.sawObject("by the same manager", p.put(ctx, p.item("a"), stored.object()))
			p.sawObject("by another", p.put(ctx, p.item("a"), stored.object(), "fieldManager=other"))
			p.sawObject("without managed fields", p.put(ctx, p.item("a"), edited(stored, setting(at("metadata.managedFields"), nil))))
			p.sawObject("of the status only", p.put(ctx, p.item("a"), edited(stored, setting(observedGeneration, 7))))
			p.sawObject("of the generation only", p.put(ctx, p.item("a"), edited(stored, setting(at("metadata.generation"), 7))))
		}},
		behaviour{name: "of what changed meanwhile conflicts", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.put(ctx, p.item("a"), edited(stored, setting(label, "y")))
			p.saw("conflict", p.put(ctx, p.item("a"), edited(stored, p.withField(2))))
			p.saw("of nothing", p.put(ctx, p.item("a"), stored.object()))
			p.saw("as a trial", p.put(ctx, p.item("a"), edited(stored, p.withField(2)), "dryRun=All"))
			p.saw("version of nonsense", p.put(ctx, p.item("a"), edited(stored, setting(version, "nonsense"))))
			p.saw("version that is no number of etcd", p.put(ctx, p.item("a"), edited(stored, setting(version, "-1"))))
		}},
		behaviour{
			name: "without a version", like: custom, of: namespaced, why: blindUpdates,
			does: updateBlindly,
		},
		behaviour{name: "without a version, of a global kind", of: func(s *subject) bool { return s.global }, does: updateBlindly},
		behaviour{name: "of what does not exist", does: func(ctx context.Context, p *probe) {
			p.saw("with version", p.put(ctx, p.item("a"), set(p.object("a"), version, "1")))
			p.saw("without", p.put(ctx, p.item("a"), p.object("a")))
			p.saw("with uid", p.put(ctx, p.item("a"), set(set(p.object("a"), version, "1"), at("metadata.uid"), "1")))
		}},
		behaviour{name: "under another name", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.saw("another", p.put(ctx, p.item("a"), edited(stored, setting(at("metadata.name"), "other"))))
			p.saw("none", p.put(ctx, p.item("a"), edited(stored, setting(at("metadata.name"), nil))))
		}},
		behaviour{name: "in another namespace", of: namespaced, does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.saw("another", p.put(ctx, p.item("a"), edited(stored, setting(at("metadata.namespace"), "other"))))
			p.sawObject("none", p.put(ctx, p.item("a"), edited(stored, setting(at("metadata.namespace"), nil))))
		}},
		behaviour{name: "of the UID", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.saw("another", p.put(ctx, p.item("a"), edited(stored, setting(at("metadata.uid"), "11111111-2222-3333-4444-555555555555"))))
			p.sawObject("none", p.put(ctx, p.item("a"), edited(stored, setting(at("metadata.uid"), nil), p.withField(2))))
		}},
		behaviour{name: "of metadata that is the server's", does: func(ctx context.Context, p *probe) {
			for i, change := range []struct {
				field path
				value any
			}{
				{at("metadata.generation"), 77}, {at("metadata.selfLink"), "/x"}, {at("metadata.generateName"), "other-"},
				{at("metadata.creationTimestamp"), "2001-01-01T00:00:00Z"}, {at("metadata.creationTimestamp"), nil},
				{at("metadata.deletionTimestamp"), "2001-01-01T00:00:00Z"},
			} {
				name := fmt.Sprint("a", i)
				stored := p.create(ctx, name)
				p.sawNames(change.field.String(), p.put(ctx, p.item(name), edited(stored, p.withField(2), setting(change.field, change.value))))
				p.sawObject("then", p.get(ctx, p.item(name)))
			}
		}},
		behaviour{name: "of the grace period of a deletion", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.sawNames("updated", p.put(ctx, p.item("a"), edited(stored, p.withField(2), setting(at("metadata.deletionGracePeriodSeconds"), 7))))
		}},
		behaviour{name: "of the spec with an invalid value", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.sawInvalid("refused", p.put(ctx, p.item("a"), edited(stored, setting(p.field, p.invalid))), p.field)
			p.sawObject("unchanged", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "of a field that cannot be changed", of: hasFixed, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.sawInvalid("refused", p.patch(ctx, p.item("a"), mergePatch, p.fixedPatch), p.fixed)
		}},
		behaviour{name: "to another kind", like: builtin, why: typed, does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.saw("kind", p.put(ctx, p.item("a"), edited(stored, setting(at("kind"), "Other"))))
			p.saw("version", p.put(ctx, p.item("a"), edited(stored, setting(at("apiVersion"), "other/v1"))))
		}},
		behaviour{name: "as a trial", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.sawObject("trial", p.put(ctx, p.item("a"), edited(stored, p.withField(2)), "dryRun=All"))
			p.sawObject("unchanged", p.get(ctx, p.item("a")))
			p.sawInvalid("invalid", p.put(ctx, p.item("a"), edited(stored, setting(p.field, p.invalid)), "dryRun=All"), p.field)
		}},
		behaviour{name: "of managed fields", does: updateManagers},
		behaviour{name: "by several managers", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.sawManagers("a label by another", p.put(ctx, p.item("a"), edited(stored, setting(label, "y")), "fieldManager=other"))
			stored = p.get(ctx, p.item("a"))
			p.sawManagers("the field by another", p.put(ctx, p.item("a"), edited(stored, p.withField(2)), "fieldManager=other"))
			stored = p.get(ctx, p.item("a"))
			p.sawManagers("the label removed", p.put(ctx, p.item("a"), edited(stored, setting(label, nil)), "fieldManager=third"))
		}},
	)
})

// blindUpdates is why convoy follows custom resources in what has no version.
const blindUpdates = "Deployments are from a time in which an update could go without a version; where it cannot, nobody overwrites what he has not seen"

func annotate(ctx context.Context, p *probe) {
	stored := p.create(ctx, "a")
	p.sawObject("annotated", p.put(ctx, p.item("a"), edited(stored, setting(at("metadata.annotations"), object{"x": "y"}))))
}

func updateBlindly(ctx context.Context, p *probe) {
	version := at("metadata.resourceVersion")
	stored := p.create(ctx, "a")
	p.saw("none", p.put(ctx, p.item("a"), edited(stored, setting(version, nil), p.withField(2))))
	p.saw("empty", p.put(ctx, p.item("a"), edited(stored, setting(version, ""), p.withField(2))))
	p.saw("zero", p.put(ctx, p.item("a"), edited(stored, setting(version, "0"), p.withField(2))))
	p.sawObject("stored", p.get(ctx, p.item("a")))
}

func updateManagers(ctx context.Context, p *probe) {
	managers := at("metadata.managedFields")
	stored := p.create(ctx, "a")
	reset := p.put(ctx, p.item("a"), edited(stored, setting(managers, []any{object{}})))
	p.sawObject("reset", reset)
	p.sawManagers("managers after", reset)
	p.sawManagers("and after a change", p.put(ctx, p.item("a"), edited(reset, p.withField(2))))
	stored = p.get(ctx, p.item("a"))
	p.sawManagers("none given", p.put(ctx, p.item("a"), edited(stored, setting(managers, nil))))
	p.sawManagers("empty given", p.put(ctx, p.item("a"), edited(stored, setting(managers, []any{}))))
	p.sawManagers("reset by merge patch", p.patch(ctx, p.item("a"), mergePatch, object{"metadata": object{"managedFields": []any{object{}}}}))
	p.patch(ctx, p.item("a"), mergePatch, p.change(3))
	p.sawManagers("reset by JSON patch", p.patch(ctx, p.item("a"), jsonPatch, []any{object{"op": "replace", "path": "/metadata/managedFields", "value": []any{object{}}}}))
	stored = p.get(ctx, p.item("a"))
	faulty := object{"manager": "other", "operation": "Update", "apiVersion": "no/such/version", "fieldsType": "FieldsV1", "fieldsV1": object{"f:x": object{}}}
	p.sawManagers("faulty entry", p.put(ctx, p.item("a"), edited(stored, setting(managers, []any{faulty}))))
}
