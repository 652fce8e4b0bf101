// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/apiproxy"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var _ = Describe("a convoy-observer that is paused between a report and the sync that it asks for", Serial, func() {
	It("writes nothing any more when another has taken over", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "1")})
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "app"))
		n.AwaitReady(ctx, "app")
		n.AwaitCondition(ctx, "app", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
		edit := func(value string) {
			_, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"v":"`+value+`"}}`), metav1.PatchOptions{})
			Expect(err).NotTo(HaveOccurred())
		}

		By("giving the shard to one whose writes are seen")
		writes := &writesToConvoy{}
		paused := startWatchedObserver(ctx, writes)
		other := suite.Environment.Convoy.Process(installation.Observer)
		holder := shardHolder(ctx, observers)
		Expect(other.Stop(ctx)).To(Succeed())
		Eventually(ctx, func() string { return shardHolder(ctx, observers) }).ShouldNot(Or(BeEmpty(), Equal(holder)))
		holder = shardHolder(ctx, observers)
		Expect(other.Restart(ctx)).To(Succeed())
		Expect(shardHolder(ctx, observers)).To(Equal(holder), "the other stands by")

		By("pausing it when its report on drift has come")
		writes.stopAt("/namespaces/"+n.Name+"/releases/app/status", paused.PID())
		DeferCleanup(func() { _ = syscall.Kill(paused.PID(), syscall.SIGCONT) })
		edit("2")
		Eventually(ctx, func() string { return shardHolder(ctx, observers) }).ShouldNot(Or(BeEmpty(), Equal(holder)))
		Expect(writes.stopped()).To(BeTrue())

		By("having the other ask for the sync")
		Eventually(ctx, n.Data(ctx, "a")).Should(Equal(map[string]string{"v": "1"}))
		n.AwaitCondition(ctx, "app", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
		requested := n.Release(ctx, "app").Annotations[corev1alpha1.AnnotationSyncRequestedAt]
		Expect(requested).NotTo(BeEmpty())

		By("waking it")
		writes.forget()
		Expect(syscall.Kill(paused.PID(), syscall.SIGCONT)).To(Succeed())
		Eventually(ctx, func() []string { return members(ctx, observers) }).Should(HaveLen(2), "it is counted again")
		Consistently(ctx, writes.seen, 2*time.Second).Should(BeEmpty())
		Expect(n.Release(ctx, "app").Annotations[corev1alpha1.AnnotationSyncRequestedAt]).To(Equal(requested))

		By("giving the shard back to it")
		Expect(other.Stop(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(other.Restart(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
		Eventually(ctx, func() string { return shardHolder(ctx, observers) }).Should(Equal(holder))
		edit("3")
		Eventually(ctx, n.Data(ctx, "a")).Should(Equal(map[string]string{"v": "1"}))
		Expect(writes.seen()).To(ContainElement(HaveSuffix("/namespaces/" + n.Name + "/releases/app/sync")))
	}, NodeTimeout(5*time.Minute))
})

// writesToConvoy are the paths of what a process wrote to convoy's kinds.
type writesToConvoy struct {
	mu    sync.Mutex
	paths []string
	until string // the suffix of the path of the write at which the process is stopped
	pid   int
}

// gate passes every write on, and stops the process before it can have the answer to that one.
func (w *writesToConvoy) gate(write apiproxy.Write, pass func() int) (answer bool) {
	pass()
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasPrefix(write.Path, "/apis/"+corev1alpha1.GroupName+"/") {
		w.paths = append(w.paths, write.Path)
	}
	if w.until != "" && strings.HasSuffix(write.Path, w.until) {
		_ = syscall.Kill(w.pid, syscall.SIGSTOP)
		w.until = ""
	}
	return true
}

func (w *writesToConvoy) stopAt(path string, pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until, w.pid = path, pid
}

func (w *writesToConvoy) stopped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until == ""
}

func (w *writesToConvoy) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.paths...)
}

func (w *writesToConvoy) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paths = nil
}

// startWatchedObserver starts another convoy-observer, which reaches the host by way of a proxy.
func startWatchedObserver(ctx context.Context, writes *writesToConvoy) *process.Process {
	GinkgoHelper()
	pair, err := suite.Host.CA().Server("faults-proxy", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	proxy, err := apiproxy.Start(apiproxy.Options{Server: suite.Host.URL(), Roots: suite.Host.CA().Pool(), Certificate: pair, Gate: writes.gate})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	account, err := os.ReadFile(accountOf(ctx, installation.Observer))
	Expect(err).NotTo(HaveOccurred())
	Expect(string(account)).To(ContainSubstring(suite.Host.URL()))
	kubeconfig := filepath.Join(suite.Dir, "watched-observer.kubeconfig")
	Expect(os.WriteFile(kubeconfig, []byte(strings.ReplaceAll(string(account), suite.Host.URL(), proxy.URL())), 0o600)).To(Succeed())
	return startReplica(ctx, installation.Observer, kubeconfig, "--serve-addr=127.0.0.1:0")
}
