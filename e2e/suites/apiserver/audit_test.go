// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// recorded waits for the one event with an id in a log: it is written after the answer.
func recorded(ctx context.Context, id string, logs ...string) event {
	GinkgoHelper()
	var found []event
	Eventually(ctx, func() []event {
		found = nil
		for _, log := range logs {
			found = append(found, find(readAudit(log), func(e event) bool { return e.AuditID == id && e.Stage == "ResponseComplete" })...)
		}
		return found
	}).Should(HaveLen(1))
	return found[0]
}

func (r *rig) convoyLogs() []string {
	var logs []string
	for _, one := range r.replicas {
		logs = append(logs, one.auditLog)
	}
	return logs
}

var _ = Describe("The audit logs of the host and of convoy-apiserver", func() {
	It("tell of each request of a subresource: who, what, on which, and with what result", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		for _, p := range permissions() {
			if p.subresource == "" {
				continue
			}
			suite.grant(ctx, namespace, "carol", p.resource(), "*")
			carol := suite.user("carol", "auditors")
			version := field(suite.readRelease(ctx, namespace, "app"), "metadata.resourceVersion").(string)
			var got answer
			Eventually(ctx, func() int {
				got = carol.do(ctx, p.request(namespace, version))
				return got.code
			}).Should(Equal(http.StatusOK), p.String())
			id := got.header.Get("Audit-Id")
			Expect(id).NotTo(BeEmpty())
			for _, logs := range [][]string{{suite.path("host", "audit.log")}, suite.convoyLogs()} {
				e := recorded(ctx, id, logs...)
				Expect(e.Verb).To(Equal(p.verb), "%s in %v", p, logs)
				Expect(e.User.Username).To(Equal("carol"))
				Expect(e.User.Groups).To(ContainElement("auditors"))
				Expect(e.ObjectRef.Resource).To(Equal("releases"))
				Expect(e.ObjectRef.Subresource).To(Equal(p.subresource))
				Expect([]string{e.ObjectRef.Namespace, e.ObjectRef.Name, e.ObjectRef.APIGroup}).To(Equal([]string{namespace, "app", coreGroup}))
				Expect(e.ResponseStatus.Code).To(Equal(http.StatusOK))
				Expect(e.RequestURI).To(Equal(p.request(namespace, version).path))
			}
		}
	}, NodeTimeout(time.Minute))

	It("have the bodies that the policy asks for, in convoy-apiserver's", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		pinned := suite.admin.patch(ctx, releasePath(namespace, "app", "pin"), `{"spec":{"pin":{"revision":"main@sha1:0123456789012345678901234567890123456789"}}}`)
		Expect(pinned.code).To(Equal(http.StatusOK), pinned.body)
		e := recorded(ctx, pinned.header.Get("Audit-Id"), suite.convoyLogs()...)
		Expect(string(e.RequestObject)).To(ContainSubstring("main@sha1:"))
		Expect(string(e.ResponseObject)).To(ContainSubstring(`"clusterRef"`))
		synced := suite.admin.post(ctx, releasePath(namespace, "app", "sync")+"?force=true", nil)
		e = recorded(ctx, synced.header.Get("Audit-Id"), suite.convoyLogs()...)
		Expect(e.RequestURI).To(HaveSuffix("/sync?force=true"))
		Expect(string(e.ResponseObject)).To(ContainSubstring(`"sync-force-requested-at`[1:]), "what was answered")
	})

	It("tell by whom a request was authorized: by the host alone, or by the host upon a question", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		suite.grant(ctx, namespace, "erin", "releases", "get")
		erin := suite.user("erin")
		Eventually(ctx, func() int { return erin.get(ctx, releasePath(namespace, "app")).code }).Should(Equal(http.StatusOK))
		for _, c := range []struct {
			asker  *client
			reason string
		}{{erin, "authorized by the host"}, {erin.at(suite.replicas[0]), "RBAC: allowed by RoleBinding"}} {
			got := c.asker.get(ctx, releasePath(namespace, "app"))
			Expect(got.code).To(Equal(http.StatusOK), got.body)
			e := recorded(ctx, got.header.Get("Audit-Id"), suite.convoyLogs()...)
			Expect(e.Annotations["authorization.k8s.io/reason"]).To(ContainSubstring(c.reason))
		}
	})

	It("name who acted and in whose name", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		suite.grant(ctx, namespace, "dave", "releases/sync", "create")
		var got answer
		Eventually(ctx, func() int {
			got = suite.admin.do(ctx, call{method: http.MethodPost, path: releasePath(namespace, "app", "sync"), header: map[string]string{"Impersonate-User": "dave"}})
			return got.code
		}).Should(Equal(http.StatusOK))
		id := got.header.Get("Audit-Id")
		host := recorded(ctx, id, suite.path("host", "audit.log"))
		Expect(host.User.Username).To(Equal("admin"))
		Expect(host.ImpersonatedUser.Username).To(Equal("dave"))
		Expect(recorded(ctx, id, suite.convoyLogs()...).User.Username).To(Equal("dave"))
	})

	It("tell of what was refused where it was refused", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		mallory := suite.user("mallory")
		atHost := mallory.post(ctx, releasePath(namespace, "app", "sync"), nil)
		Expect(atHost.code).To(Equal(http.StatusForbidden))
		e := recorded(ctx, atHost.header.Get("Audit-Id"), suite.path("host", "audit.log"))
		Expect(e.Annotations).To(HaveKeyWithValue("authorization.k8s.io/decision", "forbid"))
		direct := mallory.at(suite.replicas[1]).post(ctx, releasePath(namespace, "app", "sync"), nil)
		Expect(direct.code).To(Equal(http.StatusForbidden))
		e = recorded(ctx, direct.header.Get("Audit-Id"), suite.convoyLogs()...)
		Expect(e.Annotations).To(HaveKeyWithValue("authorization.k8s.io/decision", "forbid"))
		Expect([]string{e.User.Username, e.Verb, e.ObjectRef.Subresource}).To(Equal([]string{"mallory", "create", "sync"}))
		all := slices.Concat(readAudit(suite.convoyLogs()[0]), readAudit(suite.convoyLogs()[1]))
		Expect(find(all, func(e event) bool { return e.AuditID == atHost.header.Get("Audit-Id") })).To(BeEmpty())
	})
})
