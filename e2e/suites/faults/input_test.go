// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// fault is bad input to a Release and where and how it must be named.
type fault struct {
	name      string
	files     map[string]string
	change    func(n *scenario.Namespace, r *corev1alpha1.Release)
	prepare   func(ctx SpecContext, n *scenario.Namespace)
	condition string
	reason    string
	message   []string
}

var faults = []fault{
	{name: "an unreachable Git URL", condition: corev1alpha1.ConditionSourceReady, reason: corev1alpha1.ReasonUnreachable, message: []string{"127.0.0.1:1"},
		prepare: func(ctx SpecContext, n *scenario.Namespace) {
			n.Apply(ctx, "apiVersion: source.convoy.kumodo.io/v1alpha1\nkind: GitRepository\nmetadata: {name: far, namespace: "+n.Name+"}\n"+
				"spec: {url: 'http://127.0.0.1:1/x.git'}\n")
		},
		change: func(_ *scenario.Namespace, r *corev1alpha1.Release) { r.Spec.Source.Git.RepositoryRef.Name = "far" }},
	{name: "a repository that is not there", condition: corev1alpha1.ConditionSourceReady, reason: corev1alpha1.ReasonSourceNotFound, message: []string{"GitRepository", "nowhere"},
		change: func(_ *scenario.Namespace, r *corev1alpha1.Release) { r.Spec.Source.Git.RepositoryRef.Name = "nowhere" }},
	{name: "a branch that is not there", condition: corev1alpha1.ConditionSourceReady, reason: corev1alpha1.ReasonRevisionNotFound, message: []string{"nobranch"},
		change: func(_ *scenario.Namespace, r *corev1alpha1.Release) {
			r.Spec.Source.Git.Ref = corev1alpha1.GitRef{Branch: "nobranch"}
		}},
	{name: "a path that is not there", condition: corev1alpha1.ConditionSourceReady, reason: corev1alpha1.ReasonRevisionNotFound, message: []string{"nopath"},
		change: func(_ *scenario.Namespace, r *corev1alpha1.Release) { r.Spec.Source.Git.Path = "nopath" }},
	{name: "a chart that does not render", condition: corev1alpha1.ConditionRendered, reason: corev1alpha1.ReasonRenderFailed, message: []string{"who must be set", "templates/cm.yaml"},
		files: map[string]string{"app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
			"app/templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {who: {{ required \"who must be set\" .Values.who }}}\n"}},
	{name: "a manifest that is no YAML", condition: corev1alpha1.ConditionRendered, reason: corev1alpha1.ReasonRenderFailed, message: []string{"app/bad.yaml"},
		files: map[string]string{"app/bad.yaml": "a: [1,\n"}},
	{name: "an unknown kind", condition: corev1alpha1.ConditionRendered, reason: corev1alpha1.ReasonUnknownKind, message: []string{"Gadget", "app/g.yaml"},
		files: map[string]string{"app/g.yaml": "apiVersion: nowhere.example/v1\nkind: Gadget\nmetadata: {name: g}\n"}},
	{name: "a Secret with values that is not there", condition: corev1alpha1.ConditionRendered, reason: corev1alpha1.ReasonSecretNotFound, message: []string{"nosecret"},
		files: map[string]string{"app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n"},
		change: func(_ *scenario.Namespace, r *corev1alpha1.Release) {
			r.Spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderHelm, Helm: &corev1alpha1.HelmRender{
				ValuesFrom: []corev1alpha1.ValuesReference{{Kind: "Secret", Name: "nosecret"}}}}
		}},
	{name: "a Cluster that is not there", condition: corev1alpha1.ConditionReady, reason: corev1alpha1.ReasonClusterNotFound, message: []string{"nocluster"},
		change: func(_ *scenario.Namespace, r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "nocluster" }},
	{name: "a target that cannot be reached", condition: corev1alpha1.ConditionReady, reason: corev1alpha1.ReasonTargetUnreachable, message: []string{"127.0.0.1:1"},
		prepare: func(ctx SpecContext, n *scenario.Namespace) {
			kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
				"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: token-canary}}]\n"
			secret(ctx, n, "far", map[string]string{"kubeconfig": kubeconfig})
			n.Apply(ctx, "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Cluster\nmetadata: {name: far, namespace: "+n.Name+"}\n"+
				"spec: {mode: agentless, agentless: {auth: {type: kubeconfig, kubeconfig: {secretRef: {name: far}}}}}\n")
		},
		change: func(_ *scenario.Namespace, r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "far" }},
	{name: "an object that the target refuses", condition: corev1alpha1.ConditionApplied, reason: corev1alpha1.ReasonApplyFailed, message: []string{"Service", "bad", "port"},
		files: map[string]string{"app/s.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 70000}]}\n"}},
}

func secret(ctx SpecContext, n *scenario.Namespace, name string, data map[string]string) {
	GinkgoHelper()
	_, err := n.HostClient.CoreV1().Secrets(n.Name).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

var _ = Describe("Bad input", func() {
	for _, f := range faults {
		It(f.name+" is named, and nobody else is held up", func(ctx SpecContext) {
			files := f.files
			if files == nil {
				files = map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "1")}
			}
			files["good/good.yaml"] = scenario.ConfigMap("good", "v", "1")
			n := suite.NewNamespace(ctx, files)
			good := n.GitRelease("good", scenario.Here, "good")
			n.Create(ctx, good)
			n.AwaitReady(ctx, "good")
			if f.prepare != nil {
				f.prepare(ctx, n)
			}
			release := n.GitRelease("bad", scenario.Edge, "app")
			if f.change != nil {
				f.change(n, release)
			}
			n.Create(ctx, release)

			Eventually(ctx, func() string {
				condition := n.AwaitCondition(ctx, "bad", f.condition, metav1.ConditionFalse)
				return condition.Reason
			}).Should(Equal(f.reason))
			condition := n.AwaitCondition(ctx, "bad", f.condition, metav1.ConditionFalse)
			for _, text := range f.message {
				Expect(condition.Message).To(ContainSubstring(text))
			}
			ready := n.AwaitCondition(ctx, "bad", corev1alpha1.ConditionReady, metav1.ConditionFalse)
			Expect(ready.Message).NotTo(BeEmpty())
			Expect(condition.Message).NotTo(ContainSubstring("canary"))
			n.AwaitReady(ctx, "good")
			Expect(suite.Environment.Convoy.Err()).To(Succeed(), "no process ended")
		}, NodeTimeout(3*time.Minute))
	}

	DescribeTable("is refused by the API with the field's name",
		func(ctx SpecContext, yaml, field string) {
			_, errOut, code := suite.KubectlWith(ctx, yaml, nil, "-n", "default", "create", "--dry-run=server", "-f", "-")
			Expect(code).NotTo(BeZero())
			Expect(errOut).To(ContainSubstring(field))
		},
		Entry("no source", release("source: {}"), "spec.source"),
		Entry("two sources", release("source: {git: {repositoryRef: {name: a}}, oci: {registryRef: {name: a}, repository: r}}"), "spec.source"),
		Entry("a path that leaves", release("source: {git: {repositoryRef: {name: a}, path: ../x}}"), "spec.source.git.path"),
		Entry("a short commit", release("source: {git: {repositoryRef: {name: a}, ref: {commit: abc}}}"), "spec.source.git.ref.commit"),
		Entry("a range that is none", release("source: {git: {repositoryRef: {name: a}, ref: {semver: '>>1'}}}"), "spec.source.git.ref.semver"),
		Entry("a render block of another type", release("source: {git: {repositoryRef: {name: a}}}, render: {type: plain, helm: {}}"), "spec.render.helm"),
		Entry("an unknown mode", release("source: {git: {repositoryRef: {name: a}}}, sync: {mode: sometimes}"), "spec.sync.mode"),
		Entry("mode agent", cluster("mode: agent"), "spec.mode"),
		Entry("an unknown authenticator", cluster("mode: agentless, agentless: {auth: {type: magic}}"), "spec.agentless.auth.type"),
		Entry("a URL with a password", "apiVersion: source.convoy.kumodo.io/v1alpha1\nkind: GitRepository\nmetadata: {name: x}\nspec: {url: 'https://u:p@host/x'}\n", "spec.url"),
		Entry("a rule that does not compile", "apiVersion: extensions.convoy.kumodo.io/v1alpha1\nkind: HealthRuleSet\nmetadata: {name: x}\nspec: {rules: [{name: r, target: {kind: X}, healthy: 'object.('}]}\n", "spec.rules[0].healthy"),
	)
})

func release(spec string) string {
	return "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Release\nmetadata: {name: x}\nspec: {clusterRef: {name: c}, " + spec + "}\n"
}

func cluster(spec string) string {
	return "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Cluster\nmetadata: {name: x}\nspec: {" + spec + "}\n"
}

var _ = Describe("A failing Release", func() {
	It("floods no log", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"app/bad.yaml": "a: [1,\n"})
		n.Create(ctx, n.GitRelease("bad", scenario.Edge, "app"))
		n.AwaitCondition(ctx, "bad", corev1alpha1.ConditionRendered, metav1.ConditionFalse)
		lines := func() int { return strings.Count(readLog(installation.ControllerManager), n.Name+`/bad`) }
		before := lines()
		Consistently(ctx, func() int { return lines() - before }, 20*time.Second, time.Second).Should(BeNumerically("<", 12))
	}, NodeTimeout(2*time.Minute))
})
