// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/manifests"
)

const (
	system    = installation.Namespace
	apiServer = installation.APIServer
)

// controllers of the host that run: what deletes, and what gives rights.
var controllers = []string{"namespace-controller", "garbage-collector-controller", "clusterrole-aggregation-controller", "serviceaccount-controller"}

// rig is a host cluster and two replicas of convoy-apiserver behind a balancer, which stands
// for a Service, with an etcd of their own. A recorder stands for the observer.
type rig struct {
	dir, root, bin, config, kubectl, assets string

	host     *controlplane.ControlPlane
	etcd     *etcd
	observer *observer
	balancer *balancer
	replicas []*replica

	admin *client
	api   versioned.Interface
	kube  kubernetes.Interface
}

func (r *rig) start(ctx context.Context) {
	GinkgoHelper()
	r.build(ctx)
	var err error
	r.host, err = controlplane.Start(ctx, controlplane.Options{
		Name: "host", Dir: filepath.Join(r.dir, "host"), Assets: r.assets, AuditLog: true, Log: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	r.connect()
	r.etcd = startEtcd(ctx, r.host.CA(), r.assets, filepath.Join(r.dir, "etcd"))
	r.observer = startObserver(r.host.CA())
	r.balancer = startBalancer(r.host.CA().Pool())
	r.install(ctx, r.config)
	for i := range 2 {
		r.replicas = append(r.replicas, r.newReplica(ctx, fmt.Sprintf("%s-%d", apiServer, i)))
	}
	r.balancer.route(r.replicas...)
	r.awaitServed(ctx)
	Expect(r.host.StartControllers(ctx, controllers...)).To(Succeed())
}

func (r *rig) build(ctx context.Context) {
	GinkgoHelper()
	root, err := build.Root()
	Expect(err).NotTo(HaveOccurred())
	r.config = filepath.Join(root, "config")
	r.assets, err = controlplane.Assets(ctx, filepath.Join(root, "e2e", "controlplane", "build.sh"), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	r.kubectl, err = controlplane.Kubectl(r.assets)
	Expect(err).NotTo(HaveOccurred())
	r.root = root
	r.bin, err = build.Convoy(ctx, root, GinkgoWriter, apiServer)
	Expect(err).NotTo(HaveOccurred())
}

func (r *rig) connect() {
	GinkgoHelper()
	r.admin = r.clientOf(r.host.AdminKubeconfig())
	config, err := r.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	r.api, err = versioned.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	r.kube, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
}

// install applies config/ but what only runs in pods; the Service leads to the balancer.
func (r *rig) install(ctx context.Context, folder string) {
	GinkgoHelper()
	for _, name := range []string{"namespace", "apiserver", "controller-manager", "observer", "roles"} {
		objects, err := manifests.ReadFolder(filepath.Join(folder, name))
		Expect(err).NotTo(HaveOccurred())
		r.apply(ctx, installation.Adapt(objects, r.balancer.port(), r.host.CA().Bundle())...)
	}
}

// apply applies objects to the host.
func (r *rig) apply(ctx context.Context, objects ...*unstructured.Unstructured) {
	GinkgoHelper()
	config, err := r.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	applier, err := manifests.NewApplier(config)
	Expect(err).NotTo(HaveOccurred())
	Expect(applier.Apply(ctx, objects...)).To(Succeed())
}

// applyYAML applies objects to the host, and removes them after the spec.
func (r *rig) applyYAML(ctx context.Context, text string) {
	GinkgoHelper()
	objects, err := manifests.Parse([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	r.apply(ctx, objects...)
	DeferCleanup(func(ctx SpecContext) {
		r.kubectlRun(ctx, text, "delete", "--ignore-not-found", "--wait=false", "-f", "-")
	})
}

// awaitServed returns when the host passes requests of all groups on.
func (r *rig) awaitServed(ctx context.Context) {
	GinkgoHelper()
	for _, path := range groupPaths {
		Eventually(ctx, func() int { return r.admin.get(ctx, path).code }).Should(Equal(http.StatusOK), path)
	}
}

// restored returns when everything is as it was after start: what stopped runs, and the host
// passes requests on.
func (r *rig) restored(ctx context.Context) {
	GinkgoHelper()
	Expect(r.etcd.ensure(ctx)).To(Succeed())
	for _, one := range r.replicas {
		one.ensure(ctx)
	}
	r.awaitServed(ctx)
}

func (r *rig) stop(ctx context.Context) error {
	var errs []error
	if r.host != nil {
		errs = append(errs, r.host.StopWorkloads(ctx))
	}
	for _, one := range r.replicas {
		errs = append(errs, one.Stop(ctx))
	}
	if r.etcd != nil {
		errs = append(errs, r.etcd.Stop(ctx))
	}
	for _, one := range []io.Closer{r.balancer, r.observer} {
		errs = append(errs, one.Close())
	}
	if r.host != nil {
		errs = append(errs, r.host.Stop(ctx))
	}
	return errors.Join(errs...)
}

// path is a file of the rig's.
func (r *rig) path(elements ...string) string {
	return filepath.Join(append([]string{r.dir}, elements...)...)
}

// write writes a file of the rig's, and returns its path.
func (r *rig) write(name, content string) string {
	GinkgoHelper()
	path := r.path(name)
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	return path
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(port)) }
