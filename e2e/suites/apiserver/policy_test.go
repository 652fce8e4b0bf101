// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// applyPolicy makes a policy with a binding for a namespace, both of its name. The policy's
// spec has one validation for what is sent to paths; more is added to that of the policy.
func (r *rig) applyPolicy(ctx context.Context, namespace, resources, operations, expression, more, binding string) {
	GinkgoHelper()
	r.applyYAML(ctx, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: "%[1]s"}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [core.convoy.kumodo.io], apiVersions: ["*"], operations: [%[3]s], resources: [%[2]s]}
  validations:
  - {expression: '%[4]s', message: "the policy says no"}
%[5]s
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: "%[1]s"}
spec:
  policyName: "%[1]s"
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "%[1]s"}}}
%[6]s
`, namespace, resources, operations, expression, more, binding))
}

const denies = `  validationActions: [Deny]`

var _ = Describe("A validating admission policy of the host", func() {
	It("holds for the fields of a spec", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.applyPolicy(ctx, namespace, "releases", "CREATE, UPDATE", `!has(object.spec.wave) || object.spec.wave < 10`, "", denies)
		bad := with(newRelease(namespace, "bad"), "spec.wave", 10)
		Eventually(ctx, func() string {
			return suite.admin.post(ctx, releasesPath(namespace)+"?dryRun=All", bad).message()
		}).Should(ContainSubstring("the policy says no"))
		Expect(suite.admin.post(ctx, releasesPath(namespace), bad).code).To(Equal(http.StatusUnprocessableEntity))
		suite.createRelease(ctx, namespace, "app")
		got := suite.admin.patch(ctx, releasePath(namespace, "app"), `{"spec":{"wave":11}}`)
		Expect(got.message()).To(ContainSubstring("the policy says no"))
		Expect(field(suite.readRelease(ctx, namespace, "app"), "spec.wave")).NotTo(BeEquivalentTo(11))
	})

	It("can warn instead", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.applyPolicy(ctx, namespace, "releases", "CREATE", `object.spec.wave < 10`, "", `  validationActions: [Warn]`)
		body := with(newRelease(namespace, "app"), "spec.wave", 10)
		Eventually(ctx, func() string {
			return suite.admin.post(ctx, releasesPath(namespace)+"?dryRun=All", body).header.Get("Warning")
		}).Should(ContainSubstring("the policy says no"))
	})

	It("holds for the options of a sync, and for a pin", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		suite.applyPolicy(ctx, namespace, "releases/sync", "CONNECT", `!has(object.force) || !object.force`, "", denies)
		Eventually(ctx, func() string {
			return suite.admin.post(ctx, releasePath(namespace, "app", "sync")+"?force=true", nil).message()
		}).Should(ContainSubstring("the policy says no"))
		Expect(suite.admin.post(ctx, releasePath(namespace, "app", "sync"), nil).code).To(Equal(http.StatusOK))

		other := suite.namespace(ctx)
		suite.createRelease(ctx, other, "app")
		suite.applyPolicy(ctx, other, "releases/pin", "UPDATE", `has(object.spec.pin.reason)`, "", denies)
		pin := `{"spec":{"pin":{"revision":"main@sha1:0123456789012345678901234567890123456789"%s}}}`
		Eventually(ctx, func() string {
			return suite.admin.patch(ctx, releasePath(other, "app", "pin")+"?dryRun=All", fmt.Sprintf(pin, "")).message()
		}).Should(ContainSubstring("the policy says no"))
		Expect(suite.admin.patch(ctx, releasePath(other, "app", "pin"), fmt.Sprintf(pin, `,"reason":"r"`)).code).To(Equal(http.StatusOK))
	})

	It("reads its parameters, once convoy-apiserver may read their kind", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		_, err := suite.kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "limits"}, Data: map[string]string{"wave": "3"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		suite.applyPolicy(ctx, namespace, "releases", "CREATE", `object.spec.wave <= int(params.data.wave)`,
			"  paramKind: {apiVersion: v1, kind: ConfigMap}", denies+"\n  paramRef: {name: limits, parameterNotFoundAction: Deny}")
		create := func() string {
			return suite.admin.post(ctx, releasesPath(namespace)+"?dryRun=All", with(newRelease(namespace, "app"), "spec.wave", 4)).message()
		}
		By("without the right, what the policy matches is refused")
		Eventually(ctx, create).Should(ContainSubstring("not yet synced to use for admission"))
		By("with the right, it holds")
		suite.applyYAML(ctx, fmt.Sprintf(paramReader, namespace))
		Eventually(ctx, create).Should(ContainSubstring("the policy says no"))
		got := suite.admin.post(ctx, releasesPath(namespace), with(newRelease(namespace, "app"), "spec.wave", 3))
		Expect(got.code).To(Equal(http.StatusCreated), got.body)
	})
})

// paramReader lets convoy-apiserver read the parameters of policies that are ConfigMaps.
const paramReader = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "params-%[1]s"}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "params-%[1]s"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "params-%[1]s"}
subjects: [{kind: ServiceAccount, name: convoy-apiserver, namespace: convoy-system}]
`

var _ = Describe("A mutating admission policy of the host", func() {
	It("has no effect unless the plugin is turned on", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.applyYAML(ctx, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: "%[1]s"}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: ["", core.convoy.kumodo.io], apiVersions: ["*"], operations: [CREATE], resources: [configmaps, releases]}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/annotations", value: {"by": "policy"}}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: "%[1]s"}
spec:
  policyName: "%[1]s"
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "%[1]s"}}}
`, namespace))
		By("waiting until the host follows it")
		Eventually(ctx, func() map[string]string {
			created, err := suite.kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c"}}, metav1.CreateOptions{DryRun: []string{"All"}})
			Expect(err).NotTo(HaveOccurred())
			return created.Annotations
		}).Should(HaveKey("by"))
		Expect(field(suite.createRelease(ctx, namespace, "app"), "metadata.annotations")).To(BeNil())
	})
})
