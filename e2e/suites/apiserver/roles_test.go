// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// rights are "verb resource.group", subresources with their resource.
type rights []string

// all gives every verb on every resource of a group.
func all(group string, resources, verbs []string) rights {
	var result rights
	for _, resource := range resources {
		for _, verb := range verbs {
			result = append(result, verb+" "+resource+"."+group)
		}
	}
	return result
}

var (
	reads  = []string{"get", "list", "watch"}
	writes = []string{"create", "update", "patch", "delete", "deletecollection"}
	parts  = []string{"get", "update", "patch"}
)

// What docs/security.md says of the roles for people.
var (
	viewRights = slices.Concat(
		all(coreGroup, withStatus("clusters", "releases", "releaseinventories"), reads),
		all(sourceGroup, withStatus("gitrepositories", "helmregistries", "ociregistries"), reads),
		all(extGroup, withStatus("healthrulesets", "globalhealthrulesets"), reads),
	)
	editRights = slices.Concat(viewRights,
		all(coreGroup, []string{"releases"}, writes),
		all(coreGroup, []string{"releases/sync"}, []string{"create"}),
		all(coreGroup, []string{"releases/preview", "releases/diff", "releases/health", "releases/history", "releases/values"}, []string{"get"}),
		all(coreGroup, []string{"releases/pin", "releases/mutations", "releases/lifecycle"}, parts),
		all(sourceGroup, []string{"gitrepositories", "helmregistries", "ociregistries"}, writes),
		all(extGroup, []string{"healthrulesets"}, writes),
	)
	adminRights = slices.Concat(editRights, all(coreGroup, []string{"clusters"}, writes))
)

func withStatus(resources ...string) []string {
	for _, resource := range slices.Clone(resources) {
		resources = append(resources, resource+"/status")
	}
	return resources
}

var _ = Describe("The built-in role", func() {
	for role, want := range map[string]rights{"view": viewRights, "edit": editRights, "admin": adminRights} {
		It(role+" has exactly the documented rights on convoy's kinds", func(ctx SpecContext) {
			namespace := suite.namespace(ctx)
			suite.applyYAML(ctx, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: people, namespace: "%s"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: person-%s}]
`, namespace, role, role))
			person := suite.user("person-" + role)
			Eventually(ctx, func() rights { return person.rights(ctx, namespace) }).Should(ConsistOf(want))
			Expect(person.rights(ctx, "default")).To(BeEmpty(), "in another namespace")
		})
	}
})

// rights are what the host says that the client may do with convoy's kinds.
func (c *client) rights(ctx context.Context, namespace string) rights {
	GinkgoHelper()
	got := c.post(ctx, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	})
	Expect(got.code).To(Equal(http.StatusCreated), got.body)
	var review authorizationv1.SelfSubjectRulesReview
	Expect(json.Unmarshal([]byte(got.body), &review)).To(Succeed())
	var result rights
	for _, rule := range review.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			if strings.HasSuffix(group, ".convoy.kumodo.io") || group == "*" {
				result = append(result, all(group, rule.Resources, rule.Verbs)...)
			}
		}
	}
	slices.Sort(result)
	return slices.Compact(result)
}
