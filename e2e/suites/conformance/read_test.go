// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const future = "1000000000"

// list reads the probe's objects.
func (p *probe) list(ctx context.Context, parameters ...string) *response {
	GinkgoHelper()
	return p.send(ctx, request{path: p.collection(), query: p.scope(parameters...)})
}

// sawList notes a list: what it says of itself, and the names of the items.
func (p *probe) sawList(step string, r *response) {
	GinkgoHelper()
	answer := p.answer(r)
	if r.code == 200 {
		meta, _ := r.object()["metadata"].(object)
		answer["metadata"] = object{"version": meta["resourceVersion"] != nil, "continue": given(meta["continue"]), "remaining": fmt.Sprint(meta["remainingItemCount"])}
		names := []string{}
		for _, item := range r.items() {
			names = append(names, fmt.Sprint(p.text(fmt.Sprint(get(item, at("metadata.name")))), " with ", p.fieldValue(item)))
		}
		answer["items"] = names
	}
	p.note(step, answer)
}

// given tells whether a text is there and not empty, which is the same.
func given(value any) bool { return value != nil && value != "" }

func (r *response) next() string { return r.string(at("metadata.continue")) }

var _ = Describe("Read", func() {
	table(
		behaviour{name: "of an object at a version", does: func(ctx context.Context, p *probe) {
			first := p.create(ctx, "a").version()
			second := p.patch(ctx, p.item("a"), mergePatch, p.change(2)).version()
			// What has once been as new as that is not older later, whatever is asked for.
			p.sawObject("not older than the second", p.get(ctx, p.item("a"), "resourceVersion="+second))
			p.sawObject("not older than the first", p.get(ctx, p.item("a"), "resourceVersion="+first))
			p.sawObject("any", p.get(ctx, p.item("a"), "resourceVersion=0"))
			p.saw("nonsense", p.get(ctx, p.item("a"), "resourceVersion=nonsense"))
			p.saw("negative", p.get(ctx, p.item("a"), "resourceVersion=-1"))
			p.saw("nobody, at any", p.get(ctx, p.item("b"), "resourceVersion=0"))
		}},
		behaviour{name: "of the future", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for i, r := range p.together(ctx, // each waits for the future for some seconds
				request{path: p.item("a"), query: query("resourceVersion=" + future)},
				request{path: p.collection(), query: query("resourceVersion=" + future)},
				request{path: p.collection(), query: query("resourceVersion="+future, "resourceVersionMatch=NotOlderThan")},
				request{path: p.collection(), query: query("resourceVersion="+future, "resourceVersionMatch=Exact")},
			) {
				p.sawHeader(fmt.Sprint("answer ", i), r, "Retry-After")
			}
		}},
		behaviour{name: "of a list at a version", does: listAtVersions},
		behaviour{name: "of a list with parameters that do not fit", does: func(ctx context.Context, p *probe) {
			for _, parameters := range [][]string{
				{"resourceVersionMatch=Exact"}, {"resourceVersionMatch=Exact", "resourceVersion=0"}, {"resourceVersionMatch=Some", "resourceVersion=1"},
				{"resourceVersion=nonsense"}, {"resourceVersion=-1"}, {"limit=-1"}, {"limit=x"}, {"continue=nonsense"}, {"continue=nonsense", "resourceVersion=5"},
				{"sendInitialEvents=true"}, {"timeoutSeconds=x"}, {"nonsense=1"},
			} {
				p.saw(fmt.Sprint(parameters), p.list(ctx, parameters...))
			}
		}},
		behaviour{name: "of a list in pages", of: namespaced, does: listInPages},
		behaviour{name: "of a list in pages that has expired", of: func(s *subject) bool { return namespaced(s) && s.role != builtin }, like: custom, why: youngCluster, does: func(ctx context.Context, p *probe) {
			for _, name := range []string{"a", "b", "c"} {
				p.create(ctx, name)
			}
			token := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":1,"start":"a\u0000"}`))
			expired := p.get(ctx, p.collection(), "limit=1", "continue="+token)
			p.saw("expired", expired)
			p.sawList("from where it was", p.get(ctx, p.collection(), "limit=1", "continue="+expired.next()))
			p.saw("exactly", p.get(ctx, p.collection(), "resourceVersionMatch=Exact", "resourceVersion=1"))
		}},
		behaviour{name: "of an empty list", does: func(ctx context.Context, p *probe) {
			p.sawList("empty", p.list(ctx))
			p.note("items are a list", fmt.Sprintf("%T", p.list(ctx).object()["items"]))
			p.sawList("from the cache", p.list(ctx, "resourceVersion=0"))
			p.sawList("of a namespace that does not exist", p.get(ctx, p.collection(), "labelSelector=no=body"))
		}},
		behaviour{name: "of all namespaces", of: namespaced, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			all := "/apis/" + p.groupVersion() + "/" + p.plural
			p.sawList("by label", p.get(ctx, all, "labelSelector="+probeLabel+"="+p.namespace))
			p.sawList("by field", p.get(ctx, all, "fieldSelector=metadata.namespace="+p.namespace))
			p.sawList("by both fields", p.get(ctx, all, "fieldSelector=metadata.namespace="+p.namespace+",metadata.name=a"))
			p.sawList("by other fields", p.get(ctx, all, "fieldSelector=metadata.namespace="+p.namespace+",metadata.name!=a"))
		}},
		behaviour{name: "of a list selected by labels", does: listByLabels},
		behaviour{name: "of a list selected by fields", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.create(ctx, "b")
			for _, selector := range []string{"metadata.name=" + p.name("a"), "metadata.name==" + p.name("a"), "metadata.name!=" + p.name("a"), "metadata.name=nobody", ""} {
				p.sawList(p.text(selector), p.list(ctx, "fieldSelector="+selector))
			}
			p.saw("faulty", p.list(ctx, "fieldSelector=metadata.name"))
		}},
		behaviour{name: "of a list selected by the namespace", of: namespaced, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.sawList("this", p.list(ctx, "fieldSelector=metadata.namespace="+p.namespace))
			p.sawList("another", p.list(ctx, "fieldSelector=metadata.namespace=other"))
		}},
		behaviour{name: "of a list selected by a field that is not selectable", does: func(ctx context.Context, p *probe) {
			for _, field := range []string{"spec.nonsense", "metadata.labels"} {
				r := p.list(ctx, "fieldSelector="+field+"=x")
				status := r.object()
				// Each kind says in its own words which fields are selectable.
				named := strings.Contains(fmt.Sprint(status["message"]), field)
				p.note(field, object{"code": r.code, "reason": status["reason"], "details": status["details"], "the field is named": named})
			}
		}},
		behaviour{
			name: "of a list by its items", like: builtin,
			why: "items of a list have no kind of their own where Go types are encoded",
			does: func(ctx context.Context, p *probe) {
				p.create(ctx, "a")
				p.patch(ctx, p.item("a"), mergePatch, p.change(2))
				p.apply(ctx, "b", "me", p.object("b"))
				for _, from := range []string{"", "resourceVersion=0", "limit=5"} {
					for _, item := range p.list(ctx, from).items() {
						p.note("item "+from, []any{p.text(fmt.Sprint(item["kind"])), p.text(fmt.Sprint(item["apiVersion"]))})
					}
				}
			},
		},
	)
})

func listAtVersions(ctx context.Context, p *probe) {
	first := p.create(ctx, "a").version()
	p.patch(ctx, p.item("a"), mergePatch, p.change(2))
	second := p.create(ctx, "b").version()
	Expect(p.remove(ctx, p.item("a"), nil).code).To(Equal(200))
	p.sawList("now", p.list(ctx))
	p.sawList("exactly the first", p.list(ctx, "resourceVersionMatch=Exact", "resourceVersion="+first))
	p.sawList("exactly the second", p.list(ctx, "resourceVersionMatch=Exact", "resourceVersion="+second))
	p.sawList("exactly the second in pages", p.list(ctx, "resourceVersionMatch=Exact", "resourceVersion="+second, "limit=1"))
	exactly := p.list(ctx, "resourceVersionMatch=Exact", "resourceVersion="+first)
	p.note("the version is the one asked for", exactly.version() == first)
	for _, match := range []string{"", "resourceVersionMatch=NotOlderThan"} {
		r := p.list(ctx, match, "resourceVersion="+second)
		p.note("not older than the second "+match, r.code)
		at, _ := strconv.Atoi(r.version())
		least, _ := strconv.Atoi(second)
		p.note("the version is at least that", at >= least)
	}
	p.note("any", p.list(ctx, "resourceVersion=0").code)
	p.note("any, said so", p.list(ctx, "resourceVersion=0", "resourceVersionMatch=NotOlderThan").code)
}

func listInPages(ctx context.Context, p *probe) {
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		p.create(ctx, name)
	}
	first := p.get(ctx, p.collection(), "limit=2")
	p.sawList("first", first)
	p.create(ctx, "bb")
	p.remove(ctx, p.item("d"), nil)
	p.patch(ctx, p.item("e"), mergePatch, p.change(2))
	second := p.get(ctx, p.collection(), "limit=2", "continue="+first.next())
	p.sawList("second", second)
	p.note("the version stays", first.version() == second.version())
	third := p.get(ctx, p.collection(), "limit=2", "continue="+second.next())
	p.sawList("third", third)
	p.sawList("the second again, whole", p.get(ctx, p.collection(), "continue="+first.next()))
	p.sawList("by label", p.list(ctx, "limit=2"))
	p.sawList("by field", p.get(ctx, p.collection(), "limit=2", "fieldSelector=metadata.name!=a"))
	p.sawList("more than there are", p.get(ctx, p.collection(), "limit=50"))
	p.sawList("from the cache", p.get(ctx, p.collection(), "limit=2", "resourceVersion=0"))
	p.saw("with a version", p.get(ctx, p.collection(), "limit=2", "continue="+first.next(), "resourceVersion="+first.version()))
	p.sawList("with version 0", p.get(ctx, p.collection(), "limit=2", "continue="+first.next(), "resourceVersion=0"))
	p.saw("with a match", p.get(ctx, p.collection(), "limit=2", "continue="+first.next(), "resourceVersionMatch=NotOlderThan"))
}

func listByLabels(ctx context.Context, p *probe) {
	p.create(ctx, "a", setting(at("metadata.labels.x"), "1"))
	p.create(ctx, "b", setting(at("metadata.labels.x"), "2"))
	p.create(ctx, "c")
	for _, selector := range []string{"x", "!x", "x=1", "x==1", "x!=1", "x in (1,2)", "x notin (1)", "x>1", "x<2", "x=1,x=2"} {
		r := p.get(ctx, p.collection(), "labelSelector="+probeLabel+"="+p.namespace+","+selector)
		p.sawList(selector, r)
	}
	for _, selector := range []string{"x=", "x in", "=1", "x=a b", "x in (1", "a/b/c=1", "x=" + "-"} {
		p.saw("faulty "+selector, p.get(ctx, p.collection(), "labelSelector="+selector))
	}
}

// sawHeader notes an answer with some of its headers.
func (p *probe) sawHeader(step string, r *response, names ...string) {
	GinkgoHelper()
	answer := p.answer(r)
	for _, name := range names {
		answer["header "+name] = p.text(fmt.Sprint(r.header.Values(name)))
	}
	p.note(step, answer)
}
