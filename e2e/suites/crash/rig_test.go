// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"kumodo.io/convoy/e2e/framework/apiproxy"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/process"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// account is the service account on the target as which convoy works there.
const account = "convoy-crash"

// rig is an environment in which the controller-manager reaches both clusters by way of
// proxies that can kill it.
type rig struct {
	*scenario.Suite
	manager *process.Process
	ledger  *ledger

	target     dynamic.Interface // the target, past the proxy
	kubeconfig []byte            // of the target, by way of the proxy
}

func newRig(ctx context.Context) *rig {
	GinkgoHelper()
	r := &rig{Suite: scenario.Start(ctx, nil), ledger: &ledger{}}
	config, err := r.Target.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	r.target, err = dynamic.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())

	host := r.proxy(r.Host, onHost)
	path, err := r.Host.ServiceAccountKubeconfig(ctx, installation.Namespace, installation.ControllerManager)
	Expect(err).NotTo(HaveOccurred())
	r.startManager(ctx, redirected(path, r.Host, host))

	r.addAccount(ctx)
	target := r.proxy(r.Target, onTarget)
	path, err = r.Target.ServiceAccountKubeconfig(ctx, metav1.NamespaceSystem, account)
	Expect(err).NotTo(HaveOccurred())
	r.kubeconfig = redirected(path, r.Target, target)
	return r
}

// proxy starts a proxy before a cluster.
func (r *rig) proxy(cluster *controlplane.ControlPlane, place place) *apiproxy.Proxy {
	GinkgoHelper()
	pair, err := cluster.CA().Server("crash-proxy", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	proxy, err := apiproxy.Start(apiproxy.Options{
		Server: cluster.URL(), Roots: cluster.CA().Pool(), Certificate: pair,
		Gate: r.ledger.gate(place, func() { _ = r.manager.Kill() }),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	return proxy
}

// redirected gives a kubeconfig that leads to a proxy instead of its cluster.
func redirected(path string, cluster *controlplane.ControlPlane, proxy *apiproxy.Proxy) []byte {
	GinkgoHelper()
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(string(content)).To(ContainSubstring(cluster.URL()))
	return []byte(strings.ReplaceAll(string(content), cluster.URL(), proxy.URL()))
}

// startManager starts a controller-manager in the place of the installation's.
func (r *rig) startManager(ctx context.Context, kubeconfig []byte) {
	GinkgoHelper()
	Expect(r.Convoy.Process(installation.ControllerManager).Stop(ctx)).To(Succeed())
	dir := filepath.Join(r.Dir, "crash")
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	path := filepath.Join(dir, "host.kubeconfig")
	Expect(os.WriteFile(path, kubeconfig, 0o600)).To(Succeed())
	ports, err := process.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	address := "127.0.0.1:" + strconv.Itoa(ports[0])
	r.manager, err = process.Start(ctx, process.Command{
		Name: installation.ControllerManager, Path: filepath.Join(r.Bin, installation.ControllerManager), Dir: dir,
		Args:  []string{"--kubeconfig=" + path, "--metrics-addr=" + address},
		Ready: process.HTTPReady(nil, "http://"+address+"/readyz"), ReadyTimeout: scenario.Timeout,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(r.manager.Stop(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
}

// restart starts the process anew. The one before is known to be dead, and what it held is
// taken from it; otherwise its successor would wait until it was silent for long enough.
func (r *rig) restart(ctx context.Context) {
	GinkgoHelper()
	leases := r.HostClient.CoordinationV1().Leases(installation.Namespace)
	list, err := leases.List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for _, lease := range list.Items {
		if strings.HasPrefix(lease.Name, "convoy-cm-") {
			Expect(leases.Delete(ctx, lease.Name, metav1.DeleteOptions{})).To(Succeed())
		}
	}
	Expect(r.manager.Restart(ctx)).To(Succeed())
}

// addAccount makes the account on the target, which may do everything there.
func (r *rig) addAccount(ctx context.Context) {
	GinkgoHelper()
	_, err := r.TargetClient.CoreV1().ServiceAccounts(metav1.NamespaceSystem).
		Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = r.TargetClient.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: account}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}
