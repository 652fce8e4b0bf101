// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("HTTP", func() {
	table(
		behaviour{name: "headers of answers", does: func(ctx context.Context, p *probe) {
			headers := func(step string, r *response) {
				shown := object{}
				for name, values := range r.header {
					// The host and the server behind it may each give a value.
					shown[name] = len(slices.Compact(slices.Clone(values)))
				}
				shown["Cache-Control is"] = slices.Compact(slices.Clone(r.header.Values("Cache-Control")))
				delete(shown, "Content-Length")
				p.note(step, shown)
			}
			headers("create", p.post(ctx, p.collection(), p.object("a")))
			headers("get", p.get(ctx, p.item("a")))
			headers("list", p.list(ctx))
			headers("missing", p.get(ctx, p.item("b")))
			headers("delete", p.remove(ctx, p.item("a"), nil))
		}},
		behaviour{name: "methods that there are not", like: builtin, why: noHandWork, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, method := range []string{http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodPatch, http.MethodTrace, "NONSENSE"} {
				p.sawHeader(method+" on the collection", p.send(ctx, request{method: method, path: p.collection()}), "Allow")
			}
			for _, method := range []string{http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodTrace, "NONSENSE"} {
				p.sawHeader(method+" on the object", p.send(ctx, request{method: method, path: p.item("a")}), "Allow")
			}
		}},
		behaviour{name: "paths that there are not", like: builtin, why: noHandWork, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.saw("subresource", p.get(ctx, p.item("a", "nonsense")))
			p.saw("written subresource", p.put(ctx, p.item("a", "nonsense"), p.object("a")))
			p.saw("below a subresource", p.get(ctx, p.item("a", "status", "more")))
			p.saw("subresource of nobody", p.get(ctx, p.item("b", "nonsense")))
			p.saw("resource", p.get(ctx, strings.Replace(p.collection(), p.plural, "nonsense", 1)))
			p.saw("kind for resource", p.get(ctx, strings.Replace(p.collection(), p.plural, p.kind, 1)))
			p.saw("slash at the end", p.get(ctx, p.collection()+"/"))
			p.saw("two slashes", p.get(ctx, strings.Replace(p.collection(), "/"+p.plural, "//"+p.plural, 1)))
		}},
		behaviour{
			name: "a version that there is not", like: custom,
			why: "for groups that are not its own the host itself answers",
			does: func(ctx context.Context, p *probe) {
				p.saw("version", p.get(ctx, strings.Replace(p.collection(), "/"+p.version+"/", "/v7/", 1)))
			},
		},
		behaviour{name: "media types of answers", of: onlyPrincipals, like: builtin, why: noHandWork, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, accept := range []string{
				"*/*", "application/*", "", "application/json", yamlType, "application/json;pretty=1", "application/cbor", "text/plain", "text/html", "application/xml",
				"application/json;as=Nonsense", "application/json;stream=watch", "text/html,application/xhtml+xml,*/*;q=0.8", "nonsense",
			} {
				r := p.in(ctx, accept, p.item("a"))
				p.note(accept, object{"code": r.code, "type": r.header.Get("Content-Type"), "reason": r.string(at("reason")), "message": p.text(r.string(at("message")))})
			}
			p.saw("error in YAML", p.in(ctx, yamlType, p.item("nobody")))
			p.saw("error in what is not known", p.in(ctx, "text/plain", p.item("nobody")))
		}},
		behaviour{
			name: "protobuf", of: onlyPrincipals, like: custom,
			why: "only built-in kinds have a form in protobuf",
			does: func(ctx context.Context, p *probe) {
				p.create(ctx, "a")
				p.note("object", p.in(ctx, protobufType, p.item("a")).code)
				p.note("list", p.in(ctx, protobufType, p.collection()).code)
				p.note("watch", p.in(ctx, protobufType+";stream=watch", p.collection(), "watch=true", "timeoutSeconds=1").code)
				p.saw("or else JSON", p.in(ctx, protobufType+",application/json", p.item("a")))
				p.saw("or else JSON for a list", p.in(ctx, protobufType+",application/json", p.collection()))
			},
		},
		behaviour{name: "media types of watches", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			for _, accept := range []string{"*/*", "application/json", yamlType, "application/json;stream=watch", "text/plain"} {
				r := p.in(ctx, accept, p.collection(), "watch=true", "timeoutSeconds=1", "resourceVersion="+p.list(ctx).version())
				p.note(accept, object{"code": r.code, "type": r.header.Get("Content-Type")})
			}
		}},
		behaviour{name: "pretty printing", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			pretty := func(r *response) bool { return bytes.Contains(r.body, []byte("\n  \"")) }
			for _, value := range []string{"", "pretty=true", "pretty=1", "pretty=false", "pretty=0", "pretty=nonsense"} {
				p.note("get "+value, pretty(p.get(ctx, p.item("a"), value)))
				p.note("list "+value, pretty(p.get(ctx, p.collection(), value)))
				p.note("missing "+value, pretty(p.get(ctx, p.item("b"), value)))
			}
			for _, agent := range []string{"curl/8", "Wget/1", "Mozilla/5.0", "kubectl/v1"} {
				p.note("for "+agent, pretty(p.send(ctx, request{path: p.item("a"), header: map[string]string{"User-Agent": agent}})))
			}
			p.note("ends with a newline", bytes.HasSuffix(p.get(ctx, p.item("a")).body, []byte("\n")))
		}},
		behaviour{name: "compression of large answers", of: onlyPrincipals, does: compress},
		behaviour{name: "parameters that are not known or doubled", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.sawObject("unknown", p.get(ctx, p.item("a"), "nonsense=1"))
			p.sawObject("doubled", p.get(ctx, p.item("a"), "resourceVersion=0", "resourceVersion=0"))
			p.sawObject("of a list on an object", p.get(ctx, p.item("a"), "limit=1", "labelSelector=no=body"))
			p.sawObject("a timeout", p.get(ctx, p.item("a"), "timeout=30s"))
			p.saw("a faulty timeout", p.get(ctx, p.item("a"), "timeout=soon"))
			p.saw("faulty escape", p.send(ctx, request{path: p.item("a"), query: "pretty=%zz"}))
		}},
		behaviour{name: "discovery of the resource", like: builtin, why: "custom resources list their verbs in another order, and repeat group and version", does: discover},
	)
})

// Custom resources fall over such a request, so there is nothing to compare with.
var _ = It("HTTP bodies in protobuf are refused", func(ctx SpecContext) {
	for _, s := range subjects {
		if s.role == ours {
			p := newProbe(ctx, s)
			r := p.postAs(ctx, protobufType, "k8s\x00")
			Expect(r.code).To(Equal(http.StatusUnsupportedMediaType), s.kind)
			Expect(r.string(at("reason"))).To(Equal("UnsupportedMediaType"))
		}
	}
})

// compress lists objects that are together large enough to be worth compressing.
func compress(ctx context.Context, p *probe) {
	long := setting(at("metadata.annotations"), object{"x": strings.Repeat("x", 100<<10)})
	for _, name := range []string{"a", "b"} {
		p.create(ctx, name, long)
	}
	for _, accept := range []string{"gzip", "deflate", "identity", "gzip;q=0"} {
		large := p.send(ctx, request{path: p.collection(), query: p.scope(), header: map[string]string{"Accept-Encoding": accept}})
		p.note("list "+accept, object{"code": large.code, "encoding": large.header.Values("Content-Encoding"), "vary": large.header.Values("Vary")})
		if large.header.Get("Content-Encoding") == "gzip" {
			reader, err := gzip.NewReader(bytes.NewReader(large.body))
			Expect(err).NotTo(HaveOccurred())
			body, err := io.ReadAll(reader)
			Expect(err).NotTo(HaveOccurred())
			p.note("items", len((&response{body: body}).items()))
		}
		small := p.send(ctx, request{path: p.item("b", "status"), header: map[string]string{"Accept-Encoding": accept}})
		p.note("object "+accept, object{"code": small.code, "encoding": small.header.Values("Content-Encoding")})
	}
}

// discover notes what the two forms of discovery say of the resource and its status.
func discover(ctx context.Context, p *probe) {
	var plain struct {
		GroupVersion string
		Resources    []struct {
			Name, SingularName, Kind, StorageVersionHash, Group, Version string
			Namespaced                                                   bool
			Verbs, ShortNames                                            []string
		}
	}
	Expect(json.Unmarshal(p.get(ctx, "/apis/"+p.groupVersion()).body, &plain)).To(Succeed())
	for _, resource := range plain.Resources {
		if resource.Name == p.plural || resource.Name == p.plural+"/status" {
			p.note("plain", object{
				"name": p.text(resource.Name), "singular": resource.SingularName == p.singular, "kind": p.text(resource.Kind), "namespaced": resource.Namespaced,
				"hash": resource.StorageVersionHash != "", "verbs": fmt.Sprint(resource.Verbs), "group": resource.Group, "version": resource.Version,
				"short": len(resource.ShortNames) > 0 == (resource.Name == p.plural && p.shortName != ""),
			})
		}
	}
	group := p.get(ctx, "/apis/"+p.group)
	versions, _ := group.object()["versions"].([]any)
	p.note("group", []any{group.code, group.string(at("kind")), group.string(at("name")) == p.group, len(versions), group.string(at("preferredVersion.version")) == p.version})
	r := p.in(ctx, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "/apis")
	groups, _ := r.object()["items"].([]any)
	for _, entry := range groups {
		group, _ := entry.(object)
		if get(group, at("metadata.name")) != p.group {
			continue
		}
		versions, _ = group["versions"].([]any)
		version, _ := versions[0].(object)
		p.note("aggregated", object{"version": version["version"] == p.version, "fresh": version["freshness"]})
		resources, _ := version["resources"].([]any)
		for _, entry := range resources {
			resource, _ := entry.(object)
			if resource["resource"] != p.plural {
				continue
			}
			p.note("resource", object{
				"kind": p.text(encoded(resource["responseKind"])), "scope": resource["scope"], "singular": resource["singularResource"] == p.singular, "verbs": fmt.Sprint(resource["verbs"]),
			})
			subresources, _ := resource["subresources"].([]any)
			for _, entry := range subresources {
				if sub, _ := entry.(object); sub["subresource"] == "status" {
					p.note("status", object{"kind": p.text(encoded(sub["responseKind"])), "verbs": fmt.Sprint(sub["verbs"])})
				}
			}
		}
	}
}
