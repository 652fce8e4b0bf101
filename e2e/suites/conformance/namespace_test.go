// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Namespace", func() {
	table(
		behaviour{name: "that is deleted takes nothing new and takes all with it", of: namespaced, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.create(ctx, "held", withFinalizer)
			Expect(p.remove(ctx, namespacePath+"/"+p.namespace, nil).code).To(Equal(http.StatusOK))
			// The news reaches a server behind the host a moment later.
			Eventually(ctx, func() int { return p.post(ctx, p.collection(), p.object("b"), "dryRun=All").code }).Should(Equal(http.StatusForbidden))
			p.saw("create", p.post(ctx, p.collection(), p.object("b")))
			p.saw("create with a generated name", p.post(ctx, p.collection(), set(set(p.object("b"), at("metadata.name"), nil), at("metadata.generateName"), "b-")))
			p.saw("apply", p.apply(ctx, "b", "me", p.object("b")))
			p.saw("update", p.patch(ctx, p.item("held"), mergePatch, p.change(2)))
			p.saw("status", p.patch(ctx, p.item("held", "status"), mergePatch, containing(observedGeneration, 1)))
			Eventually(ctx, func() int { return p.get(ctx, p.item("a")).code }).Should(Equal(http.StatusNotFound))
			Eventually(ctx, func() any { return get(p.get(ctx, p.item("held")).object(), at("metadata.deletionTimestamp")) }).ShouldNot(BeNil())
			Eventually(ctx, func() string { return p.remaining(ctx) }).Should(ContainSubstring("RESOURCE"))
			p.note("said of the namespace", p.remaining(ctx))
			p.saw("last", p.patch(ctx, p.item("held"), mergePatch, `{"metadata":{"finalizers":null}}`))
			Eventually(ctx, func() int { return p.get(ctx, namespacePath+"/"+p.namespace).code }).Should(Equal(http.StatusNotFound))
			p.sawList("left", p.list(ctx))
			p.saw("create in what is gone", p.post(ctx, p.collection(), p.object("b")))
		}},
	)
})

// remaining is what the conditions of the probe's namespace say of what is left in it.
func (p *probe) remaining(ctx context.Context) string {
	list, _ := get(p.get(ctx, namespacePath+"/"+p.namespace).object(), conditions).([]any)
	var said []string
	for _, entry := range list {
		condition, _ := entry.(object)
		if kind := fmt.Sprint(condition["type"]); strings.HasSuffix(kind, "Remaining") || condition["status"] == "True" {
			said = append(said, fmt.Sprint(kind, " ", condition["status"], " ", condition["reason"], " ", condition["message"]))
		}
	}
	return p.text(strings.Join(said, "; "))
}

var _ = Describe("Garbage collection", func() {
	configMaps := func(p *probe) string { return "/api/v1/namespaces/" + p.namespace + "/configmaps" }
	configMap := func(name string) object {
		return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}}
	}
	for _, policy := range []string{"Background", "Foreground", "Orphan"} {
		table(
			behaviour{name: policy + " of what a built-in object owns", of: namespaced, does: func(ctx context.Context, p *probe) {
				created := p.post(ctx, configMaps(p), configMap("owner"))
				Expect(created.code).To(Equal(http.StatusCreated))
				p.create(ctx, "a", withFinalizer, setting(at("metadata.ownerReferences"), []any{owner(object{"uid": created.string(at("metadata.uid")), "blockOwnerDeletion": true})}))
				p.awaitCollector(ctx, p.collection(), p.object("sentinel"))
				p.collect(ctx, policy, configMaps(p)+"/owner", p.item("a"))
			}},
			behaviour{name: policy + " of what is owned by this kind", does: func(ctx context.Context, p *probe) {
				created := p.create(ctx, "a")
				dependent := set(configMap("dependent"), finalizers, []any{"convoy.test/hold"})
				set(dependent, at("metadata.ownerReferences"), []any{owner(object{
					"apiVersion": p.groupVersion(), "kind": p.kind, "name": p.name("a"), "uid": created.string(at("metadata.uid")), "blockOwnerDeletion": true,
				})})
				Expect(p.post(ctx, configMaps(p), dependent).code).To(Equal(http.StatusCreated))
				p.awaitCollector(ctx, configMaps(p), configMap("sentinel"))
				p.collect(ctx, policy, p.item("a"), configMaps(p)+"/dependent")
			}},
		)
	}
	table(behaviour{name: "of what an owner left that never was", of: namespaced, does: func(ctx context.Context, p *probe) {
		p.create(ctx, "a", setting(at("metadata.ownerReferences"), []any{owner(nil)}))
		p.create(ctx, "b", setting(at("metadata.ownerReferences"), []any{owner(object{"apiVersion": p.groupVersion(), "kind": p.kind, "name": "nobody"})}))
		for _, name := range []string{"a", "b"} {
			Eventually(ctx, func() int { return p.get(ctx, p.item(name)).code }).Should(Equal(http.StatusNotFound))
			p.note(name, "gone")
		}
	}})
})

// awaitCollector returns when the garbage collector knows all objects of a collection that
// were made so far: when it has deleted one more, whose owner never was.
func (p *probe) awaitCollector(ctx context.Context, collection string, sentinel object) {
	GinkgoHelper()
	set(sentinel, at("metadata.ownerReferences"), []any{owner(nil)})
	created := p.post(ctx, collection, sentinel)
	Expect(created.code).To(Equal(http.StatusCreated), string(created.body))
	Eventually(ctx, func() int { return p.get(ctx, collection+"/"+created.string(at("metadata.name"))).code }).Should(Equal(http.StatusNotFound))
}

// collect deletes an owner whose dependent is held by a finalizer, and notes what becomes
// of both.
func (p *probe) collect(ctx context.Context, policy, owner, dependent string) {
	GinkgoHelper()
	deleted := p.remove(ctx, owner, object{"propagationPolicy": policy})
	p.note("answer", deleted.code)
	meta := func(path string, field string) func() any {
		return func() any { return get(p.get(ctx, path).object(), at("metadata."+field)) }
	}
	code := func(path string) func() int {
		return func() int { return p.get(ctx, path).code }
	}
	if policy == "Orphan" {
		Eventually(ctx, code(owner)).Should(Equal(http.StatusNotFound))
		p.note("the dependent has owners", meta(dependent, "ownerReferences")() != nil)
		p.note("and is deleted", meta(dependent, "deletionTimestamp")() != nil)
		return
	}
	Eventually(ctx, meta(dependent, "deletionTimestamp")).ShouldNot(BeNil())
	p.note("the owner waits", code(owner)() == http.StatusOK)
	p.note("by", meta(owner, "finalizers")())
	p.note("the dependent waits", meta(dependent, "finalizers")())
	p.patch(ctx, dependent, mergePatch, `{"metadata":{"finalizers":null}}`)
	Eventually(ctx, code(dependent)).Should(Equal(http.StatusNotFound))
	Eventually(ctx, code(owner)).Should(Equal(http.StatusNotFound))
	p.note("in the end", "both are gone")
}
