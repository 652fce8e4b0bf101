// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// owner is an owner reference; changes are done to it.
func owner(changes object) object {
	reference := object{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "11111111-2222-3333-4444-555555555555"}
	for key, value := range changes {
		reference[key] = value
	}
	return reference
}

var _ = Describe("Metadata", func() {
	faulty := map[string]func(object){
		"a name with capitals":      func(o object) { set(o, at("metadata.name"), "Bad_Name") },
		"a name that is too long":   func(o object) { set(o, at("metadata.name"), strings.Repeat("a", 254)) },
		"a name with a slash":       func(o object) { set(o, at("metadata.name"), "a/b") },
		"a label key":               func(o object) { o["metadata"].(object)["labels"].(object)["a b"] = "c" },
		"a label value":             func(o object) { o["metadata"].(object)["labels"].(object)["a"] = "c d" },
		"a long label value":        func(o object) { o["metadata"].(object)["labels"].(object)["a"] = strings.Repeat("a", 64) },
		"an annotation key":         func(o object) { set(o, at("metadata.annotations"), object{"a b": "c"}) },
		"annotations of 256 KiB":    func(o object) { set(o, at("metadata.annotations"), object{"a": strings.Repeat("a", 256<<10)}) },
		"a finalizer without slash": func(o object) { set(o, at("metadata.finalizers"), []any{"hold"}) },
		"a finalizer":               func(o object) { set(o, at("metadata.finalizers"), []any{"no such/a b"}) },
		"two finalizers of propagation": func(o object) {
			set(o, at("metadata.finalizers"), []any{"orphan", "foregroundDeletion"})
		},
		"an owner without uid":        func(o object) { set(o, at("metadata.ownerReferences"), []any{owner(object{"uid": ""})}) },
		"an owner without name":       func(o object) { set(o, at("metadata.ownerReferences"), []any{owner(object{"name": ""})}) },
		"an owner without kind":       func(o object) { set(o, at("metadata.ownerReferences"), []any{owner(object{"kind": ""})}) },
		"an owner of a wrong version": func(o object) { set(o, at("metadata.ownerReferences"), []any{owner(object{"apiVersion": "a/b/c"})}) },
		"an event as owner":           func(o object) { set(o, at("metadata.ownerReferences"), []any{owner(object{"kind": "Event"})}) },
		"two controllers": func(o object) {
			set(o, at("metadata.ownerReferences"), []any{owner(object{"controller": true}), owner(object{"controller": true, "uid": "2", "name": "other"})})
		},
		"the same owner twice": func(o object) {
			set(o, at("metadata.ownerReferences"), []any{owner(nil), owner(nil)})
		},
		"a generateName with capitals": func(o object) {
			set(o, at("metadata.name"), nil)
			set(o, at("metadata.generateName"), "Bad_Name-")
		},
	}
	var behaviours []behaviour
	for name, fault := range faulty {
		takes := func(s *subject) bool { return !strings.Contains(name, "ame") || freelyNamed(s) }
		b := behaviour{name: "refuses, or takes, " + name, of: takes, does: func(ctx context.Context, p *probe) {
			o := p.object("a")
			fault(o)
			p.sawMetadata("create", p.post(ctx, p.collection(), o))
			if strings.Contains(name, "a name") || strings.Contains(name, "generateName") {
				return // nobody is renamed
			}
			p.create(ctx, "b")
			o = p.object("b")
			fault(o)
			p.sawMetadata("patch", p.patch(ctx, p.item("b"), mergePatch, object{"metadata": object{
				"labels": get(o, at("metadata.labels")), "annotations": get(o, at("metadata.annotations")),
				"finalizers": get(o, at("metadata.finalizers")), "ownerReferences": get(o, at("metadata.ownerReferences")),
			}}))
		}}
		switch name {
		case "a finalizer without slash":
			b.like, b.why = custom, "which finalizers are standard ones is known of built-in kinds only"
		}
		behaviours = append(behaviours, b)
	}
	table(behaviours...)

	table(
		behaviour{
			name: "that is faulty is told of together with a faulty spec",
			does: func(ctx context.Context, p *probe) {
				label := setting(at("metadata.labels.x"), "no label")
				o := set(p.object("a"), p.field, p.invalid)
				label(o)
				p.note("create", p.causes(p.post(ctx, p.collection(), o), p.field))
				stored := p.create(ctx, "a")
				p.note("update", p.causes(p.put(ctx, p.item("a"), edited(stored, label, setting(p.field, p.invalid))), p.field))
			},
		},
		behaviour{name: "of many kinds is stored as it is given", does: func(ctx context.Context, p *probe) {
			created := p.create(ctx, "a", withFinalizer, func(o object) {
				set(o, at("metadata.annotations"), object{"a/b": "c\nd", "e": ""})
				set(o, at("metadata.ownerReferences"), []any{owner(object{"controller": true, "blockOwnerDeletion": true})})
				o["metadata"].(object)["labels"].(object)["x/y"] = ""
			})
			p.sawObject("created", created)
			p.sawManagers("managers", created)
		}},
		behaviour{name: "of odd names in the path", does: func(ctx context.Context, p *probe) {
			for _, name := range []string{"A", "a_b", "a%20b", "a%2Fb", "..", "%2e%2e", strings.Repeat("a", 300), "%00"} {
				r := p.send(ctx, request{path: p.collection() + "/" + name})
				p.note(fmt.Sprintf("get %.20s", name), []any{r.code, r.string(at("reason")), r.string(at("kind"))})
			}
		}},
	)
})

// sawMetadata notes an answer to an object whose metadata may be at fault, with the words:
// they come from one library for all kinds.
func (p *probe) sawMetadata(step string, r *response) {
	if r.code < 300 {
		p.saw(step, r)
		return
	}
	p.sawNames(step, r)
}
