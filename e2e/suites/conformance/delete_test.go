// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var finalizers = at("metadata.finalizers")

var _ = Describe("Deletion", func() {
	table(
		behaviour{name: "answers with a status", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("deleted", p.remove(ctx, p.item("a"), nil))
			p.saw("gone", p.get(ctx, p.item("a")))
			p.saw("again", p.remove(ctx, p.item("a"), nil))
		}},
		behaviour{name: "of what a finalizer holds", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a", withFinalizer)
			p.sawObject("deleted", p.remove(ctx, p.item("a"), nil))
			p.sawObject("stored", p.get(ctx, p.item("a")))
			p.sawObject("again", p.remove(ctx, p.item("a"), nil))
			p.saw("created meanwhile", p.post(ctx, p.collection(), p.object("a")))
			last := p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"finalizers":null}}`)
			p.sawObject("the finalizer removed", last)
			p.saw("gone", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "ends when the finalizer is removed in any way", does: func(ctx context.Context, p *probe) {
			for _, name := range []string{"put", "json", "apply"} {
				p.create(ctx, name, withFinalizer)
				p.remove(ctx, p.item(name), nil)
			}
			stored := p.get(ctx, p.item("put"))
			p.sawObject("put", p.put(ctx, p.item("put"), edited(stored, setting(finalizers, nil))))
			p.saw("gone", p.get(ctx, p.item("put")))
			p.sawObject("JSON patch", p.patch(ctx, p.item("json"), jsonPatch, []any{object{"op": "remove", "path": "/metadata/finalizers"}}))
			p.saw("gone", p.get(ctx, p.item("json")))
		}},
		behaviour{name: "ends when the finalizer is not applied any more", does: func(ctx context.Context, p *probe) {
			held := p.object("a")
			withFinalizer(held)
			p.apply(ctx, "a", "me", held)
			p.remove(ctx, p.item("a"), nil)
			p.sawObject("applied", p.apply(ctx, "a", "me", p.object("a")))
			p.saw("gone", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "that has begun leaves the object to be changed, but for its finalizers", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a", withFinalizer)
			p.remove(ctx, p.item("a"), nil)
			p.sawObject("the spec", p.patch(ctx, p.item("a"), mergePatch, p.change(2)))
			p.sawObject("the status", p.patch(ctx, p.item("a", "status"), mergePatch, containing(observedGeneration, 1)))
			p.sawObject("no change", p.patch(ctx, p.item("a"), mergePatch, object{}))
			p.sawNames("another finalizer", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"finalizers":["convoy.test/hold","convoy.test/other"]}}`))
			p.sawObject("deletion taken back", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"deletionTimestamp":null,"deletionGracePeriodSeconds":null}}`))
		}},
		behaviour{name: "that has begun cannot be postponed", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a", withFinalizer)
			p.remove(ctx, p.item("a"), nil)
			p.sawNames("postponed", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"deletionTimestamp":"2099-01-01T00:00:00Z"}}`))
			p.sawNames("grace", p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"deletionGracePeriodSeconds":77}}`))
		}},
		behaviour{name: "with preconditions", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			precondition := func(name, value string) object {
				return object{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": object{name: value}}
			}
			p.saw("another uid", p.remove(ctx, p.item("a"), precondition("uid", "11111111-2222-3333-4444-555555555555")))
			p.saw("another version", p.remove(ctx, p.item("a"), precondition("resourceVersion", "1")))
			p.sawObject("still there", p.get(ctx, p.item("a")))
			p.saw("this uid", p.remove(ctx, p.item("a"), precondition("uid", stored.string(at("metadata.uid")))))
			stored = p.create(ctx, "a")
			p.saw("this version", p.remove(ctx, p.item("a"), precondition("resourceVersion", stored.version())))
			p.saw("of nothing", p.remove(ctx, p.item("a"), precondition("resourceVersion", "1")))
		}},
		behaviour{name: "with options", does: deleteWithOptions},
		behaviour{name: "with options that are refused", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			options := func(more object) object {
				more["apiVersion"], more["kind"] = "v1", "DeleteOptions"
				return more
			}
			p.saw("propagation", p.remove(ctx, p.item("a"), options(object{"propagationPolicy": "Somehow"})))
			p.saw("two propagations", p.remove(ctx, p.item("a"), options(object{"propagationPolicy": "Orphan", "orphanDependents": true})))
			p.saw("trial", p.remove(ctx, p.item("a"), options(object{"dryRun": []any{"Some"}})))
			p.saw("no JSON", p.remove(ctx, p.item("a"), "{"))
			p.saw("another kind", p.remove(ctx, p.item("a"), object{"apiVersion": "v1", "kind": "Pod"}))
			p.saw("a wrong type", p.remove(ctx, p.item("a"), options(object{"gracePeriodSeconds": "x"})))
			p.saw("a parameter", p.remove(ctx, p.item("a"), nil, "propagationPolicy=Somehow"))
			p.saw("a parameter of a wrong type", p.remove(ctx, p.item("a"), nil, "gracePeriodSeconds=x"))
			p.saw("media type", p.send(ctx, request{method: http.MethodDelete, path: p.item("a"), body: "x", header: map[string]string{"Content-Type": "text/plain"}}))
			p.sawObject("still there", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "with a propagation leaves it to the garbage collector", does: func(ctx context.Context, p *probe) {
			for _, policy := range []string{"Foreground", "Orphan"} {
				p.create(ctx, "a", withFinalizer)
				p.sawObject(policy, p.remove(ctx, p.item("a"), object{"propagationPolicy": policy}))
				Eventually(ctx, func() any { return get(p.get(ctx, p.item("a")).object(), finalizers) }).Should(Equal([]any{"convoy.test/hold"}))
				p.sawManagers("managers", p.get(ctx, p.item("a")))
				p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"finalizers":null}}`)
			}
		}},
		behaviour{name: "as a trial", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("trial", p.remove(ctx, p.item("a"), nil, "dryRun=All"))
			p.saw("in the body", p.remove(ctx, p.item("a"), object{"dryRun": []any{"All"}}))
			p.sawObject("stored", p.get(ctx, p.item("a")))
			p.create(ctx, "b", withFinalizer)
			p.sawObject("of what is held", p.remove(ctx, p.item("b"), nil, "dryRun=All"))
			p.sawObject("stored", p.get(ctx, p.item("b")))
			p.saw("of nothing", p.remove(ctx, p.item("c"), nil, "dryRun=All"))
		}},
		behaviour{name: "of a collection", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.create(ctx, "b", setting(at("metadata.labels.x"), "y"))
			p.create(ctx, "c", withFinalizer, setting(at("metadata.labels.x"), "z"))
			collection := func(parameters ...string) *response {
				return p.send(ctx, request{method: http.MethodDelete, path: p.collection(), query: p.scope(parameters...)})
			}
			p.sawDeleted(ctx, "by trial", collection("dryRun=All"))
			p.sawDeleted(ctx, "by field", collection("fieldSelector=metadata.name="+p.name("a")))
			p.sawDeleted(ctx, "by label", p.send(ctx, request{method: http.MethodDelete, path: p.collection(), query: query("labelSelector=x=y," + probeLabel + "=" + p.namespace)}))
			p.sawDeleted(ctx, "all", collection())
			p.sawDeleted(ctx, "none", collection("fieldSelector=metadata.name=nobody"))
			p.saw("by a faulty selector", p.send(ctx, request{method: http.MethodDelete, path: p.collection(), query: query("labelSelector=x y")}))
			p.saw("by an unknown trial", collection("dryRun=Some"))
			p.patch(ctx, p.item("c"), mergePatch, `{"metadata":{"finalizers":null}}`)
		}},
	)
})

func deleteWithOptions(ctx context.Context, p *probe) {
	for _, options := range []struct {
		name       string
		body       any
		parameters []string
	}{
		{"grace", object{"gracePeriodSeconds": 30}, nil},
		{"no grace", object{"gracePeriodSeconds": 0}, nil},
		{"grace as parameter", nil, []string{"gracePeriodSeconds=30"}},
		{"propagation as parameter", nil, []string{"propagationPolicy=Background"}},
		{"of a group", object{"apiVersion": p.groupVersion(), "kind": "DeleteOptions"}, nil},
		{"unknown option", object{"nonsense": 1}, nil},
		{"empty", object{}, nil},
	} {
		p.create(ctx, "a", withFinalizer)
		p.sawObject(options.name, p.remove(ctx, p.item("a"), options.body, options.parameters...))
		p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"finalizers":null}}`)
	}
	p.create(ctx, "b")
	p.saw("of what nothing holds, with grace", p.remove(ctx, p.item("b"), object{"gracePeriodSeconds": 30}))
	p.saw("gone", p.get(ctx, p.item("b")))
}

// sawDeleted notes an answer to the deletion of a collection, and what is left.
func (p *probe) sawDeleted(ctx context.Context, step string, r *response) {
	GinkgoHelper()
	answer := p.answer(r)
	names := []string{}
	for _, item := range r.items() {
		names = append(names, p.text(item["metadata"].(object)["name"].(string)))
	}
	answer["items"] = names
	p.note(step, answer)
	left := []string{}
	for _, item := range p.send(ctx, request{path: p.collection(), query: p.scope()}).items() {
		meta := item["metadata"].(object)
		left = append(left, p.text(meta["name"].(string)))
		if meta["deletionTimestamp"] != nil {
			left[len(left)-1] += " being deleted"
		}
	}
	p.note(step+" leaves", left)
}
