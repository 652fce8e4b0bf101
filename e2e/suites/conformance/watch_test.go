// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
)

// stream is an open watch.
type stream struct {
	events chan object // closed when the server ends the watch
	answer *response   // of what is no stream; its body was read
}

// watch opens a watch on the probe's objects, until the context ends.
func (p *probe) watch(ctx context.Context, accept string, parameters ...string) *stream {
	GinkgoHelper()
	return p.openWatch(ctx, accept, p.scope(append(parameters, "watch=true")...))
}

func (p *probe) openWatch(ctx context.Context, accept, query string) *stream {
	GinkgoHelper()
	r := request{path: p.collection(), query: query}
	if accept != "" {
		r.header = map[string]string{"Accept": accept}
	}
	raw := open(ctx, p.client, r)
	s := &stream{events: make(chan object), answer: &response{code: raw.StatusCode, header: raw.Header}}
	if raw.StatusCode != http.StatusOK {
		s.answer = readAll(raw)
		close(s.events)
		return s
	}
	go func() {
		defer raw.Body.Close()
		defer close(s.events)
		decoder := json.NewDecoder(raw.Body)
		for {
			var event object
			if decoder.Decode(&event) != nil {
				return
			}
			select {
			case s.events <- event:
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

// next event, or nil after the end.
func (s *stream) next(ctx context.Context) object {
	GinkgoHelper()
	select {
	case event := <-s.events:
		return event
	case <-ctx.Done():
		Fail("no event came before the end of the test")
	case <-time.After(20 * time.Second):
		Fail("no event came for 20 seconds")
	}
	return nil
}

// sawEvent notes the next event.
func (p *probe) sawEvent(ctx context.Context, step string, s *stream) object {
	GinkgoHelper()
	event := s.next(ctx)
	o, _ := event["object"].(object)
	switch {
	case event == nil && s.answer.code != http.StatusOK:
		p.saw(step, s.answer)
	case event == nil:
		p.note(step, "end")
	case event["type"] == "ERROR":
		p.note(step, object{"type": "ERROR", "status": p.status(o)})
	case event["type"] == "BOOKMARK":
		meta, _ := o["metadata"].(object)
		p.note(step, object{
			"type": "BOOKMARK", "kind": p.text(fmt.Sprint(o["apiVersion"], " ", o["kind"])),
			"version": meta["resourceVersion"] != nil, "annotations": meta["annotations"], "named": meta["name"] != nil,
		})
	default:
		p.note(step, object{"type": event["type"], "object": p.shape(o)})
	}
	return o
}

// sawEvents notes the next events until the object of that name, which the test changes last.
func (p *probe) sawEvents(ctx context.Context, step string, s *stream, last string) {
	GinkgoHelper()
	for {
		o := p.sawEvent(ctx, step, s)
		if o == nil || get(o, at("metadata.name")) == p.name(last) {
			return
		}
	}
}

// eventVersion is the version of an event's object.
func eventVersion(o object) string { return fmt.Sprint(get(o, at("metadata.resourceVersion"))) }

// youngCluster is why built-in kinds take no part in what has to do with old versions.
const youngCluster = "what is remembered of a built-in kind reaches back to the first version of a cluster as young as this"

var _ = Describe("Watch", func() {
	table(
		behaviour{name: "from a version shows all changes since", does: func(ctx context.Context, p *probe) {
			created := p.create(ctx, "a", withFinalizer)
			p.patch(ctx, p.item("a"), mergePatch, p.change(2))
			p.patch(ctx, p.item("a", "status"), mergePatch, containing(observedGeneration, 1))
			p.patch(ctx, p.item("a"), mergePatch, p.change(2)) // changes nothing
			p.remove(ctx, p.item("a"), nil)
			p.patch(ctx, p.item("a"), mergePatch, `{"metadata":{"finalizers":null}}`)
			p.create(ctx, "a")
			p.remove(ctx, p.item("a"), nil)
			p.create(ctx, "z")
			s := p.watch(ctx, "", "resourceVersion="+created.version())
			p.note("answer", []any{s.answer.code, s.answer.header.Get("Content-Type")})
			p.sawEvents(ctx, "event", s, "z")
		}},
		behaviour{name: "from any version or none shows first what is there", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, from := range []string{"", "resourceVersion=0"} {
				s := p.watch(ctx, "", from)
				p.sawEvents(ctx, "first", s, "a")
				p.patch(ctx, p.item("a"), mergePatch, object{"metadata": object{"labels": object{"x": "from" + from[:min(len(from), 8)]}}})
				p.sawEvents(ctx, "then", s, "a")
			}
		}},
		behaviour{name: "is resumed without a gap", does: func(ctx context.Context, p *probe) {
			list := p.list(ctx)
			first, cancel := context.WithCancel(ctx)
			s := p.watch(first, "", "resourceVersion="+list.version())
			p.create(ctx, "a")
			last := p.sawEvent(ctx, "first", s)
			cancel()
			p.patch(ctx, p.item("a"), mergePatch, p.change(2))
			p.remove(ctx, p.item("a"), nil)
			p.create(ctx, "z")
			p.sawEvents(ctx, "resumed", p.watch(ctx, "", "resourceVersion="+eventVersion(last)), "z")
		}},
		behaviour{name: "ends in time, with a bookmark before", does: func(ctx context.Context, p *probe) {
			created := p.create(ctx, "a")
			var bookmark object
			for attempt := 0; bookmark == nil; attempt++ { // no server promises one to each watch
				lines := len(p.lines)
				s := p.watch(ctx, "", "resourceVersion="+created.version(), "allowWatchBookmarks=true", "timeoutSeconds=4")
				// There must be something to tell of, which is not selected.
				p.create(ctx, fmt.Sprint("other", attempt), setting(at("metadata.labels"), nil))
				if bookmark = p.sawEvent(ctx, "bookmark", s); bookmark == nil {
					p.lines = p.lines[:lines]
					continue
				}
				for s.next(ctx) != nil { // there may be more bookmarks before the end
				}
			}
			p.create(ctx, "z")
			p.sawEvents(ctx, "resumed", p.watch(ctx, "", "resourceVersion="+eventVersion(bookmark)), "z")
		}},
		behaviour{name: "with initial events tells where they end", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, version := range []string{"", "resourceVersion=0"} {
				s := p.watch(ctx, "", "sendInitialEvents=true", "resourceVersionMatch=NotOlderThan", "allowWatchBookmarks=true", version)
				p.sawEvent(ctx, "initial "+version, s)
				bookmark := p.sawEvent(ctx, "end of the initial ones "+version, s)
				p.note("its version can be watched from", p.watch(ctx, "", "resourceVersion="+eventVersion(bookmark)).answer.code)
			}
		}},
		behaviour{name: "without initial events", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			s := p.watch(ctx, "", "sendInitialEvents=false", "resourceVersionMatch=NotOlderThan", "allowWatchBookmarks=true")
			p.create(ctx, "z")
			p.sawEvents(ctx, "event", s, "z")
		}},
		behaviour{name: "with parameters that do not fit", does: func(ctx context.Context, p *probe) {
			for _, parameters := range [][]string{
				{"sendInitialEvents=true"}, {"sendInitialEvents=true", "resourceVersionMatch=Exact", "resourceVersion=1"},
				{"resourceVersionMatch=NotOlderThan"}, {"resourceVersion=nonsense"}, {"resourceVersionMatch=Exact", "resourceVersion=1"},
				{"sendInitialEvents=maybe"}, {"timeoutSeconds=x"}, {"continue=x"}, {"labelSelector=a b"}, {"allowWatchBookmarks=maybe"},
			} {
				s := p.watch(ctx, "", append(parameters, "timeoutSeconds=1")...)
				p.sawEvent(ctx, fmt.Sprint(parameters), s)
			}
		}},
		behaviour{
			name: "from a version that is too old", of: func(s *subject) bool { return s.role != builtin }, like: custom,
			why: youngCluster,
			does: func(ctx context.Context, p *probe) {
				p.create(ctx, "a")
				p.sawEvent(ctx, "1", p.watch(ctx, "", "resourceVersion=1"))
				p.sawEvent(ctx, "as a table", p.watch(ctx, tableType, "resourceVersion=1"))
			},
		},
		behaviour{name: "from a version of the future", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			s := p.watch(ctx, "", "resourceVersion="+future, "timeoutSeconds=5")
			p.sawEvent(ctx, "future", s)
		}},
		behaviour{name: "selected by labels shows what leaves as deleted", does: func(ctx context.Context, p *probe) {
			created := p.create(ctx, "a", setting(at("metadata.labels.x"), "1"))
			s := p.openWatch(ctx, "", query("watch=true", "resourceVersion="+created.version(), "labelSelector="+probeLabel+"="+p.namespace+",x=1"))
			for _, value := range []any{"2", "1", nil, "1"} {
				p.patch(ctx, p.item("a"), mergePatch, object{"metadata": object{"labels": object{"x": value}}})
			}
			p.patch(ctx, p.item("a"), mergePatch, p.change(2))
			p.patch(ctx, p.item("a"), mergePatch, object{"metadata": object{"labels": object{"x": "2"}}})
			p.remove(ctx, p.item("a"), nil)
			p.create(ctx, "z", setting(at("metadata.labels.x"), "1"))
			p.sawEvents(ctx, "event", s, "z")
		}},
		behaviour{name: "selected by fields", does: func(ctx context.Context, p *probe) {
			created := p.create(ctx, "a")
			p.create(ctx, "b")
			p.patch(ctx, p.item("b"), mergePatch, p.change(2))
			p.patch(ctx, p.item("a"), mergePatch, p.change(2))
			p.remove(ctx, p.item("b"), nil)
			p.remove(ctx, p.item("a"), nil)
			s := p.watch(ctx, "", "resourceVersion="+created.version(), "fieldSelector=metadata.name="+p.name("a"))
			p.sawEvent(ctx, "changed", s)
			p.sawEvent(ctx, "deleted", s)
			p.sawEvent(ctx, "selected by nothing there is", p.watch(ctx, "", "fieldSelector=metadata.name=nobody", "timeoutSeconds=1"))
		}},
		behaviour{name: "over a websocket", does: func(ctx context.Context, p *probe) {
			r := readAll(open(ctx, suite.webSocket, request{path: p.collection(), query: p.scope("watch=true", "timeoutSeconds=1"), header: map[string]string{
				"Connection": "Upgrade", "Upgrade": "websocket", "Origin": suite.host.URL(), "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
			}}))
			p.note("answer", []any{r.code, r.header.Get("Upgrade")})
		}},
		behaviour{name: "of one object by its path", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("with the parameter", p.get(ctx, p.item("a"), "watch=true", "timeoutSeconds=1"))
			p.note("by the old path", p.get(ctx, p.oldWatchPath()+"/"+p.name("a"), "timeoutSeconds=1").code)
			p.note("of all by the old path", p.get(ctx, p.oldWatchPath(), "timeoutSeconds=1").code)
		}},
	)
})

// oldWatchPath is that of watches before there was a parameter for them.
func (p *probe) oldWatchPath() string {
	if p.global {
		return "/apis/" + p.groupVersion() + "/watch/" + p.plural
	}
	return "/apis/" + p.groupVersion() + "/watch/namespaces/" + p.namespace + "/" + p.plural
}
