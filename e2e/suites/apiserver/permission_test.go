// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/manifests"
)

// permission is one verb on Releases or on one subresource of them, and the request for which
// it is needed. Requests that write are dry runs, where there are any.
type permission struct {
	verb, subresource string
	request           func(namespace, version string) call
}

func (p permission) resource() string {
	if p.subresource == "" {
		return "releases"
	}
	return "releases/" + p.subresource
}

func (p permission) String() string { return p.verb + " " + p.resource() }

// user is the name of who has only this permission.
func (p permission) user() string { return strings.NewReplacer(" ", "-", "/", "-").Replace(p.String()) }

// permissions are all there are.
func permissions() []permission {
	all := []permission{
		{"list", "", func(namespace, _ string) call { return call{method: http.MethodGet, path: releasesPath(namespace)} }},
		{"watch", "", func(namespace, _ string) call {
			return call{method: http.MethodGet, path: releasesPath(namespace) + "?watch=true&timeoutSeconds=1&resourceVersion=0"}
		}},
		{"create", "", func(namespace, _ string) call {
			return call{method: http.MethodPost, path: releasesPath(namespace) + "?dryRun=All", body: newRelease(namespace, "new")}
		}},
		{"delete", "", func(namespace, _ string) call {
			return call{method: http.MethodDelete, path: releasePath(namespace, "app") + "?dryRun=All"}
		}},
		{"deletecollection", "", func(namespace, _ string) call {
			return call{method: http.MethodDelete, path: releasesPath(namespace) + "?dryRun=All"}
		}},
		{"create", "sync", func(namespace, _ string) call {
			return call{method: http.MethodPost, path: releasePath(namespace, "app", "sync")}
		}},
	}
	for _, subresource := range []string{"", "status", "pin", "mutations", "lifecycle"} {
		all = append(all, read(subresource), permission{"update", subresource, func(namespace, version string) call {
			body := with(newRelease(namespace, "app"), "metadata.resourceVersion", version)
			return call{method: http.MethodPut, path: itemPath(namespace, subresource) + "?dryRun=All", body: body}
		}}, permission{"patch", subresource, func(namespace, _ string) call {
			return call{method: http.MethodPatch, path: itemPath(namespace, subresource) + "?dryRun=All", body: "{}", contentType: mergePatch}
		}})
	}
	for _, subresource := range []string{"preview", "diff", "health", "history", "values"} {
		all = append(all, read(subresource))
	}
	return all
}

func read(subresource string) permission {
	return permission{"get", subresource, func(namespace, _ string) call {
		return call{method: http.MethodGet, path: itemPath(namespace, subresource)}
	}}
}

func itemPath(namespace, subresource string) string {
	if subresource == "" {
		return releasePath(namespace, "app")
	}
	return releasePath(namespace, "app", subresource)
}

// grant gives a user rules in a namespace, by a Role of the user's name.
func (r *rig) grant(ctx context.Context, namespace, user, resource, verb string) {
	GinkgoHelper()
	objects, err := manifests.Parse(fmt.Appendf(nil, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "%[2]s", namespace: "%[1]s"}
rules: [{apiGroups: [core.convoy.kumodo.io], resources: ["%[3]s"], verbs: ["%[4]s"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "%[2]s", namespace: "%[1]s"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "%[2]s"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "%[2]s"}]
`, namespace, user, resource, verb))
	Expect(err).NotTo(HaveOccurred())
	r.apply(ctx, objects...)
}

var _ = Describe("Permissions", func() {
	It("are one for each verb and subresource, at the host and at convoy-apiserver itself", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		all := permissions()
		for _, p := range all {
			suite.grant(ctx, namespace, p.user(), p.resource(), p.verb)
		}
		By("waiting for the last grant to hold")
		last := all[len(all)-1]
		Eventually(ctx, func() int { return suite.user(last.user()).do(ctx, last.request(namespace, "")).code }).Should(Equal(http.StatusOK))

		var mu sync.Mutex
		var wrong []string
		var all4 sync.WaitGroup
		work := make(chan permission)
		for range 4 {
			all4.Go(func() {
				defer GinkgoRecover()
				for holder := range work {
					found := tryAll(ctx, namespace, holder, all)
					mu.Lock()
					wrong = append(wrong, found...)
					mu.Unlock()
				}
			})
		}
		for _, holder := range all {
			work <- holder
		}
		close(work)
		all4.Wait()
		Expect(wrong).To(BeEmpty())
	}, NodeTimeout(2*time.Minute))
})

// tryAll sends every request as who has one permission only, and tells which were answered
// wrongly.
func tryAll(ctx context.Context, namespace string, holder permission, all []permission) []string {
	user := suite.user(holder.user())
	var wrong []string
	for _, asker := range []*client{user, user.at(suite.replicas[0])} {
		for _, wanted := range all {
			version := field(suite.readRelease(ctx, namespace, "app"), "metadata.resourceVersion").(string)
			got := asker.do(ctx, wanted.request(namespace, version))
			if wanted.verb == "update" && got.code == http.StatusConflict {
				got.code = http.StatusOK // let through; another has written meanwhile
			}
			switch {
			case holder.String() == wanted.String() && got.code >= 300:
				wrong = append(wrong, fmt.Sprintf("who may %s is refused at %s: %s", holder, asker.server, got))
			case holder.String() != wanted.String() && (got.code != http.StatusForbidden || !strings.Contains(got.message(), wanted.resource())):
				wrong = append(wrong, fmt.Sprintf("who may %s may %s at %s: %s", holder, wanted, asker.server, got))
			}
		}
	}
	return wrong
}
