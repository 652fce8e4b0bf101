// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/e2e/framework/tcpproxy"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// hung is how long a source is waited for: longer than anything else is here.
const hung = 10 * time.Minute

// newGitWay gives a way to the Git server that accepts connections and can lose what is sent.
func newGitWay() *tcpproxy.Proxy {
	GinkgoHelper()
	way, err := tcpproxy.Start(strings.TrimPrefix(suite.Git.URL(), "http://"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(way.Close)
	return way
}

// silent accepts connections, and neither answers nor closes them until the test is over.
func silent() (address string, accepted *atomic.Int32) {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	accepted = &atomic.Int32{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			defer conn.Close()
		}
	}()
	DeferCleanup(func() error {
		err := listener.Close()
		<-done
		return err
	})
	return listener.Addr().String(), accepted
}

// addRepository makes a GitRepository of a server.
func addRepository(ctx SpecContext, n *scenario.Namespace, name, repository, address string) {
	GinkgoHelper()
	_, err := n.API.SourceV1alpha1().GitRepositories(n.Name).Create(ctx, &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: sourcev1alpha1.GitRepositorySpec{
			URL: fmt.Sprintf("http://%s/%s.git", address, repository), Timeout: &metav1.Duration{Duration: hung},
		},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

var _ = Describe("A Git server that accepts and never answers", func() {
	It("holds up nobody but those that draw on it", func(ctx SpecContext) {
		const stuck = 24
		address, accepted := silent()
		n := suite.NewNamespace(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "1")})
		clusters := []string{scenario.Here, scenario.Edge}
		for i := range stuck {
			name := fmt.Sprintf("stuck-%02d", i)
			addRepository(ctx, n, name, name, address)
			release := n.GitRelease(name, clusters[i%len(clusters)], "app")
			release.Spec.Source.Git.RepositoryRef.Name = name
			n.Create(ctx, release)
		}
		waiting := func() (names []string) {
			list, err := n.API.CoreV1alpha1().Releases(n.Name).List(ctx, metav1.ListOptions{})
			Expect(err).NotTo(HaveOccurred())
			for _, release := range list.Items {
				ready := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionSourceReady)
				if ready != nil && ready.Status == metav1.ConditionUnknown && strings.Contains(ready.Message, "is being asked") {
					names = append(names, release.Name)
				}
			}
			return names
		}
		Eventually(ctx, waiting).Should(HaveLen(stuck), "each says what it waits for, however many are asked at once")
		Expect(accepted.Load()).To(BeNumerically(">", 0))

		By("delivering others meanwhile")
		release := n.GitRelease("good", scenario.Edge, "app")
		n.Create(ctx, release)
		n.AwaitReady(ctx, "good")
		n.Commit(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "2")})
		n.Sync(ctx, "good")
		Eventually(ctx, n.Data(ctx, "a")).Should(Equal(map[string]string{"v": "2"}))
		Expect(waiting()).To(HaveLen(stuck))

		By("letting those go that nobody wants any more")
		n.MustKubectl(ctx, "-n", n.Name, "delete", "release", "stuck-00", "stuck-01")
		Expect(suite.Environment.Convoy.Err()).To(Succeed(), "no process ended")
	}, NodeTimeout(5*time.Minute))

	It("does not hold up a sync that has begun", func(ctx SpecContext) {
		way := newGitWay()
		n := suite.NewNamespace(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "1")})
		addRepository(ctx, n, "slow", n.Name, way.Address())
		release := n.GitRelease("app", scenario.Edge, "app")
		release.Spec.Source.Git.RepositoryRef.Name = "slow"
		release.Spec.Sync.Interval = &metav1.Duration{Duration: time.Second}
		release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{
			{Name: "migrate", On: corev1alpha1.HookPreSync, Template: runtime.RawExtension{Raw: []byte(podlessJob)}},
		}}
		n.Create(ctx, release)
		Eventually(ctx, func() string {
			return n.AwaitCondition(ctx, "app", corev1alpha1.ConditionApplied, metav1.ConditionFalse).Reason
		}).Should(Equal(corev1alpha1.ReasonWaitingForHook))

		By("having the server answer nothing while the hook ends")
		way.Lose()
		deaf := way.Deaf()
		Eventually(ctx, way.Deaf).Should(BeNumerically(">", deaf), "it is asked whether there is something newer")
		_, err := n.TargetClient.CoreV1().ServiceAccounts(n.Name).Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "nobody"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		n.AwaitReady(ctx, "app")
		Expect(n.Data(ctx, "a")()).To(Equal(map[string]string{"v": "1"}))
	}, NodeTimeout(5*time.Minute))
})
