// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

var _ = Describe("Creation", func() {
	table(
		behaviour{name: "of a valid object", does: func(ctx context.Context, p *probe) {
			created := p.post(ctx, p.collection(), p.object("a"))
			p.sawObject("created", created)
			p.sawManagers("managers", created)
			p.sawObject("stored", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "fills in defaults, which its manager then owns", of: hasEnum, does: func(ctx context.Context, p *probe) {
			created := p.post(ctx, p.collection(), p.object("a"))
			p.note("has its default", p.hasDefault(created.object()))
			p.detailed = true
			p.sawManagers("managers", created)
		}},
		behaviour{name: "names its manager by the parameter", does: func(ctx context.Context, p *probe) {
			p.sawManagers("named", p.post(ctx, p.collection(), p.object("a"), "fieldManager=me"))
			p.saw("too long", p.post(ctx, p.collection(), p.object("b"), "fieldManager="+strings.Repeat("m", 129)))
			p.saw("not printable", p.post(ctx, p.collection(), p.object("b"), "fieldManager=a\tb"))
		}},
		behaviour{name: "takes no status", does: func(ctx context.Context, p *probe) {
			created := p.create(ctx, "a", func(o object) { set(o, observedGeneration, 7) })
			p.sawObject("created", created)
			p.sawManagers("managers", created)
		}},
		behaviour{name: "takes nothing that is the server's to say", does: func(ctx context.Context, p *probe) {
			created := p.create(ctx, "a", func(o object) {
				set(o, at("metadata.uid"), "11111111-2222-3333-4444-555555555555")
				set(o, at("metadata.generation"), 7)
				set(o, at("metadata.creationTimestamp"), "2001-01-01T00:00:00Z")
				set(o, at("metadata.deletionTimestamp"), "2001-01-01T00:00:00Z")
				set(o, at("metadata.deletionGracePeriodSeconds"), 7)
				set(o, at("metadata.selfLink"), "/somewhere")
			})
			p.sawObject("created", created)
			p.note("uid is the client's", created.string(at("metadata.uid")) == "11111111-2222-3333-4444-555555555555")
			p.note("born in 2001", strings.HasPrefix(created.string(at("metadata.creationTimestamp")), "2001"))
		}},
		behaviour{name: "with managed fields of its own", does: func(ctx context.Context, p *probe) {
			entry := object{"manager": "other", "operation": "Update", "apiVersion": p.groupVersion(), "fieldsType": "FieldsV1", "fieldsV1": object{"f:metadata": object{"f:labels": object{"f:x": object{}}}}}
			p.sawManagers("kept", p.create(ctx, "a", func(o object) { set(o, at("metadata.managedFields"), []any{entry}) }))
			p.sawManagers("reset", p.create(ctx, "b", func(o object) { set(o, at("metadata.managedFields"), []any{object{}}) }))
			faulty := object{"manager": "other", "operation": "Nothing", "fieldsType": "FieldsV2"}
			p.saw("faulty", p.post(ctx, p.collection(), set(p.object("c"), at("metadata.managedFields"), []any{faulty})))
		}},
		behaviour{name: "of what exists", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("again", p.post(ctx, p.collection(), p.object("a")))
			p.saw("again, as a trial", p.post(ctx, p.collection(), p.object("a"), "dryRun=All"))
			p.sawInvalid("again, invalid", p.post(ctx, p.collection(), set(p.object("a"), p.field, p.invalid)), p.field)
		}},
		behaviour{name: "with a resource version", does: func(ctx context.Context, p *probe) {
			p.saw("refused", p.post(ctx, p.collection(), set(p.object("a"), at("metadata.resourceVersion"), "1")))
		}},
		behaviour{name: "with an invalid field", does: func(ctx context.Context, p *probe) {
			p.sawInvalid("refused", p.post(ctx, p.collection(), set(p.object("a"), p.field, p.invalid)), p.field)
			p.saw("not stored", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "without a required field", of: hasRequired, does: func(ctx context.Context, p *probe) {
			p.sawInvalid("refused", p.post(ctx, p.collection(), set(p.object("a"), p.required, nil)), p.required)
		}},
		behaviour{name: "with an unknown value of an enumeration", of: hasEnum, does: func(ctx context.Context, p *probe) {
			p.sawInvalid("refused", p.post(ctx, p.collection(), set(p.object("a"), p.enum, "nonsense")), p.enum)
		}},
		behaviour{name: "with two items of one name", of: hasItems, does: func(ctx context.Context, p *probe) {
			items := []any{p.build("x", "Va"), p.build("x", "Vb")}
			p.sawInvalid("refused", p.post(ctx, p.collection(), set(p.object("a"), p.items, items)), p.items)
		}},
		behaviour{name: "with a generated name", of: freelyNamed, does: generateNames},
		behaviour{name: "without a name", of: freelyNamed, does: func(ctx context.Context, p *probe) {
			p.sawNames("neither", p.post(ctx, p.collection(), set(p.object("a"), at("metadata.name"), nil)))
			p.sawNames("no metadata", p.post(ctx, p.collection(), set(p.object("a"), metadata, nil)))
		}},
		behaviour{name: "as a trial", does: func(ctx context.Context, p *probe) {
			trial := p.post(ctx, p.collection(), p.object("a"), "dryRun=All")
			meta := get(trial.object(), metadata).(object)
			p.note("code", trial.code)
			p.note("field", p.fieldValue(trial.object()))
			p.note("version", fmt.Sprint(meta["resourceVersion"]))
			p.note("has uid", meta["uid"] != nil)
			p.note("generation", meta["generation"])
			p.sawManagers("managers", trial)
			p.saw("not stored", p.get(ctx, p.item("a")))
			p.saw("unknown", p.post(ctx, p.collection(), p.object("a"), "dryRun=Some"))
			p.saw("twice", p.post(ctx, p.collection(), p.object("a"), "dryRun=All", "dryRun=All"))
		}},
		behaviour{name: "in another namespace than the path's", of: namespaced, does: func(ctx context.Context, p *probe) {
			p.saw("another", p.post(ctx, p.collection(), set(p.object("a"), at("metadata.namespace"), "other")))
			p.sawObject("none", p.post(ctx, p.collection(), set(p.object("a"), at("metadata.namespace"), nil)))
		}},
		behaviour{name: "in no namespace", of: namespaced, like: builtin, why: noHandWork, does: func(ctx context.Context, p *probe) {
			p.saw("named in the object", p.post(ctx, "/apis/"+p.groupVersion()+"/"+p.plural, p.object("a")))
			p.saw("named nowhere", p.post(ctx, "/apis/"+p.groupVersion()+"/"+p.plural, set(p.object("a"), at("metadata.namespace"), nil)))
		}},
		behaviour{name: "in a namespace that does not exist", of: namespaced, does: func(ctx context.Context, p *probe) {
			path := "/apis/" + p.groupVersion() + "/namespaces/nowhere/" + p.plural
			p.saw("refused", p.post(ctx, path, set(p.object("a"), at("metadata.namespace"), "nowhere")))
			p.saw("as a trial", p.post(ctx, path, set(p.object("a"), at("metadata.namespace"), "nowhere"), "dryRun=All"))
			p.saw("list", p.get(ctx, path))
			p.saw("get", p.get(ctx, path+"/a"))
		}},
		behaviour{name: "with a namespace for a global kind", of: func(s *subject) bool { return s.global }, does: func(ctx context.Context, p *probe) {
			p.saw("in the object", p.post(ctx, p.collection(), set(p.object("a"), at("metadata.namespace"), p.namespace)))
		}},
		behaviour{
			name: "with a namespace in the path for a global kind", of: func(s *subject) bool { return s.global }, like: builtin,
			why: noHandWork,
			does: func(ctx context.Context, p *probe) {
				p.saw("in the path", p.post(ctx, "/apis/"+p.groupVersion()+"/namespaces/"+p.namespace+"/"+p.plural, p.object("a")))
			},
		},
		behaviour{name: "at the path of an object", like: builtin, why: noHandWork, does: func(ctx context.Context, p *probe) {
			p.saw("post", p.post(ctx, p.item("a"), p.object("a")))
		}},
	)
})

var generated = regexp.MustCompile(`^[bcdfghjklmnpqrstvwxz2456789]{5}$`)

func generateNames(ctx context.Context, p *probe) {
	generate := func(prefix string, parameters ...string) *response {
		o := p.object("a")
		set(o, at("metadata.name"), nil)
		set(o, at("metadata.generateName"), prefix)
		return p.post(ctx, p.collection(), o, parameters...)
	}
	see := func(step string, r *response, prefix string) {
		ending, ok := strings.CutPrefix(r.string(at("metadata.name")), prefix)
		p.note(step, []any{r.code, ok, generated.MatchString(ending), r.string(at("metadata.generateName")) == prefix, len(ending)})
	}
	prefix := p.name("g-")
	see("first", generate(prefix), prefix)
	see("second", generate(prefix), prefix)
	see("trial", generate(prefix, "dryRun=All"), prefix)
	long := p.name("g-") + strings.Repeat("a", 250)
	r := generate(long)
	p.note("long", []any{r.code, len(r.string(at("metadata.name")))})
	p.sawNames("faulty", generate("Not a name "))
	named := p.object("named")
	set(named, at("metadata.generateName"), prefix)
	r = p.post(ctx, p.collection(), named)
	p.note("both", []any{r.code, r.string(at("metadata.name")) == p.name("named")})
	p.note("status", generate(prefix).code == http.StatusCreated)
}

// sawNames notes a refusal with all its words about the metadata, which are the same for
// all kinds, but those of an object that is refused for its name too.
func (p *probe) sawNames(step string, r *response) {
	answer := p.answer(r)
	status, _ := answer["status"].(object)
	if status != nil && status["reason"] == "Invalid" {
		kept := []any{}
		for _, cause := range p.differentCauses(status) {
			if name, _ := cause["field"].(string); strings.HasPrefix(name, "metadata") {
				kept = append(kept, cause)
			}
		}
		status["details"].(object)["causes"] = kept
		status["message"] = beginning(status["message"])
	}
	p.note(step, answer)
}
