// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// goTypes is why convoy follows built-in kinds where one value has several spellings.
const goTypes = "values pass through Go types, which know that two spellings are one value; a schema knows texts"

// ownersOf are the managers that own the field or something below.
func (r *record) ownersOf(o object, p path) []string {
	list, _ := get(o, at("metadata.managedFields")).([]any)
	owners := []string{}
	for _, item := range list {
		entry, _ := item.(object)
		fields, _ := entry["fieldsV1"].(object)
		flatten(fields, "", func(name string) {
			if p.holds(name) {
				owners = append(owners, fmt.Sprint(entry["manager"], " by ", entry["operation"]))
			}
		})
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// sawField notes an answer: what became of a field, who owns it, and whether anything was
// written.
func (p *probe) sawField(step string, r *response, field path) {
	GinkgoHelper()
	if r.code >= 300 {
		p.note(step, object{"code": r.code, "reason": r.string(at("reason")), "causes": len(p.differentCauses(r.object()))})
		return
	}
	o := r.object()
	p.note(step, object{"code": r.code, "version": p.symbol("version", r.version()), "generation": get(o, at("metadata.generation")), "given": get(o, field) != nil, "owners": p.ownersOf(o, field)})
}

var _ = Describe("Spelling", func() {
	table(
		behaviour{
			name: "of a value that is stored in another spelling", of: func(s *subject) bool { return s.spelled != nil }, like: builtin,
			why: goTypes,
			does: func(ctx context.Context, p *probe) {
				given, stored := setting(p.spelled, p.given), setting(p.spelled, p.stored)
				with := func(change func(object)) object {
					o := p.object("a")
					change(o)
					return o
				}
				applied := p.apply(ctx, "a", "me", with(given))
				p.sawField("applied", applied, p.spelled)
				p.note("is stored as expected", strings.Contains(encoded(get(applied.object(), p.spelled)), strings.Trim(encoded(p.stored), "[{}]")) || p.kind == "Deployment")
				p.sawField("applied again", p.apply(ctx, "a", "me", with(given)), p.spelled)
				p.sawField("applied as stored", p.apply(ctx, "a", "me", with(stored)), p.spelled)
				p.sawField("applied again as given", p.apply(ctx, "a", "me", with(given)), p.spelled)
				p.sawField("put as given", p.put(ctx, p.item("a"), edited(p.get(ctx, p.item("a")), given)), p.spelled)
				p.sawField("merged as given", p.patch(ctx, p.item("a"), mergePatch, containing(p.spelled, p.given)), p.spelled)
				p.sawField("applied by another as stored", p.apply(ctx, "a", "other", set(p.identity("a"), p.spelled, p.stored)), p.spelled)
				p.sawField("applied by a third as given", p.apply(ctx, "a", "third", set(p.identity("a"), p.spelled, p.given)), p.spelled)
			},
		},
		behaviour{
			name: "of a time that is given in another zone", of: hasConditions, like: builtin,
			why: goTypes,
			does: func(ctx context.Context, p *probe) {
				p.create(ctx, "a")
				given := condition("Ready", "True")
				given["lastTransitionTime"] = "2026-01-01T02:00:00+02:00"
				applied := set(p.identity("a"), conditions, []any{given})
				path := p.item("a", "status")
				p.sawField("applied", p.patch(ctx, path, applyPatch, applied, "fieldManager=me"), conditions)
				p.sawField("applied again", p.patch(ctx, path, applyPatch, applied, "fieldManager=me"), conditions)
				same := set(p.identity("a"), conditions, []any{condition("Ready", "True")})
				p.sawField("applied in this zone", p.patch(ctx, path, applyPatch, same, "fieldManager=me"), conditions)
				p.sawField("put", p.put(ctx, path, edited(p.get(ctx, path), setting(conditions, []any{given}))), conditions)
			},
		},
		behaviour{
			name: "of what is false", of: func(s *subject) bool { return s.flag != nil }, like: builtin,
			why: goTypes,
			does: func(ctx context.Context, p *probe) {
				given := func() object { return set(p.object("a"), p.flag, false) }
				p.sawField("applied", p.apply(ctx, "a", "me", given()), p.flag)
				p.sawField("applied again", p.apply(ctx, "a", "me", given()), p.flag)
				p.sawField("applied by another", p.apply(ctx, "a", "other", set(p.identity("a"), p.flag, false)), p.flag)
				p.sawField("merged", p.patch(ctx, p.item("a"), mergePatch, containing(p.flag, false)), p.flag)
				p.sawField("removed", p.patch(ctx, p.item("a"), jsonPatch, []any{object{"op": "add", "path": p.flag.pointer(), "value": false}, object{"op": "remove", "path": p.flag.pointer()}}), p.flag)
				p.sawField("applied otherwise", p.apply(ctx, "a", "other", set(p.identity("a"), p.flag, true)), p.flag)
				p.sawField("applied as before", p.apply(ctx, "a", "me", given()), p.flag)
			},
		},
		behaviour{
			name: "of a list that is empty", of: func(s *subject) bool { return s.optional != nil }, like: builtin,
			why: goTypes,
			does: func(ctx context.Context, p *probe) {
				empty := setting(p.optional, []any{})
				stored := p.create(ctx, "a")
				p.sawField("created", stored, p.optional)
				p.sawField("put", p.put(ctx, p.item("a"), edited(stored, empty)), p.optional)
				p.sawField("merged", p.patch(ctx, p.item("a"), mergePatch, containing(p.optional, []any{})), p.optional)
				p.sawField("applied", p.apply(ctx, "a", "me", set(p.identity("a"), p.optional, []any{})), p.optional)
				p.sawField("applied again", p.apply(ctx, "a", "me", set(p.identity("a"), p.optional, []any{})), p.optional)
			},
		},
		behaviour{name: "of values of any kind", of: func(s *subject) bool { return s.free != nil }, like: custom, why: "no built-in kind takes values of any kind in its spec", does: freeValues},
	)
})

// freeValues sends values in all ways, and notes how they are read.
func freeValues(ctx context.Context, p *probe) {
	for i, value := range []string{
		`{"a":null}`, `{"a":{}}`, `{"a":[]}`, `{"a":""}`, `{"a":0}`, `{"a":9007199254740993}`, `{"a":1.5}`, `{"a":-0.25}`, `{"a":true}`,
		`{"a":"<b>&'\u2028"}`, `{"b":1,"a":[1,"x",null,{"c":[]}]}`, `{"a.b/c~d":{"":1}}`, `{}`,
	} {
		name := fmt.Sprint("a", i)
		const mark = `"VALUE"`
		body := strings.Replace(encoded(set(p.object(name), p.free, "VALUE")), mark, value, 1)
		p.note("created "+value, p.freeValue(p.post(ctx, p.collection(), body)))
		p.note("read", p.freeValue(p.get(ctx, p.item(name))))
		again := strings.Replace(encoded(edited(p.get(ctx, p.item(name)), setting(p.free, "VALUE"))), mark, value, 1)
		p.note("put again", p.freeValue(p.put(ctx, p.item(name), again)))
		name += "-applied"
		body = strings.Replace(encoded(set(p.object(name), p.free, "VALUE")), mark, value, 1)
		first := p.patch(ctx, p.item(name), applyPatch, body, "fieldManager=me")
		p.note("applied", p.freeValue(first))
		second := p.patch(ctx, p.item(name), applyPatch, body, "fieldManager=me")
		p.note("applied again", []any{p.freeValue(second), first.version() == second.version()})
	}
	p.create(ctx, "merged", setting(p.free, object{"a": 1, "b": object{"c": 1, "d": []any{1, 2}}}))
	p.note("merged", p.freeValue(p.patch(ctx, p.item("merged"), mergePatch, containing(p.free, object{"a": nil, "b": object{"c": 2, "e": "x"}}))))
	p.note("strict", p.post(ctx, p.collection(), set(p.object("strict"), p.free, object{"a": 1}), "fieldValidation=Strict").code)
}

// freeValue is the value as it stands in the answer, with the generation.
func (p *probe) freeValue(r *response) string {
	GinkgoHelper()
	if r.code >= 300 {
		return p.text(fmt.Sprint(r.code, " ", r.string(at("message"))))
	}
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	decoder.UseNumber()
	var o object
	Expect(decoder.Decode(&o)).To(Succeed())
	return fmt.Sprint(encoded(get(o, p.free)), " in generation ", get(o, at("metadata.generation")))
}
