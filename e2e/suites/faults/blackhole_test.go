// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/tcpproxy"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// far is the name of a Cluster behind a network that can lose packets.
const far = "far"

// newWay gives another way to the edge cluster. It is to be made before the namespace, and
// so ends after what was delivered by it is removed.
func newWay() *tcpproxy.Proxy {
	GinkgoHelper()
	way, err := tcpproxy.Start(strings.TrimPrefix(suite.Target.URL(), "https://"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(way.Close)
	return way
}

// addFar makes the Cluster that is reached by that way.
func addFar(ctx SpecContext, n *scenario.Namespace, way *tcpproxy.Proxy) {
	GinkgoHelper()
	kubeconfig, err := os.ReadFile(n.Target.AdminKubeconfig())
	Expect(err).NotTo(HaveOccurred())
	Expect(string(kubeconfig)).To(ContainSubstring(n.Target.URL()))
	secret(ctx, n, far, map[string]string{"kubeconfig": strings.ReplaceAll(string(kubeconfig), n.Target.URL(), "https://"+way.Address())})
	n.Apply(ctx, "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Cluster\nmetadata: {name: "+far+", namespace: "+n.Name+"}\n"+
		"spec: {mode: agentless, agentless: {auth: {type: kubeconfig, kubeconfig: {secretRef: {name: "+far+"}}}}}\n")
	DeferCleanup(way.Deliver)
}

// clusterReady asks for the condition of a Cluster.
func clusterReady(ctx SpecContext, n *scenario.Namespace, name string) func() (metav1.Condition, error) {
	return func() (metav1.Condition, error) {
		cluster, err := n.API.CoreV1alpha1().Clusters(n.Name).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return metav1.Condition{}, err
		}
		ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady)
		if ready == nil {
			return metav1.Condition{}, nil
		}
		return *ready, nil
	}
}

var _ = Describe("A cluster whose packets are lost", func() {
	It("is in nobody else's way, and goes on by itself when it is back", func(ctx SpecContext) {
		at := func(v string) map[string]string {
			return map[string]string{"far/a.yaml": scenario.ConfigMap("far", "v", v), "near/a.yaml": scenario.ConfigMap("near", "v", v)}
		}
		way := newWay()
		n := suite.NewNamespace(ctx, at("1"))
		addFar(ctx, n, way)
		n.Create(ctx, n.GitRelease("far", far, "far"))
		n.Create(ctx, n.GitRelease("near", scenario.Edge, "near"))
		n.AwaitReady(ctx, "far")
		n.AwaitReady(ctx, "near")
		cluster, err := n.API.CoreV1alpha1().Clusters(n.Name).Get(ctx, far, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.Status.Latency).To(HaveValue(HaveField("Duration", BeNumerically(">", 0))))

		By("losing what is sent, while watches are open and a sync is asked for")
		way.Lose()
		n.Commit(ctx, at("2"))
		n.Sync(ctx, "far")
		n.Sync(ctx, "near")
		Eventually(ctx, n.Data(ctx, "near")).Should(Equal(map[string]string{"v": "2"}))
		Eventually(ctx, clusterReady(ctx, n, far)).Should(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", corev1alpha1.ReasonUnreachable)))
		ready, err := clusterReady(ctx, n, far)()
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() metav1.Condition {
			return *n.AwaitCondition(ctx, "far", corev1alpha1.ConditionReady, metav1.ConditionFalse)
		}).Should(And(
			HaveField("Reason", corev1alpha1.ReasonTargetUnreachable),
			HaveField("Message", ContainSubstring("since "+ready.LastTransitionTime.UTC().Format(time.RFC3339)))))
		n.AwaitCondition(ctx, "far", corev1alpha1.ConditionHealthy, metav1.ConditionUnknown)
		Expect(clusterReady(ctx, n, scenario.Edge)()).To(HaveField("Status", metav1.ConditionTrue))

		By("delivering to the others meanwhile")
		n.Commit(ctx, at("3"))
		n.Sync(ctx, "near")
		Eventually(ctx, n.Data(ctx, "near")).Should(Equal(map[string]string{"v": "3"}))
		n.AwaitReady(ctx, "near")
		Expect(n.Data(ctx, "far")()).To(Equal(map[string]string{"v": "1"}))

		By("delivering again")
		way.Deliver()
		Eventually(ctx, n.Data(ctx, "far")).Should(Equal(map[string]string{"v": "3"}))
		n.AwaitReady(ctx, "far")
		Eventually(ctx, clusterReady(ctx, n, far)).Should(HaveField("Status", metav1.ConditionTrue))

		By("noticing changes of its objects again")
		Eventually(ctx, func() *metav1.Condition {
			return meta.FindStatusCondition(n.Release(ctx, "far").Status.Conditions, corev1alpha1.ConditionInSync)
		}).Should(HaveValue(HaveField("Status", metav1.ConditionTrue)))
		_, err = n.TargetClient.CoreV1().ConfigMaps(n.Name).Patch(ctx, "far", types.MergePatchType, []byte(`{"data":{"v":"edited"}}`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, n.Data(ctx, "far")).Should(Equal(map[string]string{"v": "3"}))
		Expect(suite.Environment.Convoy.Err()).To(Succeed(), "no process ended")
	}, NodeTimeout(5*time.Minute))

	It("keeps what is deleted until it is back", func(ctx SpecContext) {
		way := newWay()
		n := suite.NewNamespace(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "1")})
		addFar(ctx, n, way)
		n.Create(ctx, n.GitRelease("app", far, "app"))
		n.AwaitReady(ctx, "app")
		way.Lose()
		n.MustKubectl(ctx, "-n", n.Name, "delete", "release", "app", "--wait=false")
		Eventually(ctx, func() metav1.Condition {
			return *n.AwaitCondition(ctx, "app", corev1alpha1.ConditionReady, metav1.ConditionFalse)
		}).
			Should(HaveField("Reason", corev1alpha1.ReasonTargetUnreachable))
		way.Deliver()
		Eventually(ctx, func() ([]corev1alpha1.Release, error) {
			list, err := n.API.CoreV1alpha1().Releases(n.Name).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			return list.Items, nil
		}).Should(BeEmpty())
		Expect(mustApplied(ctx, n)).To(BeEmpty())
	}, NodeTimeout(5*time.Minute))
})
