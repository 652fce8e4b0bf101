// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

// Media types of answers in other forms than the object itself.
const (
	tableType       = "application/json;as=Table;v=v1;g=meta.k8s.io"
	partialType     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	partialListType = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	kubectlAccepts  = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)

// in asks for an answer in a form.
func (p *probe) in(ctx context.Context, accept, path string, parameters ...string) *response {
	GinkgoHelper()
	return p.send(ctx, request{path: path, query: query(parameters...), header: map[string]string{"Accept": accept}})
}

// sawTable notes a table. Which columns a kind has between the name and the age, and what
// is in them, is its own affair.
func (p *probe) sawTable(step string, r *response) {
	GinkgoHelper()
	answer := p.answer(r)
	if r.code < 300 {
		for key, value := range p.tableShape(r.object()) {
			answer[key] = value
		}
	}
	p.note(step, answer)
}

func (p *probe) tableShape(table object) object {
	columns, _ := table["columnDefinitions"].([]any)
	rows, _ := table["rows"].([]any)
	shown := object{"columns": columnsShape(columns), "rows are a list": table["rows"] != nil}
	meta, _ := table["metadata"].(object)
	shown["version"] = meta["resourceVersion"] != nil
	shown["continue"] = given(meta["continue"])
	for i, entry := range rows {
		row, _ := entry.(object)
		cells, _ := row["cells"].([]any)
		named := len(cells) > 0 && fmt.Sprint(cells[0]) == fmt.Sprint(get(row, at("object.metadata.name")))
		shown[fmt.Sprint("row ", i)] = object{
			"a cell for each column": len(cells) == len(columns) || len(columns) == 0, "first is the name": named || row["object"] == nil,
			"conditions": row["conditions"], "object": p.rowObject(row["object"]),
		}
	}
	return shown
}

// columnsShape is what all tables have in common: the name first, an age, and of each column
// a type and a description, and a priority.
func columnsShape(columns []any) any {
	if len(columns) == 0 {
		return "none"
	}
	first, _ := columns[0].(object)
	shape := object{"first": []any{first["name"], first["type"], first["format"], first["priority"]}}
	for _, entry := range columns {
		column, _ := entry.(object)
		if column["type"] == "" || column["description"] == "" || column["priority"] == nil {
			shape[fmt.Sprint("incomplete ", column["name"])] = column
		}
		if column["name"] == "Age" {
			shape["age"] = column["priority"]
		}
	}
	return shape
}

func (p *probe) rowObject(value any) any {
	o, ok := value.(object)
	if !ok {
		return fmt.Sprint(value)
	}
	return object{
		"kind": p.text(fmt.Sprint(o["apiVersion"], " ", o["kind"])), "metadata": get(o, at("metadata.name")) != nil,
		"managers": get(o, at("metadata.managedFields")) != nil, "spec": o["spec"] != nil,
	}
}

// sawPartial notes metadata without the rest, and that there is no rest.
func (p *probe) sawPartial(step string, r *response) {
	GinkgoHelper()
	answer := p.answer(r)
	if r.code < 300 {
		answer["object"] = p.partialShape(r.object())
		for i, item := range r.items() {
			answer[fmt.Sprint("item ", i)] = p.partialShape(item)
		}
	}
	p.note(step, answer)
}

func (p *probe) partialShape(o object) object {
	meta, _ := o["metadata"].(object)
	shown := object{"version": meta["resourceVersion"] != nil}
	if !strings.HasSuffix(fmt.Sprint(o["kind"]), "List") {
		shown = p.metadata(meta)
	}
	return object{
		"kind": p.text(fmt.Sprint(o["apiVersion"], " ", o["kind"])), "metadata": shown,
		"managers": meta["managedFields"] != nil, "spec": o["spec"] != nil, "status": o["status"] != nil,
	}
}

var _ = Describe("Table", func() {
	table(
		behaviour{
			name: "of an object and of a list",
			does: func(ctx context.Context, p *probe) {
				p.create(ctx, "a")
				p.create(ctx, "b")
				p.sawTable("object", p.in(ctx, tableType, p.item("a")))
				p.sawTable("status", p.in(ctx, tableType, p.item("a", "status")))
				p.sawTable("list", p.send(ctx, request{path: p.collection(), query: p.scope(), header: map[string]string{"Accept": tableType}}))
				p.sawTable("page", p.send(ctx, request{path: p.collection(), query: p.scope("limit=1"), header: map[string]string{"Accept": tableType}}))
				p.sawTable("empty list", p.in(ctx, tableType, p.collection(), "labelSelector=no=body"))
				p.sawTable("as kubectl asks", p.in(ctx, kubectlAccepts, p.item("a")))
				for _, include := range []string{"None", "Metadata", "Object"} {
					p.sawTable("with "+include, p.in(ctx, tableType, p.item("a"), "includeObject="+include))
				}
				p.saw("with something else", p.in(ctx, tableType, p.item("a"), "includeObject=Some"))
			},
		},
		behaviour{name: "of errors is a status", does: func(ctx context.Context, p *probe) {
			p.saw("nobody", p.in(ctx, tableType, p.item("nobody")))
			p.saw("old version", p.in(ctx, "application/json;as=Table;v=v1alpha1;g=meta.k8s.io", p.collection()))
			p.saw("another group", p.in(ctx, "application/json;as=Table;v=v1;g=other", p.collection()))
			p.saw("another form", p.in(ctx, "application/json;as=Other;v=v1;g=meta.k8s.io", p.collection()))
		}},
		behaviour{name: "of v1beta1", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.sawTable("object", p.in(ctx, "application/json;as=Table;v=v1beta1;g=meta.k8s.io", p.item("a")))
		}},
		behaviour{name: "of what is written", does: func(ctx context.Context, p *probe) {
			header := map[string]string{"Accept": tableType}
			p.sawTable("created", p.send(ctx, request{method: "POST", path: p.collection(), body: p.object("a"), header: header}))
			p.sawTable("patched", p.send(ctx, request{method: "PATCH", path: p.item("a"), body: p.change(2), header: map[string]string{"Accept": tableType, "Content-Type": mergePatch}}))
			p.saw("deleted", p.send(ctx, request{method: "DELETE", path: p.item("a"), header: header}))
		}},
		behaviour{name: "as a watch", does: func(ctx context.Context, p *probe) {
			created := p.create(ctx, "a")
			p.patch(ctx, p.item("a"), mergePatch, p.change(2))
			p.remove(ctx, p.item("a"), nil)
			s := p.watch(ctx, tableType, "resourceVersion="+created.version())
			p.note("type", s.answer.header.Get("Content-Type"))
			for _, step := range []string{"changed", "deleted"} {
				event := s.next(ctx)
				o, _ := event["object"].(object)
				p.note(step, object{"type": event["type"], "kind": fmt.Sprint(o["apiVersion"], " ", o["kind"]), "table": p.tableShape(o)})
			}
		}},
	)
})

var _ = Describe("Metadata alone", func() {
	table(
		behaviour{name: "of an object and of a list", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a", withFinalizer)
			p.create(ctx, "b")
			p.sawPartial("object", p.in(ctx, partialType, p.item("a")))
			p.sawPartial("status", p.in(ctx, partialType, p.item("a", "status")))
			p.sawPartial("list", p.send(ctx, request{path: p.collection(), query: p.scope(), header: map[string]string{"Accept": partialListType}}))
			p.sawPartial("page", p.send(ctx, request{path: p.collection(), query: p.scope("limit=1"), header: map[string]string{"Accept": partialListType}}))
			p.sawPartial("empty list", p.in(ctx, partialListType, p.collection(), "labelSelector=no=body"))
			p.saw("list as object", p.in(ctx, partialType, p.collection()))
			p.saw("nobody", p.in(ctx, partialType, p.item("nobody")))
		}},
		behaviour{
			name: "of an object as if it were a list", like: builtin,
			why: "that a client asks for what cannot be is his error, and none of the server",
			does: func(ctx context.Context, p *probe) {
				p.create(ctx, "a")
				p.saw("object as list", p.in(ctx, partialListType, p.item("a")))
			},
		},
		behaviour{name: "of what is written", does: func(ctx context.Context, p *probe) {
			header := map[string]string{"Accept": partialType}
			p.sawPartial("created", p.send(ctx, request{method: "POST", path: p.collection(), body: p.object("a"), header: header}))
			p.sawPartial("patched", p.send(ctx, request{method: "PATCH", path: p.item("a"), body: p.change(2), header: map[string]string{"Accept": partialType, "Content-Type": mergePatch}}))
			p.saw("deleted", p.send(ctx, request{method: "DELETE", path: p.item("a"), header: header}))
		}},
		behaviour{name: "as a watch", does: func(ctx context.Context, p *probe) {
			created := p.create(ctx, "a")
			p.patch(ctx, p.item("a"), mergePatch, p.change(2))
			p.remove(ctx, p.item("a"), nil)
			s := p.watch(ctx, partialType, "resourceVersion="+created.version())
			p.note("type", s.answer.header.Get("Content-Type"))
			for _, step := range []string{"changed", "deleted"} {
				event := s.next(ctx)
				o, _ := event["object"].(object)
				p.note(step, object{"type": event["type"], "object": p.partialShape(o)})
			}
		}},
		behaviour{name: "as a watch with initial events", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, accept := range []string{partialType, tableType} {
				s := p.watch(ctx, accept, "sendInitialEvents=true", "resourceVersionMatch=NotOlderThan", "allowWatchBookmarks=true")
				p.note("first", s.next(ctx)["type"])
				bookmark := s.next(ctx)
				o, _ := bookmark["object"].(object)
				p.note("kind of the bookmark", fmt.Sprint(o["apiVersion"], " ", o["kind"]))
				if rows, _ := o["rows"].([]any); len(rows) > 0 { // a table has it in its row
					o, _ = get(rows[0].(object), at("object")).(object)
				}
				p.note("bookmark", object{"type": bookmark["type"], "annotations": get(o, at("metadata.annotations")), "version": get(o, at("metadata.resourceVersion")) != nil})
			}
		}},
	)
})
