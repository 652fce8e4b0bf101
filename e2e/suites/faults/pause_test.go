// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// many objects, so that the process can be paused while it applies them.
const many = 400

var _ = Describe("a convoy-controller-manager that is paused in the middle of a sync", Serial, func() {
	It("writes nothing any more when another has taken over", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, contents("A"))
		n.Create(ctx, n.GitRelease("app", scenario.Edge, "app"))
		n.AwaitReady(ctx, "app")
		first := suite.Environment.Convoy.Process(installation.ControllerManager)
		holder := shardHolder(ctx, managers)
		second := startSecond(ctx)
		Expect(shardHolder(ctx, managers)).To(Equal(holder), "the second stands by")

		By("pausing the first while it applies B")
		n.Commit(ctx, contents("B"))
		n.Sync(ctx, "app")
		Eventually(ctx, func() int { return count(values(ctx, n), "B") }, "60s", "1ms").Should(BeNumerically(">", 20))
		Expect(syscall.Kill(first.PID(), syscall.SIGSTOP)).To(Succeed())
		DeferCleanup(func() { _ = syscall.Kill(first.PID(), syscall.SIGCONT) })
		Expect(count(values(ctx, n), "B")).To(BeNumerically("<", many), "it was too fast to be paused in time")

		By("having the second take over and apply C")
		commit := n.Commit(ctx, contents("C"))
		Eventually(ctx, func() string { return shardHolder(ctx, managers) }).ShouldNot(Or(BeEmpty(), Equal(holder)))
		n.Sync(ctx, "app")
		Eventually(ctx, func() string { return appliedRevision(ctx, n) }).Should(HaveSuffix(commit))
		Eventually(ctx, func() int { return count(values(ctx, n), "C") }).Should(Equal(many))
		before := versions(ctx, n)

		By("waking the first, and giving the shard back to it")
		Expect(syscall.Kill(first.PID(), syscall.SIGCONT)).To(Succeed())
		Eventually(ctx, func() []string { return members(ctx, managers) }).Should(HaveLen(2), "it is counted again")
		Expect(second.Stop(ctx)).To(Succeed())
		Eventually(ctx, func() string { return shardHolder(ctx, managers) }).Should(Equal(holder))
		n.Sync(ctx, "app")
		n.AwaitReady(ctx, "app")
		Expect(versions(ctx, n)).To(Equal(before), "objects that were written since")
	}, NodeTimeout(5*time.Minute))
})

func contents(value string) map[string]string {
	files := map[string]string{}
	for i := range many {
		files[fmt.Sprintf("app/%03d.yaml", i)] = scenario.ConfigMap(fmt.Sprintf("cm-%03d", i), "v", value)
	}
	return files
}

// startSecond starts another convoy-controller-manager beside the installation's.
func startSecond(ctx context.Context) *process.Process {
	GinkgoHelper()
	return startReplica(ctx, installation.ControllerManager, accountOf(ctx, installation.ControllerManager))
}

// accountOf is a kubeconfig of the account of a component.
func accountOf(ctx context.Context, name string) string {
	GinkgoHelper()
	kubeconfig, err := suite.Host.ServiceAccountKubeconfig(ctx, installation.Namespace, name)
	Expect(err).NotTo(HaveOccurred())
	return kubeconfig
}

// startReplica starts another process of a component beside the installation's.
func startReplica(ctx context.Context, name, kubeconfig string, args ...string) *process.Process {
	GinkgoHelper()
	ports, err := process.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	address := "127.0.0.1:" + strconv.Itoa(ports[0])
	second, err := process.Start(ctx, process.Command{
		Name: name + "-2", Path: filepath.Join(suite.Bin, name), Dir: suite.Dir,
		Args:  append([]string{"--kubeconfig=" + kubeconfig, "--metrics-addr=" + address}, args...),
		Ready: process.HTTPReady(nil, "http://"+address+"/readyz"), ReadyTimeout: scenario.Timeout,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(second.Stop(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
	return second
}

// Names of components in Leases.
const (
	managers  = "convoy-cm"
	observers = "convoy-obs"
)

// shardHolder is the replica that works on the only shard, "" between two of them.
func shardHolder(ctx context.Context, component string) string {
	GinkgoHelper()
	lease, err := suite.HostClient.CoordinationV1().Leases(installation.Namespace).Get(ctx, component+"-0", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// members are the replicas that take part.
func members(ctx context.Context, component string) []string {
	GinkgoHelper()
	list, err := suite.HostClient.CoordinationV1().Leases(installation.Namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, lease := range list.Items {
		if strings.HasPrefix(lease.Name, component+"-member-") {
			names = append(names, lease.Name)
		}
	}
	return names
}

func appliedRevision(ctx context.Context, n *scenario.Namespace) string {
	GinkgoHelper()
	if applied := n.Release(ctx, "app").Status.Applied; applied != nil {
		return applied.Revision
	}
	return ""
}

// values are the contents of the objects, and versions their versions, by name.
func values(ctx context.Context, n *scenario.Namespace) map[string]string {
	GinkgoHelper()
	contents, _ := read(ctx, n)
	return contents
}

func versions(ctx context.Context, n *scenario.Namespace) map[string]string {
	GinkgoHelper()
	_, versions := read(ctx, n)
	return versions
}

func read(ctx context.Context, n *scenario.Namespace) (contents, versions map[string]string) {
	GinkgoHelper()
	list, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).List(ctx, metav1.ListOptions{LabelSelector: corev1alpha1.LabelOwner})
	Expect(err).NotTo(HaveOccurred())
	contents, versions = map[string]string{}, map[string]string{}
	for _, item := range list.Items {
		contents[item.Name], versions[item.Name] = item.Data["v"], item.ResourceVersion+" "+item.Data["v"]
	}
	return contents, versions
}

func count(contents map[string]string, value string) int {
	n := 0
	for _, v := range contents {
		if v == value {
			n++
		}
	}
	return n
}
