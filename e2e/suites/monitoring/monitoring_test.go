// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// chart is a commit with something to render.
func chart(value string) map[string]string {
	return map[string]string{
		"app/Chart.yaml":        "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"app/templates/cm.yaml": scenario.ConfigMap("app", "v", value),
	}
}

var _ = Describe("The alerts and dashboards of config/monitoring", func() {
	It("are silent while all is well, and tell what is not", func(ctx SpecContext) {
		By("letting all be well")
		n := suite.NewNamespace(ctx, chart("1"))
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "app"))
		n.AwaitReady(ctx, "app")
		calm := newScrapes()
		calm.take(ctx, processes...)
		n.Commit(ctx, chart("2"))
		n.Sync(ctx, "app")
		Eventually(ctx, n.Data(ctx, "app")).Should(HaveKeyWithValue("v", "2"))
		n.AwaitReady(ctx, "app")
		Eventually(ctx, func(g Gomega) {
			calm.take(ctx, processes...)
			g.Expect(calm.value(`convoy_releases\{condition="Ready",status="True",.*\}`)).To(BeEquivalentTo(1))
			g.Expect(calm.value(`convoy_cluster_up\{.*\}`)).To(BeEquivalentTo(2))
		}).Should(Succeed())
		Expect(calm.judge(ctx).alerts()).To(BeEmpty())

		By("letting much go wrong")
		trouble := newScrapes()
		trouble.take(ctx, processes...)
		n.Apply(ctx, "apiVersion: source.convoy.kumodo.io/v1alpha1\nkind: GitRepository\nmetadata: {name: away, namespace: "+n.Name+"}\n"+
			"spec: {url: 'http://127.0.0.1:1/x.git', interval: 1s}\n")
		n.Apply(ctx, "apiVersion: v1\nkind: Secret\nmetadata: {name: away, namespace: "+n.Name+"}\nstringData:\n  kubeconfig: |\n"+
			"    {apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}],\n"+
			"     users: [{name: a, user: {token: t}}], contexts: [{name: a, context: {cluster: a, user: a}}]}\n")
		n.Apply(ctx, "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Cluster\nmetadata: {name: away, namespace: "+n.Name+"}\n"+
			"spec: {mode: agentless, agentless: {auth: {type: kubeconfig, kubeconfig: {secretRef: {name: away}}}}}\n")
		n.Commit(ctx, map[string]string{
			"refused/secret.yaml":    "apiVersion: v1\nkind: Secret\nmetadata: {name: refused}\ntype: kubernetes.io/tls\n",
			"broken/Chart.yaml":      "apiVersion: v2\nname: broken\nversion: 1.0.0\n",
			"broken/templates/a.yml": `{{ fail "no" }}`,
			"ill/a.yaml":             unschedulable,
			"drifts/a.yaml":          scenario.ConfigMap("drifts", "v", "1"),
		})
		for _, name := range []string{"refused", "broken", "ill"} {
			n.Create(ctx, n.GitRelease(name, scenario.Edge, name))
		}
		manual := n.GitRelease("drifts", scenario.Edge, "drifts")
		manual.Spec.Sync.Mode = corev1alpha1.SyncModeManual // nobody corrects it
		n.Create(ctx, manual)
		n.Sync(ctx, "drifts")
		n.AwaitReady(ctx, "drifts")
		drift(ctx, n)
		eventually := func(series string, more float64) {
			GinkgoHelper()
			Eventually(ctx, func() float64 {
				trouble.take(ctx, processes...)
				return trouble.value(series)
			}).WithTimeout(2*time.Minute).WithPolling(time.Second).Should(BeNumerically(">=", more), series)
		}
		eventually(`convoy_releases\{condition="InSync",status="False",.*\}`, 1)
		eventually(`convoy_releases\{condition="Healthy",status="False",.*\}`, 1)
		eventually(`convoy_cluster_breaker_open\{.*\}`, 1)
		for _, counter := range []string{`convoy_release_objects_total\{outcome="failed",.*\}`, `convoy_fetch_failures_total\{.*\}`} {
			eventually(counter, 1)
			eventually(counter, trouble.value(counter)+1) // it keeps rising
		}
		found := trouble.judge(ctx)
		Expect(found.Problems).To(BeEmpty())
		Expect(found.alerts()).To(ConsistOf(
			"ConvoyReleaseNotReady", "ConvoyReleaseDrifted", "ConvoyApplyFailing", "ConvoyClusterDown", "ConvoyFetchFailing"))
		Expect(found.Firing["ConvoyClusterDown"]).To(ConsistOf(ContainSubstring(n.Name + "/away")))
		AddReportEntry("looked at", fmt.Sprintf("%d alerts, %d panels", found.Alerts, found.Panels))

		By("reading the documentation of the metrics")
		root, err := build.Root()
		Expect(err).NotTo(HaveOccurred())
		page, err := os.ReadFile(filepath.Join(root, "docs", "monitoring.md"))
		Expect(err).NotTo(HaveOccurred())
		for _, name := range trouble.names() {
			Expect(string(page)).To(ContainSubstring("`"+name+"`"), "docs/monitoring.md does not tell of it")
		}

		By("letting two processes be away")
		gone := newScrapes()
		gone.take(ctx, installation.Observer)
		Expect(gone.judge(ctx).alerts()).To(ConsistOf("ConvoyControllerManagerDown", "ConvoyAPIServerDown"))
	}, NodeTimeout(10*time.Minute))
})

// unschedulable is a Deployment that fails soon.
const unschedulable = `apiVersion: apps/v1
kind: Deployment
metadata: {name: ill}
spec:
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: ill}}
  template:
    metadata: {labels: {app: ill}}
    spec:
      nodeSelector: {nowhere: "true"}
      containers: [{name: ill, image: "registry.example.com/ill:1"}]
`

// drift changes what was delivered.
func drift(ctx SpecContext, n *scenario.Namespace) {
	GinkgoHelper()
	out, errOut, code := n.Kubectl(ctx, "--kubeconfig="+n.Target.AdminKubeconfig(), "-n", n.Name, "patch", "configmap", "drifts", "-p", `{"data":{"v":"2"}}`)
	Expect(code).To(BeZero(), out+errOut)
}
