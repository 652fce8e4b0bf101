// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const rbacPath = "/apis/rbac.authorization.k8s.io/v1"

// user sends requests as a user of the probe's own, who has no rights but those that are
// granted.
type user struct {
	*probe
}

func (u user) send(ctx context.Context, method, path string, body any, contentType string, parameters ...string) *response {
	GinkgoHelper()
	header := map[string]string{"Impersonate-User": u.namespace}
	if contentType != "" {
		header["Content-Type"] = contentType
	}
	return u.probe.send(ctx, request{method: method, path: path, body: body, query: query(parameters...), header: header})
}

// grant gives the user rights to the resource, and returns when they hold.
func (u user) grant(ctx context.Context, resource string, names []string, verbs ...string) {
	GinkgoHelper()
	rule := object{"apiGroups": []any{u.group}, "resources": []any{resource}, "verbs": verbs}
	if names != nil {
		rule["resourceNames"] = names
	}
	role := object{"metadata": object{"generateName": u.namespace + "-"}, "rules": []any{rule}}
	scope, roleKind := rbacPath+"/namespaces/"+u.namespace, "Role"
	if u.global {
		scope, roleKind = rbacPath, "ClusterRole"
	}
	prefix := strings.ToLower(roleKind)
	created := u.post(ctx, scope+"/"+prefix+"s", role)
	Expect(created.code).To(Equal(http.StatusCreated), string(created.body))
	bound := u.post(ctx, scope+"/"+prefix+"bindings", object{
		"metadata": object{"generateName": u.namespace + "-"},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": roleKind, "name": created.string(at("metadata.name"))},
		"subjects": []any{object{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": u.namespace}},
	})
	Expect(bound.code).To(Equal(http.StatusCreated), string(bound.body))
	u.awaitRight(ctx, resource, names, verbs[0])
}

func (u user) awaitRight(ctx context.Context, resource string, names []string, verb string) {
	GinkgoHelper()
	resource, subresource, _ := strings.Cut(resource, "/")
	attributes := object{"group": u.group, "resource": resource, "subresource": subresource, "verb": verb}
	if !u.global {
		attributes["namespace"] = u.namespace
	}
	if names != nil {
		attributes["name"] = names[0]
	}
	review := object{"spec": object{"user": u.namespace, "resourceAttributes": attributes}}
	Eventually(ctx, func() any {
		return get(u.post(ctx, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review).object(), at("status.allowed"))
	}).Should(Equal(true))
}

// tryAll sends a request of each kind, and notes the answers that are refusals.
func (u user) tryAll(ctx context.Context, step string) {
	GinkgoHelper()
	try := func(verb, method, path string, body any, contentType string, parameters ...string) {
		r := u.send(ctx, method, path, body, contentType, parameters...)
		if r.code == http.StatusForbidden {
			u.saw(step+" "+verb, r)
		} else {
			u.note(step+" "+verb, r.code)
		}
	}
	stored := u.get(ctx, u.item("a")).object()
	try("get", "GET", u.item("a"), nil, "")
	try("list", "GET", u.collection(), nil, "", "labelSelector="+probeLabel+"="+u.namespace)
	try("list one", "GET", u.collection(), nil, "", "fieldSelector=metadata.name="+u.name("a"))
	try("watch", "GET", u.collection(), nil, "", "watch=true", "timeoutSeconds=1", "fieldSelector=metadata.name=nobody")
	try("create", "POST", u.collection(), u.object("b"), jsonType, "dryRun=All")
	try("update", "PUT", u.item("a"), stored, jsonType)
	try("update of nothing", "PUT", u.item("c"), set(u.object("c"), at("metadata.resourceVersion"), "1"), jsonType)
	try("patch", "PATCH", u.item("a"), object{}, mergePatch)
	try("apply", "PATCH", u.item("a"), u.identity("a"), applyPatch, "fieldManager=me")
	try("apply of nothing", "PATCH", u.item("c"), u.object("c"), applyPatch, "fieldManager=me", "dryRun=All")
	try("delete", "DELETE", u.item("a"), nil, "", "dryRun=All")
	try("delete of all", "DELETE", u.collection(), nil, "", "labelSelector="+probeLabel+"="+u.namespace, "dryRun=All")
	try("get of the status", "GET", u.item("a", "status"), nil, "")
	try("update of the status", "PUT", u.item("a", "status"), stored, jsonType)
	try("patch of the status", "PATCH", u.item("a", "status"), object{}, mergePatch)
	try("get of what there is not", "GET", u.item("a", "nonsense"), nil, "")
}

var _ = Describe("Rights", func() {
	table(
		behaviour{name: "of nobody", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			user{p}.tryAll(ctx, "without rights")
		}},
		behaviour{name: "to each verb alone", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
				single := newProbe(ctx, p.subject)
				single.create(ctx, "a")
				user{single}.grant(ctx, p.plural, nil, verb)
				user{single}.tryAll(ctx, verb)
				p.lines = append(p.lines, single.lines...)
			}
		}},
		behaviour{name: "to the status alone", does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			user{p}.grant(ctx, p.plural+"/status", nil, "get", "update", "patch")
			user{p}.tryAll(ctx, "status")
		}},
		behaviour{name: "to one object", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			p.create(ctx, "b")
			u := user{p}
			u.grant(ctx, p.plural, []string{p.name("a")}, "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
			u.tryAll(ctx, "one")
			p.saw("the other", u.send(ctx, "GET", p.item("b"), nil, ""))
		}},
		behaviour{name: "of who is not known", of: onlyPrincipals, does: func(ctx context.Context, p *probe) {
			p.create(ctx, "a")
			for _, header := range []string{"Bearer nonsense", ""} {
				p.saw("token "+header, send(ctx, suite.anonymous, request{server: p.server(), path: p.item("a"), header: map[string]string{"Authorization": header}}))
			}
			// What the host says of the user in front is believed of the host only.
			r := send(ctx, suite.anonymous, request{server: p.server(), path: p.item("a"), header: map[string]string{"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}})
			p.saw("a forged user", r)
			p.note("a certificate of the cluster", p.send(ctx, request{server: p.server(), path: p.item("a")}).code)
		}},
	)
})

// server is where the kind's own server answers, with no other before it.
func (p *probe) server() string {
	if p.role == ours {
		return suite.convoy.APIServerURL()
	}
	return suite.host.URL()
}
