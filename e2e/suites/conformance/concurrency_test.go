// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
)

const writers = 10

// atOnce sends as many requests as there are writers at once, and returns the codes, sorted.
func (p *probe) atOnce(ctx context.Context, build func(writer int) request) []any {
	requests := make([]request, writers)
	for i := range requests {
		requests[i] = build(i)
	}
	codes := make([]int, writers)
	for i, r := range p.together(ctx, requests...) {
		codes[i] = r.code
	}
	slices.Sort(codes)
	shown := make([]any, writers)
	for i := range codes {
		shown[i] = codes[i]
	}
	return shown
}

var _ = Describe("At once", func() {
	table(
		behaviour{name: "creations of one name", does: func(ctx context.Context, p *probe) {
			p.note("codes", p.atOnce(ctx, func(int) request {
				return request{method: "POST", path: p.collection(), body: p.object("a")}
			}))
		}},
		behaviour{name: "updates of one version", does: func(ctx context.Context, p *probe) {
			stored := p.create(ctx, "a")
			p.note("codes", p.atOnce(ctx, func(i int) request {
				return request{method: "PUT", path: p.item("a"), body: edited(stored, setting(at("metadata.labels.x"), fmt.Sprint(i)))}
			}))
			p.note("generation", get(p.get(ctx, p.item("a")).object(), at("metadata.generation")))
		}},
		behaviour{name: "applications by several managers", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.note("codes", p.atOnce(ctx, func(i int) request {
				o := set(p.identity("a"), at(fmt.Sprint("metadata.labels.x", i)), "y")
				return request{method: "PATCH", path: p.item("a"), query: query(fmt.Sprint("fieldManager=m", i)), body: o, header: map[string]string{"Content-Type": applyPatch}}
			}))
			p.sawObject("all are kept", p.get(ctx, p.item("a")))
			p.sawManagers("managers", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "merge patches", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.note("codes", p.atOnce(ctx, func(i int) request {
				return request{method: "PATCH", path: p.item("a"), body: containing(at(fmt.Sprint("metadata.labels.x", i)), "y"), header: map[string]string{"Content-Type": mergePatch}}
			}))
			p.sawObject("all are kept", p.get(ctx, p.item("a")))
		}},
		behaviour{name: "deletions", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.note("codes", p.atOnce(ctx, func(int) request { return request{method: "DELETE", path: p.item("a")} }))
		}},
		behaviour{name: "creations are watched, each once, in order", does: func(ctx context.Context, p *probe) {
			s := p.watch(ctx, "", "resourceVersion="+p.list(ctx).version())
			codes := p.atOnce(ctx, func(i int) request {
				return request{method: "POST", path: p.collection(), body: p.object(fmt.Sprint("a", i))}
			})
			names, versions := []string{}, []string{}
			for range codes {
				o, _ := s.next(ctx)["object"].(object)
				names = append(names, p.text(fmt.Sprint(get(o, at("metadata.name")))))
				versions = append(versions, fmt.Sprintf("%020s", eventVersion(o)))
			}
			p.note("in order", slices.IsSorted(versions))
			slices.Sort(names)
			p.note("names", names)
		}},
	)
})
